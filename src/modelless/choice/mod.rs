//! The fast loop: which variant answers a query, decided at the door.
//!
//! A variant's *finish* is the time from now until it would have answered: what is queued ahead
//! of the query over the variant's rate, and the 99th percentile of the batch that the query
//! would run in. Of the running variants that meet all goals the preferred one answers. A
//! decision allocates nothing; `benches/modelless` measures it.

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
