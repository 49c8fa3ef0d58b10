//! Tracks the state of a variant.

use std::time::Duration;

use super::state::VariantState;
use super::thresholds::StateThresholds;

/// An observation of a variant since the last one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VariantObservation {
    /// The loaded instances.
    pub instances: u32,
    /// The mean share of its places for samples in flight that were taken.
    pub utilisation: f64,
    /// The samples queued now.
    pub queued: u32,
    /// The ratio of batch time to profiled time; 1 without batches.
    pub slowdown: f64,
}

/// A change of state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateChange {
    /// The state before.
    pub from: VariantState,
    /// The state now.
    pub to: VariantState,
    /// The time of the change.
    pub at: Duration,
}

/// The state of a variant, updated by observations.
///
/// A state that needs action starts at once. It ends only after the hold-off, so that a variant at
/// a threshold does not flap.
#[derive(Clone, Debug)]
pub struct VariantWatch {
    thresholds: StateThresholds,
    state: VariantState,
    since: Duration,
    /// The time since when the state's cause is gone.
    calm_since: Option<Duration>,
    queued: u32,
    growths: u32,
}

impl VariantWatch {
    /// Starts with an inactive variant.
    pub fn new(thresholds: StateThresholds) -> Self {
        VariantWatch {
            thresholds,
            state: VariantState::Inactive,
            since: Duration::ZERO,
            calm_since: None,
            queued: 0,
            growths: 0,
        }
    }

    /// Returns the state.
    pub fn state(&self) -> VariantState {
        self.state
    }

    /// Records an observation. Returns the change of state, if there is one.
    pub fn observe(&mut self, now: Duration, seen: &VariantObservation) -> Option<StateChange> {
        self.growths = match seen.queued > self.queued {
            true => self.growths + 1,
            false => 0,
        };
        self.queued = seen.queued;
        let to = self.next(now, seen);
        if to == self.state {
            return None;
        }
        let change = StateChange {
            from: self.state,
            to,
            at: now,
        };
        (self.state, self.since, self.calm_since) = (to, now, None);
        Some(change)
    }

    fn next(&mut self, now: Duration, seen: &VariantObservation) -> VariantState {
        let seen_state = self.observed_state(seen);
        let was_wrong = matches!(
            self.state,
            VariantState::Overloaded | VariantState::Interfered
        );
        let persists = match self.state {
            VariantState::Overloaded => seen_state == VariantState::Overloaded,
            VariantState::Interfered => seen.slowdown > self.thresholds.calm,
            _ => false,
        };
        // Overload hides interference.
        let is_worse = seen_state == VariantState::Overloaded;
        if !was_wrong || is_worse || seen_state == VariantState::Inactive {
            return seen_state;
        }
        if persists {
            self.calm_since = None;
            return self.state;
        }
        let calm_since = *self.calm_since.get_or_insert(now);
        match now.saturating_sub(calm_since) >= self.thresholds.hold_off {
            true => seen_state,
            false => self.state,
        }
    }

    /// Returns the state according to this observation only.
    fn observed_state(&self, seen: &VariantObservation) -> VariantState {
        let is_full = seen.utilisation > self.thresholds.utilisation;
        match seen.instances {
            0 => VariantState::Inactive,
            _ if is_full || self.growths >= self.thresholds.growths => VariantState::Overloaded,
            _ if seen.slowdown > self.thresholds.interfered => VariantState::Interfered,
            _ => VariantState::Active,
        }
    }
}
