//! A policy's decision: the changes, and the considered actions with their outcomes.

use std::fmt;
use std::time::Duration;

use crate::placement::InstanceChange;
use crate::variants::{DeviceKindIndex, TaskIndex, VariantIndex};

/// The decision of a policy at one time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PolicyDecision {
    /// The instances to add and remove.
    pub changes: Vec<InstanceChange>,
    /// All considered actions with their outcomes.
    pub considered: Vec<ConsideredAction>,
    /// The kinds of devices without room for an instance, once for each such instance.
    pub lacking: Vec<DeviceKindIndex>,
}

/// An action for a task.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ScalingAction {
    /// Change nothing.
    Keep,
    /// Load more instances of a running variant.
    Replicate(VariantIndex, u32),
    /// Load instances of another variant, in place of others or in addition to them.
    Switch(VariantIndex, u32),
    /// Unload instances.
    Remove(VariantIndex, u32),
    /// Move an instance that suffers interference.
    Move(VariantIndex),
}

/// The outcome of a considered action.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ActionOutcome {
    /// The action is taken.
    Taken,
    /// Another action has a lower cost or a higher value.
    Beaten,
    /// There is no room for its instances.
    NoRoom,
    /// The action has to wait until this time.
    HoldOff(Duration),
    /// The remaining instances would not have the required headroom.
    TooLittleLeft,
    /// The action was rolled back; it is not repeated before this time.
    TakenBack(Duration),
}

/// A considered action.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConsideredAction {
    /// The task.
    pub task: TaskIndex,
    /// The action.
    pub action: ScalingAction,
    /// The cost in the policy's own measure.
    pub cost: f64,
    /// The outcome.
    pub outcome: ActionOutcome,
}

impl PolicyDecision {
    /// Records a considered action.
    pub fn consider(
        &mut self,
        task: TaskIndex,
        action: ScalingAction,
        cost: f64,
        outcome: ActionOutcome,
    ) {
        self.considered.push(ConsideredAction {
            task,
            action,
            cost,
            outcome,
        });
    }
}

impl fmt::Display for ActionOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ActionOutcome::Taken => f.write_str("taken"),
            ActionOutcome::Beaten => f.write_str("another action is better"),
            ActionOutcome::NoRoom => f.write_str("no device has room"),
            ActionOutcome::HoldOff(until) => write!(f, "not before {:.1} s", until.as_secs_f64()),
            ActionOutcome::TooLittleLeft => f.write_str("too little capacity would remain"),
            ActionOutcome::TakenBack(until) => {
                write!(
                    f,
                    "rolled back, not again before {:.1} s",
                    until.as_secs_f64()
                )
            }
        }
    }
}
