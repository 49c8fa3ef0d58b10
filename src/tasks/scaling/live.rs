//! Runs a scaling policy: see [`LiveScaling`].

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use divisi_modelless::policies::PolicyChoice;
use divisi_modelless::variants::VariantIndex;
use divisi_runtime::device::Devices;
use divisi_runtime::lock::Leaf;
use divisi_session::{
    CountedOutcome, PolicyComparison, Refusal, ScalingView, SessionRefusal, TaskScaling,
};

use super::comparison::{PolicyTrial, WINDOW};
use super::deciding::ScalingThread;
use super::gaps::DeviceGaps;
use super::planned::PlannedVariants;
use super::record::ScalingRecord;
use super::registrations::TaskRegistrations;
use crate::routing::{LiveRouter, TaskRouter};

/// Loads variants according to a policy until it is dropped.
pub struct LiveScaling {
    pub(super) router: Arc<LiveRouter>,
    pub(super) state: Arc<Leaf<SharedState>>,
}

/// The state shared with sessions.
pub(super) struct SharedState {
    pub(super) policy: PolicyChoice,
    /// The time since when the policy runs, by the router's clock.
    pub(super) since: Duration,
    /// A requested policy.
    pub(super) asked: Option<PolicyChoice>,
    pub(super) record: ScalingRecord,
    /// The router of the registrations to which all variants here belong.
    router: Arc<TaskRouter>,
    planned: PlannedVariants,
    /// The variants that run offline jobs.
    pub(super) of_jobs: Vec<VariantIndex>,
    pub(super) gaps: DeviceGaps,
    comparison: Option<PolicyComparison>,
}

impl SharedState {
    /// Records the current policy.
    pub(super) fn note_policy(&mut self, policy: PolicyChoice, now: Duration) {
        if policy != self.policy {
            (self.policy, self.since) = (policy, now);
        }
    }

    /// Returns the counted queries of the period `over` before `until`, by the router's clock.
    fn counted(&self, until: Duration, over: Duration) -> CountedOutcome {
        let seconds = over.as_secs_f64().ceil() as usize;
        CountedOutcome {
            policy: self.policy.name().to_owned(),
            whole: self.since <= until.saturating_sub(over),
            queries: self.record.counted(seconds),
        }
    }
}

impl LiveScaling {
    /// Starts to load the variants of a router according to a policy.
    ///
    /// # Errors
    /// Returns an error if the thread cannot be started.
    pub fn start(router: Arc<LiveRouter>, policy: PolicyChoice) -> io::Result<Arc<Self>> {
        LiveScaling::start_following(router, policy, None)
    }

    /// Starts as [`LiveScaling::start`], and follows changes of the registrations of the router's
    /// tasks.
    ///
    /// # Errors
    /// Returns an error if the thread cannot be started.
    pub fn start_following(
        router: Arc<LiveRouter>,
        policy: PolicyChoice,
        registrations: Option<Arc<dyn TaskRegistrations>>,
    ) -> io::Result<Arc<Self>> {
        let running = router.deployment().running();
        let devices = running.engine.devices();
        let scaling = LiveScaling {
            state: Arc::new(Leaf::new(SharedState {
                policy,
                since: Duration::ZERO,
                asked: None,
                record: ScalingRecord::default(),
                router: router.router(),
                planned: PlannedVariants::new(router.router().tasks().catalog(), devices),
                of_jobs: Vec::new(),
                gaps: DeviceGaps::idle(devices.iter().len()),
                comparison: None,
            })),
            router,
        };
        let scaling = Arc::new(scaling);
        let mut thread = ScalingThread::new(&scaling.router, policy, registrations);
        let served = Arc::downgrade(&scaling);
        let loads = Arc::clone(scaling.router.loads());
        loads.set_open(policy != PolicyChoice::Static);
        let spawned = thread::Builder::new().name("scaling".into());
        spawned.spawn(move || thread.run(&served, &loads))?;
        scaling.keep_time()?;
        Ok(scaling)
    }

    /// Ends the waits of queries in time, while another thread may be loading variants.
    fn keep_time(self: &Arc<Self>) -> io::Result<()> {
        let (served, live) = (Arc::downgrade(self), Arc::downgrade(&self.router));
        let now = move || {
            let live = live.upgrade();
            live.map_or(Duration::MAX, |live| live.router().now())
        };
        let loads = Arc::clone(self.router.loads());
        let spawned = thread::Builder::new().name("waiting".into());
        spawned.spawn(move || {
            while served.strong_count() > 0 {
                loads.keep_time(&now);
            }
            loads.set_open(false);
        })?;
        Ok(())
    }

    /// Returns the router of the loaded variants.
    pub fn router(&self) -> &Arc<LiveRouter> {
        &self.router
    }

    /// Sets the variants of a router for offline jobs, which are then loaded on every device if the
    /// policy makes changes. Variants of earlier registrations are ignored.
    pub fn host_for_jobs(&self, router: &Arc<TaskRouter>, variants: Vec<VariantIndex>) {
        let mut state = self.state.lock();
        if Arc::ptr_eq(&state.router, router) {
            state.of_jobs = variants;
        }
    }

    /// Returns the device time that queries leave.
    pub fn gaps(&self) -> DeviceGaps {
        self.state.lock().gaps
    }

    /// Takes the queries to compare policies with, and marks the comparison as running.
    fn begin_trial(&self) -> Result<PolicyTrial, SessionRefusal> {
        let from = self.router.router().now().saturating_sub(WINDOW);
        let (router, planned, since, initial) = {
            let state = self.state.lock();
            let under_way = state.comparison.as_ref();
            if under_way.is_some_and(|comparison| comparison.outcomes.is_empty()) {
                return Err(SessionRefusal::Comparing);
            }
            let hosted = &state.record.hosted;
            let at = hosted.partition_point(|(since, _)| *since <= from);
            let initial = hosted.get(at.saturating_sub(1)).or(hosted.front());
            let (since, initial) = initial.cloned().ok_or(SessionRefusal::NothingAsked)?;
            let router = Arc::clone(&state.router);
            (router, state.planned.clone(), since, initial)
        };
        let from = from.max(since);
        let asked = router.recorded_queries(from);
        let until = router.now();
        // The oldest of many queries are not kept.
        let from = asked.arrivals.first().map_or(from, |first| first.at);
        let trial = PolicyTrial::new(planned, initial, asked, from, until);
        let trial = trial.ok_or(SessionRefusal::NothingAsked)?;
        let (over, queries) = trial.size();
        let running = self.router.deployment().running();
        let mut state = self.state.lock();
        state.comparison = Some(PolicyComparison {
            at: running.engine.telemetry().now(),
            over,
            queries,
            counted: state.counted(until, over),
            outcomes: Vec::new(),
        });
        drop(state);
        Ok(trial)
    }
}

impl SharedState {
    /// Takes over the router of other registrations, whose variants have other indices.
    pub(super) fn take_over(&mut self, router: Arc<TaskRouter>, devices: &Devices) {
        self.planned = PlannedVariants::new(router.tasks().catalog(), devices);
        self.of_jobs.clear();
        self.record.forget_variants();
        self.router = router;
    }
}

impl TaskScaling for LiveScaling {
    fn view(&self) -> ScalingView {
        let state = self.state.lock();
        let record = &state.record;
        ScalingView {
            policy: state.asked.unwrap_or(state.policy).name().to_owned(),
            policies: PolicyChoice::ALL.map(|p| p.name().to_owned()).to_vec(),
            held: record.held.clone(),
            tasks: record.tasks.clone(),
            changes: record.changes.iter().cloned().collect(),
            considered: record.considered.clone(),
            loaded: record.loaded.clone(),
            comparison: state.comparison.clone(),
            jobs: Vec::new(),
        }
    }

    fn set_policy(&self, name: &str) -> Result<(), Refusal> {
        let choice = PolicyChoice::named(name).ok_or_else(|| SessionRefusal::PolicyUnknown {
            found: name.to_owned(),
            known: PolicyChoice::ALL.map(PolicyChoice::name).join(", "),
        })?;
        self.state.lock().asked = Some(choice);
        Ok(())
    }

    fn compare(&self) -> Result<(), Refusal> {
        let trial = self.begin_trial()?;
        let state = Arc::clone(&self.state);
        let spawned = thread::Builder::new().name("comparison".into());
        let spawned = spawned.spawn(move || {
            let outcomes = PolicyChoice::ALL.map(|policy| trial.outcome(policy));
            if let Some(comparison) = &mut state.lock().comparison {
                comparison.outcomes = outcomes.to_vec();
            }
        });
        if let Err(why) = spawned {
            self.state.lock().comparison = None;
            return Err(SessionRefusal::Thread(why).into());
        }
        Ok(())
    }
}
