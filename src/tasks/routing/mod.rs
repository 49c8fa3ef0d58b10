//! The fast loop live: which variant answers a query, by what queries before it left to do.

mod backlog;
mod query;
mod router;
mod tally;

pub use query::{Expected, RoutedQuery};
pub use router::{RoutingError, TaskRouter};
pub use tally::{TaskTally, VariantTally};
