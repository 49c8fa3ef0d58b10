//! The predictor: a throughput with an interval that comes from earlier errors on this machine.
//!
//! Each measurement of a matrix adds the error of its prediction to a ledger (`ledger`), which is
//! kept next to the cache (`book`). The edit mode, comparisons, searches and reports correct their
//! predictions by the same ledger, so a matrix has one prediction. Evaluators record errors while
//! they measure (`recorder`).

mod book;
mod capacity;
mod ledger;
pub(super) mod predicted;
mod recorder;
mod subject;

pub use book::PredictionBook;
pub use capacity::CapacityWatch;
pub use ledger::{
    Correction, PastError, PredictedFigure, PredictionLedger, Question, TypicalError,
};
pub use predicted::{Predicted, PredictionBasis};
pub(super) use recorder::ErrorRecorder;
pub(super) use subject::setup_of;
pub use subject::{setup_number, subject_number};
