//! Looks after what is on probation, whether or not a console looks.

use std::sync::PoisonError;
use std::time::Duration;

use crate::changes::{JudgeVerdict, RunningProbation};
use crate::lock::lock;
use crate::session::{LogLevel, ProbationState, Setup};

use super::change::{self, Change, Order, Way};
use super::reloads::{Inner, State};

/// Sleeps while nothing is on probation.
pub(super) fn run(inner: &Inner) {
    while await_turn(inner) {
        let reading = inner.engine.reading();
        let in_flight = inner.engine.in_flight();
        let failed = {
            let mut state = lock(&inner.state);
            let State {
                trial, change_log, ..
            } = &mut *state;
            let Some(trial) = trial.as_mut().filter(|t| t.is_watching()) else {
                continue;
            };
            let verdict = trial.look(&reading, in_flight, change_log);
            match verdict {
                JudgeVerdict::Watching => None,
                JudgeVerdict::Passed(remark) => {
                    trial.view.state = ProbationState::Passed;
                    let remark = remark.map(|r| format!(", though {r}")).unwrap_or_default();
                    let text = format!("probation passed{remark}");
                    inner.log.add(reading.at, LogLevel::Info, text);
                    None
                }
                JudgeVerdict::Failed(why) => {
                    trial.view.state = ProbationState::Failed(why.clone());
                    let fallback = trial.view.fallback.clone();
                    // In the same breath, so that no other change comes between.
                    state.begin();
                    Some((why, fallback))
                }
            }
        };
        if let Some((why, fallback)) = failed {
            roll_back(inner, &why, fallback);
        }
    }
}

/// Waits until it is time to look; false once nothing is to be watched any more.
fn await_turn(inner: &Inner) -> bool {
    let idle = |state: &mut State| {
        let watching = state.trial.as_ref().is_some_and(|t| t.is_watching());
        !state.over && !watching
    };
    let state = lock(&inner.state);
    let state = inner.changed.wait_while(state, idle);
    let state = state.unwrap_or_else(PoisonError::into_inner);
    let pause = state
        .trial
        .as_ref()
        .map_or(Duration::ZERO, RunningProbation::pause);
    let state = inner.changed.wait_timeout_while(state, pause, |s| !s.over);
    !state.unwrap_or_else(PoisonError::into_inner).0.over
}

fn roll_back(inner: &Inner, why: &str, fallback: Setup) {
    let text = format!("probation failed: {why}; what ran before comes back");
    inner.log.add(inner.engine.now(), LogLevel::Warn, text);
    let order = Order::new(format!("rolled back: {why}")).going(Way::Refuge);
    change::run(inner, order, Change::to(fallback));
}
