//! The one trait of all policies.

use super::decision::PolicyDecision;
use super::situation::Situation;

/// A way to decide which variants run where.
pub trait Policy: Send {
    /// Returns its name, as it is chosen by.
    fn name(&self) -> &'static str;

    /// Decides, at one moment. Moments rise from call to call.
    fn decide(&mut self, situation: &Situation<'_>) -> PolicyDecision;
}
