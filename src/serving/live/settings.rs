//! What can be changed of a running engine beside its matrix.

use std::sync::Arc;

use crate::ensemble::{Combination, CombinationRule, PolicyKind};

use super::engine::{Engine, EngineError};

impl Engine {
    /// Another policy from now on.
    ///
    /// # Errors
    /// It does not suit the ensemble's batch sizes.
    pub fn set_policy(&self, policy: PolicyKind) -> Result<(), EngineError> {
        self.check_policy(policy)?;
        self.follow_policy(policy);
        Ok(())
    }

    /// Whether workers could follow a policy.
    ///
    /// # Errors
    /// It does not suit the ensemble's batch sizes.
    pub fn check_policy(&self, policy: PolicyKind) -> Result<(), EngineError> {
        let sizes = &self.shared.ensemble.batch_sizes;
        policy.check(sizes).map_err(EngineError::Policy)
    }

    /// The policy in force.
    pub fn policy(&self) -> PolicyKind {
        self.shared.core().policy()
    }

    /// How requests that are let in now are combined.
    pub fn combination(&self) -> Combination {
        self.shared.combination()
    }

    /// Combines requests otherwise that are let in from now on; those under way keep
    /// their rule.
    ///
    /// # Errors
    /// It does not suit the ensemble.
    pub fn set_combination(&self, combination: Combination) -> Result<(), EngineError> {
        let ensemble = &self.shared.ensemble;
        ensemble
            .check_combination(&combination)
            .map_err(EngineError::Combination)?;
        self.shared.combine_by(combination);
        Ok(())
    }

    /// Combines requests that are let in from now on by a rule of the caller's own, until
    /// another combination is set. [`Engine::combination`] goes on telling the last one
    /// that was set, and members are not weighed. A rule that panics fails the requests
    /// that it was to combine, with the reason.
    pub fn combine_with(&self, rule: Arc<dyn CombinationRule>) {
        self.shared.combine_with(rule);
    }

    /// Samples in a segment at most, under `segment`.
    pub fn segment_size(&self) -> usize {
        self.shared.core().segment()
    }

    /// Whether segments may have so many samples: the pool must hold one.
    ///
    /// # Errors
    /// It may not; says how many.
    pub fn check_segment_size(&self, size: usize) -> Result<(), EngineError> {
        match self.capacity() {
            most if (1..=most).contains(&size) => Ok(()),
            most => Err(EngineError::SegmentSize { size, most }),
        }
    }

    /// Segments of so many samples from now on; an open one closes as it is.
    ///
    /// # Errors
    /// The pool does not hold one.
    pub fn set_segment_size(&self, size: usize) -> Result<(), EngineError> {
        self.check_segment_size(size)?;
        self.shared.core().set_segment(size);
        self.shared.wake();
        self.shared.poke_timer();
        Ok(())
    }

    pub(super) fn follow_policy(&self, policy: PolicyKind) {
        self.shared.core().set_policy(self.shared.now(), policy);
        self.shared.wake();
        self.shared.poke_timer();
    }
}
