//! The trait of all policies.

use super::decision::PolicyDecision;
use super::situation::Situation;

/// Decides which variants run on which devices.
pub trait Policy: Send {
    /// Returns its name.
    fn name(&self) -> &'static str;

    /// Decides at one time. Times ascend from call to call.
    fn decide(&mut self, situation: &Situation<'_>) -> PolicyDecision;
}
