//! The settings of a running engine beside its matrix.

use std::num::NonZeroU32;
use std::sync::Arc;

use crate::ensemble::{Combination, CombinationRule, PolicyKind};

use super::state::EngineState;

/// The settings in force. [`super::Engine::settings`] lends it; plans change most of them.
#[derive(Clone, Copy)]
pub struct EngineSettings<'a> {
    state: &'a EngineState,
}

impl<'a> EngineSettings<'a> {
    pub(super) fn new(state: &'a EngineState) -> Self {
        EngineSettings { state }
    }

    /// Returns the policy in force.
    pub fn policy(&self) -> PolicyKind {
        self.state.core().policy()
    }

    /// Returns how requests that are let in now are combined.
    pub fn combination(&self) -> Combination {
        self.state.combination()
    }

    /// Combines requests that are let in from now on by a rule of the caller's own, until
    /// a combination is set. [`EngineSettings::combination`] goes on returning the last one that
    /// was set, and members are not weighed. A rule that panics fails the requests that it
    /// was to combine, with the reason.
    pub fn combine_with(&self, rule: Arc<dyn CombinationRule>) {
        self.state.combine_with(rule);
    }

    /// Returns the most samples in a segment, under `segment`.
    pub fn segment_size(&self) -> usize {
        self.state.core().segment()
    }

    /// Lets at most so many samples be alive on a device under `elastic`; none: as many as
    /// the policy says.
    pub fn set_max_inf(&self, device: usize, most: Option<NonZeroU32>) {
        self.state.core().set_max_inf(device, most);
        self.state.wake();
    }
}
