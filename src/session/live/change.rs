//! One change of what runs, from its start to what history says of it.

use std::time::{Duration, Instant};

use crate::allocation::Matrix;
use crate::changes::RunningProbation;
use crate::lock::lock;
use crate::search::evacuate;
use crate::serving::{Engine, ReloadError, ReloadPlan};
use crate::session::{Baseline, LogLevel, MarkKind, ReloadState, Setup, Terms};

use super::reloads::{Inner, State, running};
use super::view::latency;

/// Why something changes, and what becomes of the history.
pub(super) struct Order {
    pub why: String,
    pub way: Way,
    pub terms: Option<Terms>,
}

/// How a change alters what can be undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    New,
    Back,
    Forth,
    /// Back to what ran before something on probation.
    Refuge,
}

impl Order {
    pub fn new(why: String) -> Self {
        Order {
            why,
            way: Way::New,
            terms: None,
        }
    }

    pub fn going(self, way: Way) -> Self {
        Order { way, ..self }
    }

    pub fn on(self, terms: Option<Terms>) -> Self {
        Order { terms, ..self }
    }
}

pub(super) type Changed = Result<ReloadPlan, ReloadError>;

/// Ways to change what runs.
pub(super) struct Change;

impl Change {
    /// Moves to a setup that was checked. The workers first: only they can fail, and then
    /// nothing else has changed.
    pub fn to(
        setup: Setup,
    ) -> impl FnOnce(&Engine, &mut dyn FnMut(&str)) -> Changed + Send + 'static {
        move |engine, watch| {
            let plan = engine.plan_reload(&setup.matrix)?;
            let plan = match plan.is_empty() {
                true => plan,
                false => engine.reload(&setup.matrix, &mut *watch)?,
            };
            let old = running(engine);
            follow(engine, &setup);
            for said in settings(engine, &old, &setup) {
                watch(&said);
            }
            Ok(plan)
        }
    }
}

/// Where the workers of lost devices go.
pub(super) fn fallback(engine: &Engine, running: &Matrix) -> Result<Matrix, String> {
    let (lost, devices) = (engine.lost_devices(), engine.devices());
    evacuate(running, &lost, devices, engine.footprints()).map_err(|e| e.to_string())
}

/// Sets all but the matrix.
fn follow(engine: &Engine, setup: &Setup) {
    // It was checked before anything moved; what could be refused since is nothing.
    let _ = engine.set_policy(setup.policy);
    let _ = engine.set_combination(setup.combination.clone());
    let _ = engine.set_segment_size(setup.segment_size);
}

/// What differs beside the matrix, in words.
pub(super) fn settings(engine: &Engine, old: &Setup, new: &Setup) -> Vec<String> {
    let mut said = Vec::new();
    if old.policy != new.policy {
        said.push(format!("policy: {} → {}", old.policy, new.policy));
    }
    let names = engine.ensemble().member_names();
    said.extend(old.combination.changes(&new.combination, &names));
    if old.segment_size != new.segment_size {
        let (old, new) = (old.segment_size, new.segment_size);
        said.push(format!("segment size: {old} → {new}"));
    }
    said
}

/// Changes at once what needs no reload.
pub(super) fn settle(inner: &Inner, old: &Setup, new: &Setup, order: Order) {
    follow(&inner.engine, new);
    let said = settings(&inner.engine, old, new).join(", ");
    inner.log.add(inner.engine.now(), LogLevel::Info, said);
    lock(&inner.state).remember(&inner.engine, old.clone(), new.clone(), &order);
}

/// Makes a change and writes down what came of it.
pub(super) fn run(
    inner: &Inner,
    order: Order,
    change: impl FnOnce(&Engine, &mut dyn FnMut(&str)) -> Changed,
) {
    let _clear = Busy(inner);
    let started = Instant::now();
    let engine = &inner.engine;
    let old = running(engine);
    let terms = order.terms;
    let before = terms.map(|terms| lock(&inner.state).baseline(engine, &terms));
    let latency_before = latency(engine, None);
    let result = change(engine, &mut |step| {
        if let Some(view) = &mut lock(&inner.state).view {
            view.steps.push(step.to_owned());
            view.elapsed = started.elapsed();
        }
    });
    let new = running(engine);
    let elapsed = started.elapsed();
    let (outcome, level, text) = match &result {
        Ok(plan) => (
            ReloadState::Done,
            LogLevel::Info,
            done(engine, &old, &new, plan, elapsed),
        ),
        Err(error) => failed(error),
    };
    let mut state = lock(&inner.state);
    if result.is_ok() && is_other_pace(&old, &new) {
        engine.clear_latency();
        state.latency_before = (latency_before.summary.count > 0).then_some(latency_before);
    }
    if result.is_ok() {
        state.remember(engine, old.clone(), new, &order);
        state.begin_trial(engine, terms, before, old);
    }
    state.busy = false;
    if let Some(view) = &mut state.view {
        view.state = outcome;
        view.elapsed = elapsed;
    }
    // What the log says is there once the change shows as done.
    inner.log.add(engine.now(), level, text);
    drop(state);
    inner.changed.notify_all();
}

/// Whether latencies from before tell nothing of those to come.
fn is_other_pace(old: &Setup, new: &Setup) -> bool {
    let rest = Setup {
        combination: old.combination.clone(),
        ..new.clone()
    };
    rest != *old
}

/// A change that panics does not lock others out.
struct Busy<'a>(&'a Inner);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        lock(&self.0.state).busy = false;
        self.0.changed.notify_all();
    }
}

fn done(engine: &Engine, old: &Setup, new: &Setup, plan: &ReloadPlan, took: Duration) -> String {
    let mut said = settings(engine, old, new);
    if !plan.is_empty() || said.is_empty() {
        said.insert(0, entries(plan));
    }
    let millis = took.as_secs_f64() * 1e3;
    format!("reload: {} in {millis:.1} ms", said.join(", "))
}

fn entries(plan: &ReloadPlan) -> String {
    match plan.difference.changed().count() {
        1 => "1 entry changed".into(),
        changed => format!("{changed} entries changed"),
    }
}

fn failed(error: &ReloadError) -> (ReloadState, LogLevel, String) {
    // After a loss nothing can be said of what ran before.
    let why = match error {
        ReloadError::NoRefuge(why) => why.clone(),
        other => format!("{other}; the old matrix serves"),
    };
    let text = format!("reload failed: {why}");
    (ReloadState::Failed(why), LogLevel::Error, text)
}

impl State {
    /// Writes down that `new` runs in the place of `old`.
    fn remember(&mut self, engine: &Engine, old: Setup, new: Setup, order: &Order) {
        // Bringing retired workers back is no other setup.
        if old == new {
            return;
        }
        let reading = engine.reading();
        for (kind, text) in marks(engine, &old, &new, order) {
            self.change_log.mark(reading.at, kind, text);
        }
        let undo = &mut self.change_log.undo;
        match order.way {
            Way::Forth => undo.went_forth(old),
            Way::Back => undo.went_back(old),
            Way::Refuge if undo.before() == Some(&new) => undo.went_back(old),
            Way::New | Way::Refuge => undo.replaced(old),
        }
        self.change_log.runs(new, reading, order.why.clone());
    }

    fn begin_trial(
        &mut self,
        engine: &Engine,
        terms: Option<Terms>,
        before: Option<Baseline>,
        fallback: Setup,
    ) {
        if let (Some(terms), Some(before)) = (terms, before) {
            let measured = self.change_log.measured(&before.whole);
            let now = engine.now();
            self.trial = Some(RunningProbation::new(
                terms, &before, measured, fallback, now,
            ));
        }
    }
}

fn marks(engine: &Engine, old: &Setup, new: &Setup, order: &Order) -> Vec<(MarkKind, String)> {
    if order.way == Way::Refuge {
        return vec![(MarkKind::Rollback, order.why.clone())];
    }
    let mut marks = Vec::new();
    if old.matrix != new.matrix {
        let changed = crate::allocation::Difference::between(&old.matrix, &new.matrix);
        let count = changed.changed().count();
        let entries = if count == 1 { "entry" } else { "entries" };
        marks.push((MarkKind::Reload, format!("{count} {entries} changed")));
    }
    if old.policy != new.policy {
        marks.push((MarkKind::Policy, format!("{} → {}", old.policy, new.policy)));
    }
    let names = engine.ensemble().member_names();
    let combination = old.combination.changes(&new.combination, &names);
    marks.extend(
        combination
            .into_iter()
            .map(|said| (MarkKind::Combination, said)),
    );
    if old.segment_size != new.segment_size {
        let text = format!("segment size: {} → {}", old.segment_size, new.segment_size);
        marks.push((MarkKind::Policy, text));
    }
    marks
}
