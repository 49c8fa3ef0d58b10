//! The fast loop: chooses the variant that answers a query when it arrives.
//!
//! The expected completion of a variant is the queued work ahead of the query divided by the
//! variant's rate, plus the 99th percentile of the query's batch. Among the running variants that
//! meet all goals, the preferred one answers. A decision does not allocate memory;
//! `benches/modelless` measures it.

mod blocks;
mod chosen;
mod load;
mod nearest;
mod table;
mod tasks;
mod wanted;

pub use chosen::{ChoiceRefusal, ChosenVariant};
pub use load::VariantLoad;
pub use table::ChoiceTable;
pub use tasks::TaskChoices;
