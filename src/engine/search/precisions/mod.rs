//! The choice of each member's precision before a search: each member answers labelled samples once
//! in each precision, and the fastest precisions win that keep the ensemble's accuracy.

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
pub use trial::{MeasuredMembers, PrecisionTrial, ProfiledMembers};
