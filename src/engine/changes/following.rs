//! The transfer of changes from one engine to the next one, which serves other models: history and
//! marks continue.
//!
//! The new models can be on probation. They are compared with the measurements of the previous
//! engine, and the deployment brings the previous models back.

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

/// The changes of one engine, continued by the next engine.
#[derive(Clone, Debug, Default)]
pub struct PastChanges {
    pub(super) log: PastLog,
    /// The change that brought the next models.
    pub(super) why: String,
    /// Latencies under the previous models.
    pub(super) latency: Option<Distribution>,
    /// The terms for the next models, and the baseline of the previous ones.
    pub(super) terms: Option<(Terms, Baseline)>,
    /// The last probation, if it has ended.
    pub(super) probation: Option<Probation>,
    /// The share of the busiest core that other programs took under the previous models.
    pub(super) others: Option<f64>,
}

impl ChangeMachine {
    /// Creates a machine that continues the log of another one after a change of models. With
    /// terms, the models are on probation.
    pub fn following(past: PastChanges, running: Setup, now: Reading, graded: bool) -> Self {
        let (at, frame) = (now.at, Arc::clone(running.matrix.frame()));
        let log = ChangeLog::continuing(past.log, (running, past.why), now, graded);
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
            probation: watched.or(past.probation.map(RunningProbation::ended)),
            log,
        }
    }

    /// Returns the changes for the machine of other models to continue.
    pub fn past(&self, now: &Reading) -> PastChanges {
        let probation = self.probation.as_ref().map(|p| p.view.clone());
        PastChanges {
            log: self.log.past(now),
            // The fallback is a setup of models that no longer exist.
            probation: probation
                .filter(|p| p.state != ProbationState::Watching)
                .map(|p| Probation {
                    fallback: None,
                    ..p
                }),
            ..PastChanges::default()
        }
    }

    /// Returns whether the models are on probation. If they do worse, the previous models are
    /// restored.
    pub fn watches_models(&self) -> bool {
        let watched = self.probation.as_ref().filter(|p| p.is_watching());
        watched.is_some_and(|p| p.view.fallback.is_none())
    }

    /// Returns the terms of the change under way, with the reading when the running setup began, or
    /// `None` without terms.
    pub fn baseline_wanted(&self) -> Option<(Terms, &Reading)> {
        let terms = self.under_way.as_ref()?.terms?;
        Some((terms, self.log.since()))
    }

    /// Returns the time of the first check of the probation, or `None` if none is running.
    fn first_look(&self, now: Duration) -> Option<Duration> {
        match self.next_look(now) {
            Some(ChangeAction::LookAt(at)) => Some(at),
            _ => None,
        }
    }
}

impl Changes {
    /// Changes the setup of `engine`, and continues the history of other models. If the new models
    /// are on probation and do worse, calls `bring_back`, which does not block.
    pub fn following(
        past: PastChanges,
        engine: Arc<Engine>,
        journal: ChangeJournal,
        bring_back: BringBack,
    ) -> Self {
        let (graded, setup) = (engine.telemetry().answers_are_real(), engine.setup());
        let now = engine.telemetry().now();
        let others = past.others;
        let machine = ChangeMachine::following(past, setup, engine.telemetry().reading(), graded);
        let first_look = machine.first_look(now);
        let mut changes = Changes::driving(machine, engine, journal, (Some(bring_back), others));
        if let Some(at) = first_look {
            changes.look_at(at);
        }
        changes
    }

    /// Returns the changes for the next models to continue; `why` describes the change of models.
    /// With terms, the next models are on probation against the figures measured here.
    pub fn past(&self, why: String, terms: Option<Terms>) -> PastChanges {
        let telemetry = self.driver.engine.telemetry();
        let latency = telemetry.observe().latency.since;
        let terms = terms.map(|terms| {
            let since = self.driver.machine.lock().log.since().clone();
            (terms, self.driver.baseline_since(terms, since))
        });
        let others = self.driver.host.lock().share();
        PastChanges {
            why,
            terms,
            others,
            latency: Some(latency).filter(|latency| latency.summary.count > 0),
            ..self.driver.machine.lock().past(&telemetry.reading())
        }
    }

    /// Returns whether the models are on probation.
    pub fn watches_models(&self) -> bool {
        self.driver.machine.lock().watches_models()
    }
}
