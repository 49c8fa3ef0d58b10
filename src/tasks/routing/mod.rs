//! The fast loop: chooses the variant that answers a query, given the work of earlier queries.

mod alone;
mod asked;
mod backlog;
mod costs;
mod counts;
mod delay;
mod due_work;
mod error;
mod level_work;
mod live;
mod pace;
mod query;
mod router;
mod state;
mod streams;
mod tally;

pub use alone::alone;
pub use asked::GoalChooser;
pub use costs::{COST_WINDOW, TaskCost};
pub use counts::{GoalsName, GoalsTally, TaskCounts, VariantName};
pub use error::RoutingError;
pub use live::LiveRouter;
pub use query::{Expected, RoutedQuery};
pub use router::TaskRouter;
pub use streams::{AskedQueries, StreamInterval, StreamTally};
pub(crate) use tally::UnreachableTally;
pub use tally::{TaskTally, VariantTally};
