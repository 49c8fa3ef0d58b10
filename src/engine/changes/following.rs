//! From the changes of one engine to those of the next, which serves other models: history and marks go
//! on, and the models may be on probation against what the engine before did.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use crate::serving::{Engine, Setup};
use divisi_model::metrics::{Distribution, Reading};

use super::change_log::{ChangeLog, PastLog};
use super::driver::{BringBack, ChangeJournal, Changes};
use super::event::ChangeAction;
use super::judge::{Baseline, Terms};
use super::machine::ChangeMachine;
use super::status::{Probation, ProbationState, RunningProbation};

/// All that the changes of one engine leave to those of the next: history goes on.
#[derive(Clone, Debug, Default)]
pub struct PastChanges {
    pub(super) log: PastLog,
    /// The change by which the next models came.
    pub(super) why: String,
    /// Latencies under the models of before.
    pub(super) latency: Option<Distribution>,
    /// The terms of the next models, and what was measured of those of before.
    pub(super) terms: Option<(Terms, Baseline)>,
    /// The last probation, if it is over.
    pub(super) probation: Option<Probation>,
}

impl ChangeMachine {
    /// Creates a machine that goes on with another one's log, since other models serve; with terms they
    /// are on probation.
    pub fn following(past: PastChanges, running: Setup, now: Reading, graded: bool) -> Self {
        let (at, frame) = (now.at, Arc::clone(running.matrix.frame()));
        let log = ChangeLog::after(past.log, (running, past.why), now, graded);
        let watched = past.terms.map(|(terms, before)| {
            let before = log.graded_baseline(before);
            let measured = log.measured(&before.whole);
            RunningProbation::new(terms, &before, measured, None, at)
        });
        ChangeMachine {
            frame,
            under_way: None,
            lost: VecDeque::new(),
            is_closing: false,
            shown: None,
            latency_before: past.latency,
            probation: watched.or(past.probation.map(RunningProbation::over)),
            log,
        }
    }

    /// Returns what a machine for other models goes on with.
    pub fn past(&self, now: &Reading) -> PastChanges {
        let probation = self.probation.as_ref().map(|p| p.view.clone());
        PastChanges {
            log: self.log.past(now),
            // What it would have fallen back to is a setup of models that are no more.
            probation: probation
                .filter(|p| p.state != ProbationState::Watching)
                .map(|p| Probation {
                    fallback: None,
                    ..p
                }),
            ..PastChanges::default()
        }
    }

    /// Whether the models are on probation: those of before come back where these do worse.
    pub fn watches_models(&self) -> bool {
        let watched = self.probation.as_ref().filter(|p| p.is_watching());
        watched.is_some_and(|p| p.view.fallback.is_none())
    }

    /// Returns the terms of the change under way, if it has any, and what had been done
    /// when what runs began.
    pub fn baseline_wanted(&self) -> Option<(Terms, &Reading)> {
        let terms = self.under_way.as_ref()?.terms?;
        Some((terms, self.log.since()))
    }

    /// Returns when the probation is to be looked at first, if one is under way.
    fn first_look(&self, now: Duration) -> Option<Duration> {
        match self.next_look(now) {
            Some(ChangeAction::LookAt(at)) => Some(at),
            _ => None,
        }
    }
}

impl Changes {
    /// Changes what `engine` runs, and goes on with the history of other models. Where the new ones are
    /// on probation and do worse, `bring_back` is asked for those of before; it does not wait.
    pub fn following(
        past: PastChanges,
        engine: Arc<Engine>,
        journal: ChangeJournal,
        bring_back: BringBack,
    ) -> Self {
        let (graded, setup) = (engine.telemetry().answers_are_real(), engine.setup());
        let now = engine.telemetry().now();
        let machine = ChangeMachine::following(past, setup, engine.telemetry().reading(), graded);
        let first_look = machine.first_look(now);
        let mut changes = Changes::driving(machine, engine, journal, Some(bring_back));
        if let Some(at) = first_look {
            changes.look_at(at);
        }
        changes
    }

    /// Returns what the changes of the next models go on with, which came by a change that `why` says;
    /// on terms they are on probation against what was measured here.
    pub fn past(&self, why: String, terms: Option<Terms>) -> PastChanges {
        let telemetry = self.driver.engine.telemetry();
        let latency = telemetry.observe().latency.since;
        let terms = terms.map(|terms| {
            let since = self.driver.machine.lock().log.since().clone();
            (terms, self.driver.baseline_since(terms, since))
        });
        PastChanges {
            why,
            terms,
            latency: Some(latency).filter(|latency| latency.summary.count > 0),
            ..self.driver.machine.lock().past(&telemetry.reading())
        }
    }

    /// Whether the models are on probation.
    pub fn watches_models(&self) -> bool {
        self.driver.machine.lock().watches_models()
    }
}
