//! A policy's decision: what is done, what was considered, and why not that.

use std::fmt;
use std::time::Duration;

use crate::placement::InstanceChange;
use crate::variants::{DeviceKindIndex, TaskIndex, VariantIndex};

/// The decision of a policy at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PolicyDecision {
    /// The instances that come and leave.
    pub changes: Vec<InstanceChange>,
    /// All that was considered, with its outcome.
    pub considered: Vec<ConsideredAction>,
    /// The kinds of devices on which something found no room, each as often as it did.
    pub lacking: Vec<DeviceKindIndex>,
}

/// Something that could be done for a task.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ScalingAction {
    /// Leave all as it is.
    Keep,
    /// Load more instances of a variant that runs.
    Replicate(VariantIndex, u32),
    /// Load instances of a variant that does not run, in place of others or beside them.
    Switch(VariantIndex, u32),
    /// Unload instances.
    Remove(VariantIndex, u32),
    /// Move an instance that is interfered with.
    Move(VariantIndex),
}

/// Why something was done, or was not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ActionOutcome {
    /// It is done.
    Taken,
    /// Something else has a lower cost, or a higher value.
    Beaten,
    /// Its instances find no room.
    NoRoom,
    /// It would have to wait until then.
    HoldOff(Duration),
    /// The instances that are left would not have the headroom.
    TooLittleLeft,
    /// It was done and taken back; not again before then.
    TakenBack(Duration),
}

/// Something that a policy considered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConsideredAction {
    /// The task.
    pub task: TaskIndex,
    /// The action.
    pub action: ScalingAction,
    /// The cost by the policy's own measure; what it is of is the policy's to say.
    pub cost: f64,
    /// Whether it is done, or why not.
    pub outcome: ActionOutcome,
}

impl PolicyDecision {
    /// Notes something that was considered.
    pub(super) fn consider(
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

    /// Returns what was considered and not done.
    pub fn rejected(&self) -> impl Iterator<Item = &ConsideredAction> {
        let all = self.considered.iter();
        all.filter(|c| c.outcome != ActionOutcome::Taken)
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
