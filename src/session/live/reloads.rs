//! Changes of what runs: in the background, as one step of a history, on probation where
//! that was asked for.

use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};

use crate::changes::{ChangeLog, RunningProbation};
use crate::lock::lock;
use crate::metrics::Distribution;
use crate::serving::{Engine, ReloadError};
use crate::session::{
    Baseline, LogLevel, Mark, MarkKind, Probation, ProbationState, Ran, Refusal, ReloadState,
    ReloadView, Setup, Terms,
};

use super::change::{self, Change, Changed, Order, Way, fallback, settle};
use super::log::Log;
use super::loss;
use super::watch;

/// Applies setups one after another and remembers what ran.
pub(super) struct Reloads {
    inner: Arc<Inner>,
    change: Option<JoinHandle<()>>,
    watch: Option<JoinHandle<()>>,
    /// Evacuates GPUs that are lost, where there are any.
    losses: Option<JoinHandle<()>>,
}

/// What the threads of a session share.
pub(super) struct Inner {
    pub engine: Arc<Engine>,
    pub log: Arc<Log>,
    pub state: Mutex<State>,
    /// There is something to watch, or it is over.
    pub changed: Condvar,
}

pub(super) struct State {
    pub view: Option<ReloadView>,
    /// A change is under way.
    pub busy: bool,
    pub latency_before: Option<Distribution>,
    pub change_log: ChangeLog,
    pub trial: Option<RunningProbation>,
    pub over: bool,
}

/// All that is shown of changes.
pub(super) struct ChangeStatus {
    pub reload: Option<ReloadView>,
    pub latency_before: Option<Distribution>,
    pub can_undo: bool,
    pub can_redo: bool,
    pub marks: Vec<Mark>,
    pub history: Vec<Ran>,
    pub probation: Option<Probation>,
}

/// What runs.
pub(super) fn running(engine: &Engine) -> Setup {
    Setup {
        matrix: engine.matrix(),
        policy: engine.policy(),
        combination: engine.combination(),
        segment_size: engine.segment_size(),
    }
}

impl Reloads {
    pub fn new(engine: Arc<Engine>, log: Arc<Log>) -> Self {
        let graded = engine.answers_are_real();
        let change_log = ChangeLog::new(running(&engine), engine.reading(), graded);
        let inner = Arc::new(Inner {
            engine,
            log,
            state: Mutex::new(State {
                view: None,
                busy: false,
                latency_before: None,
                change_log,
                trial: None,
                over: false,
            }),
            changed: Condvar::new(),
        });
        Reloads {
            losses: loss::listen(&inner),
            inner,
            change: None,
            watch: None,
        }
    }

    /// Whether `setup` can run.
    ///
    /// # Errors
    /// Why it cannot.
    pub fn check(&self, setup: &Setup) -> Result<(), Refusal> {
        let engine = &self.inner.engine;
        let refuse = |e: &dyn std::fmt::Display| Refusal(e.to_string());
        engine.plan_reload(&setup.matrix).map_err(|e| refuse(&e))?;
        engine.check_policy(setup.policy).map_err(|e| refuse(&e))?;
        let ensemble = engine.ensemble();
        let suits = ensemble.check_combination(&setup.combination);
        suits.map_err(|e| refuse(&e))?;
        let segment = engine.check_segment_size(setup.segment_size);
        segment.map_err(|e| refuse(&e))
    }

    pub fn apply(
        &mut self,
        setup: Setup,
        terms: Option<Terms>,
        why: String,
    ) -> Result<(), Refusal> {
        if let Some(terms) = &terms {
            terms.check().map_err(Refusal)?;
        }
        self.start(setup, Order::new(why).on(terms))
    }

    pub fn undo(&mut self) -> Result<(), Refusal> {
        let before = lock(&self.inner.state).change_log.undo.before().cloned();
        let setup = before.ok_or_else(|| Refusal("nothing ran before this".into()))?;
        self.start(setup, Order::new("undo".into()).going(Way::Back))
    }

    pub fn redo(&mut self) -> Result<(), Refusal> {
        let after = lock(&self.inner.state).change_log.undo.after().cloned();
        let setup = after.ok_or_else(|| Refusal("nothing was undone".into()))?;
        self.start(setup, Order::new("redo".into()).going(Way::Forth))
    }

    /// Changes what needs no reload, at once.
    pub fn adjust(&mut self, setup: &Setup, why: String) -> Result<(), Refusal> {
        self.check(setup)?;
        let old = running(&self.inner.engine);
        if *setup == old {
            return Ok(());
        }
        self.take_turn(&why)?;
        settle(&self.inner, &old, setup, Order::new(why));
        Ok(())
    }

    /// Lets a device disappear and evacuates it.
    pub fn lose(&mut self, device: usize) -> Result<(), Refusal> {
        let (by_wish, lost) = {
            let engine = &self.inner.engine;
            let by_wish = engine.capabilities(device).faults_on_demand;
            (by_wish, engine.lost_devices().contains(&device))
        };
        match (by_wish, lost) {
            (false, _) => return Err(Refusal("only simulated devices disappear by wish".into())),
            (_, true) => return Err(Refusal("it is gone already".into())),
            _ => {}
        }
        let name = &self.inner.engine.devices().get(device).name;
        let text = format!("{name} lost");
        self.take_turn(&text)?;
        self.mark(MarkKind::Device, text);
        self.begin(Order::new("evacuation".into()), move |engine, watch| {
            let lost = engine.lose_device(device, |running| fallback(engine, running), watch);
            lost.map_err(|error| ReloadError::NoRefuge(error.to_string()))
        })
    }

    /// Ends a probation: what was applied stays, or goes.
    pub fn end_probation(&mut self, keep: bool) -> Result<(), Refusal> {
        if keep {
            return match lock(&self.inner.state).end_trial(ProbationState::Kept) {
                Some(_) => {
                    self.note("probation ended: what was applied stays".into());
                    Ok(())
                }
                None => Err(Refusal("nothing is on probation".into())),
            };
        }
        let fallback = {
            let mut state = lock(&self.inner.state);
            if state.busy {
                return Err(Refusal("a change is under way".into()));
            }
            let why = "an operator took it back";
            let ended = state.end_trial(ProbationState::Failed(why.into()));
            ended.ok_or_else(|| Refusal("nothing is on probation".into()))?
        };
        let order = Order::new("rolled back: an operator took it back".into());
        self.start(fallback, order.going(Way::Refuge))
    }

    fn start(&mut self, setup: Setup, order: Order) -> Result<(), Refusal> {
        self.check(&setup)?;
        let engine = &self.inner.engine;
        let plan = engine.plan_reload(&setup.matrix);
        let plan = plan.map_err(|e| Refusal(e.to_string()))?;
        if plan.is_empty() && setup == running(engine) {
            return Err(Refusal("this already runs".into()));
        }
        // What goes back shows why, whoever sent it back.
        if order.way != Way::Refuge {
            self.take_turn(&order.why)?;
        }
        self.begin(order, Change::to(setup))
    }

    /// Only one change at a time; who comes next ends the probation of the last.
    fn take_turn(&mut self, why: &str) -> Result<(), Refusal> {
        let ended = {
            let mut state = lock(&self.inner.state);
            if state.busy {
                return Err(Refusal(UNDER_WAY.into()));
            }
            let ended = state.end_trial(ProbationState::Kept).is_some();
            if !ended {
                state.trial = None;
            }
            ended
        };
        if ended {
            self.note(format!(
                "probation ended before its time ({why}): what was on it was kept"
            ));
        }
        Ok(())
    }

    /// Changes what runs in the background.
    fn begin(
        &mut self,
        order: Order,
        change: impl FnOnce(&Engine, &mut dyn FnMut(&str)) -> Changed + Send + 'static,
    ) -> Result<(), Refusal> {
        self.join_change();
        self.watch()?;
        {
            let mut state = lock(&self.inner.state);
            // A device may have been lost since this change took its turn.
            if state.busy {
                return Err(Refusal(UNDER_WAY.into()));
            }
            state.begin();
        }
        let inner = Arc::clone(&self.inner);
        let work = move || change::run(&inner, order, change);
        let spawned = thread::Builder::new().name("reload".into()).spawn(work);
        match spawned {
            Ok(thread) => self.change = Some(thread),
            Err(error) => {
                lock(&self.inner.state).busy = false;
                self.inner.changed.notify_all();
                return Err(Refusal(error.to_string()));
            }
        }
        Ok(())
    }

    /// Starts the thread that looks after probations, once there is a change.
    fn watch(&mut self) -> Result<(), Refusal> {
        if self.watch.is_none() {
            let inner = Arc::clone(&self.inner);
            let work = move || watch::run(&inner);
            let thread = thread::Builder::new().name("watch".into()).spawn(work);
            self.watch = Some(thread.map_err(|e| Refusal(e.to_string()))?);
        }
        Ok(())
    }

    /// Leaves a mark.
    pub fn mark(&self, kind: MarkKind, text: String) {
        let now = self.inner.engine.now();
        lock(&self.inner.state).change_log.mark(now, kind, text);
    }

    fn note(&self, text: String) {
        let now = self.inner.engine.now();
        self.inner.log.add(now, LogLevel::Info, text);
    }

    pub fn tell(&self) -> ChangeStatus {
        let reading = self.inner.engine.reading();
        let state = lock(&self.inner.state);
        ChangeStatus {
            reload: state.view.clone(),
            latency_before: state.latency_before.clone(),
            can_undo: state.change_log.undo.before().is_some(),
            can_redo: state.change_log.undo.after().is_some(),
            marks: state.change_log.marks(),
            history: state.change_log.history(&reading),
            probation: state.trial.as_ref().map(|t| t.view.clone()),
        }
    }

    fn join_change(&mut self) {
        if let Some(thread) = self.change.take() {
            // It catches its own failures; a panic in it is already reported.
            let _ = thread.join();
        }
    }

    /// Waits for a change under way; nothing is watched any more.
    pub fn end(&mut self) {
        self.join_change();
        lock(&self.inner.state).over = true;
        self.inner.changed.notify_all();
        if let Some(thread) = self.watch.take() {
            let _ = thread.join();
        }
        if let Some(thread) = self.losses.take() {
            loss::stop(&self.inner.engine);
            let _ = thread.join();
        }
    }
}

/// Why another change has to wait.
const UNDER_WAY: &str = "a reload is under way";

impl State {
    /// A change begins.
    pub fn begin(&mut self) {
        self.busy = true;
        self.view = Some(ReloadView {
            steps: Vec::new(),
            state: ReloadState::Running,
            elapsed: std::time::Duration::ZERO,
        });
    }

    /// Ends a probation that is watched; gives what would have come back.
    pub fn end_trial(&mut self, state: ProbationState) -> Option<Setup> {
        let trial = self.trial.as_mut().filter(|t| t.is_watching())?;
        trial.view.state = state;
        Some(trial.view.fallback.clone())
    }

    /// What ran did lately: over a time as long as `terms` ask for, or since its start.
    pub fn baseline(&self, engine: &Engine, terms: &Terms) -> Baseline {
        let now = engine.reading();
        let start = self.change_log.since();
        let window = engine.reading_before(now.at.saturating_sub(terms.lasts));
        let from = window.filter(|w| w.at > start.at);
        let from = from.unwrap_or_else(|| start.clone());
        let graded = |period| self.change_log.graded(period);
        let mut marks = engine.readings_between(from.at, now.at);
        marks.insert(0, from.clone());
        let pieces = marks.windows(2).map(|pair| graded(pair[1].since(&pair[0])));
        Baseline {
            pieces: pieces.collect(),
            whole: graded(now.since(&from)),
        }
    }
}
