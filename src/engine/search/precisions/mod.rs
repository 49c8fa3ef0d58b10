//! The choice of the precision of each member before a search: each member answers labelled
//! samples once in each precision, and what is fastest is taken as long as the ensemble's
//! accuracy holds.

mod answers;
mod choice;
mod error;
mod trial;

pub use answers::{MemberVariant, UnevenAnswers, VariantAnswers, VariantChoice};
pub use choice::{
    AccuracyLoss, ENOUGH_SAMPLES, FASTER, PrecisionChoice, RightAnswers, VariantFate,
    VariantReport, choose_precisions,
};
pub use error::AccuracyLossError;
pub use trial::{MeasuredMembers, PrecisionTrial};
