//! The outcomes of the last changes, for callers that wait for their change.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar};

use crate::deployment::{DeploymentError, ServingNumber};
use crate::serving::Leaf;

use super::requests::ModelsChanged;

/// A change that was made.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChangeMade {
    /// Its times.
    pub(super) changed: ModelsChanged,
    /// The number of what serves since then.
    pub(super) serving: ServingNumber,
}

/// A change that was made, or its error.
pub(super) type ChangeOutcome = Result<ChangeMade, Arc<DeploymentError>>;

/// The number of outcomes to keep. Few callers wait, because they make their changes in turn.
const MOST: usize = 64;

/// The outcomes of the last changes by number.
#[derive(Default)]
pub(super) struct Outcomes {
    last: Leaf<VecDeque<(u64, ChangeOutcome)>>,
    came: Condvar,
}

impl Outcomes {
    /// Records the end of a change and wakes the callers.
    pub(super) fn tell(&self, number: u64, outcome: ChangeOutcome) {
        let mut last = self.last.lock();
        last.push_back((number, outcome));
        if last.len() > MOST {
            last.pop_front();
        }
        drop(last);
        self.came.notify_all();
    }

    /// Waits for the end of a change.
    pub(super) fn wait(&self, number: u64) -> ChangeOutcome {
        let mut last = self.last.lock();
        loop {
            let ended = last.iter().find(|(ended, _)| *ended >= number);
            if let Some((_, outcome)) = ended {
                return outcome.clone();
            }
            last = last.wait(&self.came);
        }
    }
}
