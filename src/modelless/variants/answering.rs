//! The members of a variant.

use super::indices::ModelIndex;
use super::variant::{Variant, VariantPrecision};
use crate::accuracy::MemberSet;

/// The members of a variant and their precision, on any kind of device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnsweringMembers {
    /// The ensemble.
    pub model: ModelIndex,
    /// The members that must answer.
    pub members: MemberSet,
    /// Their precision.
    pub precision: VariantPrecision,
}

impl AnsweringMembers {
    /// Returns the members of a variant.
    pub fn from_variant(variant: &Variant) -> Self {
        AnsweringMembers {
            model: variant.model,
            members: variant.members,
            precision: variant.precision,
        }
    }
}
