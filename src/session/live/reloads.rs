//! Reloads in the background, with their history.

use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use crate::allocation::{History, Matrix};
use crate::lock::lock;
use crate::search::evacuate;
use crate::serving::{Engine, ReloadError, ReloadPlan};
use crate::session::{LatencyView, LogLevel, Refusal, ReloadState, ReloadView};

use super::log::Log;
use super::view::latency;

/// Applies matrices one after another and remembers what ran.
pub(super) struct Reloads {
    engine: Arc<Engine>,
    log: Arc<Log>,
    state: Arc<Mutex<State>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct State {
    view: Option<ReloadView>,
    history: History<Matrix>,
    latency_before: Option<LatencyView>,
}

/// How a reload changes the history once it is done.
#[derive(Clone, Copy)]
enum Way {
    New,
    Back,
    Forth,
}

impl Reloads {
    pub fn new(engine: Arc<Engine>, log: Arc<Log>) -> Self {
        Reloads {
            engine,
            log,
            state: Arc::default(),
            thread: None,
        }
    }

    pub fn apply(&mut self, matrix: Matrix) -> Result<(), Refusal> {
        self.start(matrix, Way::New)
    }

    pub fn undo(&mut self) -> Result<(), Refusal> {
        let before = lock(&self.state).history.before().cloned();
        let matrix = before.ok_or_else(|| Refusal("nothing ran before this matrix".into()))?;
        self.start(matrix, Way::Back)
    }

    pub fn redo(&mut self) -> Result<(), Refusal> {
        let after = lock(&self.state).history.after().cloned();
        let matrix = after.ok_or_else(|| Refusal("nothing was undone".into()))?;
        self.start(matrix, Way::Forth)
    }

    /// Lets a device disappear and evacuates it.
    pub fn lose(&mut self, device: usize) -> Result<(), Refusal> {
        if self.is_running() {
            return Err(Refusal("a reload is under way".into()));
        }
        let (simulated, lost) = {
            let kind = &self.engine.devices().get(device).kind;
            let lost = self.engine.lost_devices().contains(&device);
            (kind.profile().is_some(), lost)
        };
        match (simulated, lost) {
            (false, _) => Err(Refusal("only simulated devices disappear".into())),
            (_, true) => Err(Refusal("it is gone already".into())),
            _ => self.begin(move |engine, watch| {
                let lost = engine.lose_device(device, |running| refuge(engine, running), watch);
                lost.map_err(|error| ReloadError::NoRefuge(error.to_string()))
            }),
        }
    }

    fn start(&mut self, matrix: Matrix, way: Way) -> Result<(), Refusal> {
        if self.is_running() {
            return Err(Refusal("a reload is under way".into()));
        }
        let plan = self.engine.plan_reload(&matrix);
        let plan = plan.map_err(|e| Refusal(e.to_string()))?;
        if plan.is_empty() {
            return Err(Refusal("this matrix already runs".into()));
        }
        self.begin_way(way, move |engine, watch| engine.reload(&matrix, watch))
    }

    fn begin(&mut self, change: impl Change) -> Result<(), Refusal> {
        self.begin_way(Way::New, change)
    }

    /// Changes the matrix in the background.
    fn begin_way(&mut self, way: Way, change: impl Change) -> Result<(), Refusal> {
        self.end();
        lock(&self.state).view = Some(ReloadView {
            steps: Vec::new(),
            state: ReloadState::Running,
            elapsed: std::time::Duration::ZERO,
        });
        let (engine, log) = (Arc::clone(&self.engine), Arc::clone(&self.log));
        let state = Arc::clone(&self.state);
        let work = move || reload(&engine, &log, &state, change, way);
        let thread = thread::Builder::new().name("reload".into()).spawn(work);
        self.thread = Some(thread.map_err(|e| Refusal(e.to_string()))?);
        Ok(())
    }

    /// What shows as done is done, though its thread may take a moment more to end.
    fn is_running(&self) -> bool {
        let view = lock(&self.state).view.as_ref().map(|v| v.state.clone());
        let thread = self.thread.as_ref();
        view == Some(ReloadState::Running) && thread.is_some_and(|t| !t.is_finished())
    }

    pub fn view(&self) -> Option<ReloadView> {
        lock(&self.state).view.clone()
    }

    pub fn latency_before(&self) -> Option<LatencyView> {
        lock(&self.state).latency_before.clone()
    }

    /// Whether there is something to undo, and to redo.
    pub fn can_go(&self) -> (bool, bool) {
        let state = lock(&self.state);
        (
            state.history.before().is_some(),
            state.history.after().is_some(),
        )
    }

    /// Waits for a reload under way.
    pub fn end(&mut self) {
        if let Some(thread) = self.thread.take() {
            // It catches its own failures; a panic in it is already reported.
            let _ = thread.join();
        }
    }
}

/// What changes the matrix, telling each step.
trait Change: FnOnce(&Engine, &mut dyn FnMut(&str)) -> Changed + Send + 'static {}

impl<F: FnOnce(&Engine, &mut dyn FnMut(&str)) -> Changed + Send + 'static> Change for F {}

type Changed = Result<ReloadPlan, ReloadError>;

/// Where the workers of lost devices go.
fn refuge(engine: &Engine, running: &Matrix) -> Result<Matrix, String> {
    let (lost, devices) = (engine.lost_devices(), engine.devices());
    evacuate(running, &lost, devices, engine.footprints()).map_err(|e| e.to_string())
}

fn reload(engine: &Engine, log: &Log, state: &Mutex<State>, change: impl Change, way: Way) {
    let started = Instant::now();
    let old = engine.matrix();
    let before = latency(engine);
    let result = change(engine, &mut |step| {
        if let Some(view) = &mut lock(state).view {
            view.steps.push(step.to_owned());
            view.elapsed = started.elapsed();
        }
    });
    let elapsed = started.elapsed();
    let now = engine.observe().now;
    let mut state = lock(state);
    let (outcome, level, text) = match result {
        Ok(plan) => {
            engine.clear_latency();
            state.latency_before = (before.summary.count > 0).then_some(before);
            // Bringing retired workers back is no change of matrix.
            if old != engine.matrix() {
                remember(&mut state.history, old, way);
            }
            let changed = plan.difference.changed().count();
            let millis = elapsed.as_secs_f64() * 1e3;
            let entries = if changed == 1 { "entry" } else { "entries" };
            let text = format!("reload: {changed} {entries} changed in {millis:.1} ms");
            (ReloadState::Done, LogLevel::Info, text)
        }
        Err(error) => {
            // After a loss nothing can be said of what ran before.
            let why = match error {
                ReloadError::NoRefuge(why) => why,
                other => format!("{other}; the old matrix serves"),
            };
            let text = format!("reload failed: {why}");
            (ReloadState::Failed(why), LogLevel::Error, text)
        }
    };
    if let Some(view) = &mut state.view {
        view.state = outcome;
        view.elapsed = elapsed;
    }
    log.add(now, level, text);
}

fn remember(history: &mut History<Matrix>, old: Matrix, way: Way) {
    match way {
        Way::New => history.replaced(old),
        Way::Back => history.went_back(old),
        Way::Forth => history.went_forth(old),
    }
}
