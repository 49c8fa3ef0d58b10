//! The thread that decides once a second and applies its decisions.

use std::io;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use divisi_engine::deployment::{Deployment, Generation, ServingNumber};
use divisi_modelless::demands::QueryStream;
use divisi_modelless::placement::HostedInstances;
use divisi_modelless::policies::PolicyChoice;
use divisi_modelless::states::VariantState;
use divisi_modelless::variants::VariantIndex;
use divisi_runtime::device::host::HostWatch;

use super::busy::{BusyGroups, GroupSeen, seen_groups};
use super::comparison::WINDOW;
use super::evidence::{ChangeEvidence, FailedChange, HostedVariants};
use super::gaps::DeviceGaps;
use super::host::OthersSeen;
use super::live::LiveScaling;
use super::planning::behind_queries;
use super::record;
use super::registrations::{RegistrationFollower, TaskRegistrations};
use super::scaler::{ScalerStep, VariantScaler};
use super::seconds::QuerySecond;
use super::watching::ObservedWork;
use super::words;
use crate::routing::{LiveRouter, LoadRequests, StreamInterval, TaskRouter, running_variants};

/// The time between two decisions.
const TICK: Duration = Duration::from_secs(1);
/// The reason why a policy is suspended after another change of the running setup.
const BY_HAND: &str = "an operator, a client or a lost device changed the running setup; choose a policy to resume scaling";

/// The state of the deciding thread.
pub(super) struct ScalingThread {
    pub(super) scaler: VariantScaler,
    busy: BusyGroups,
    /// The work of each group in the last second.
    seen: Vec<GroupSeen>,
    /// The running generation and matrix, as last decided or observed.
    pub(super) known: ServingNumber,
    last: Duration,
    follower: RegistrationFollower,
    pub(super) evidence: ChangeEvidence,
    /// A change to roll back.
    pub(super) failed: Option<FailedChange>,
    host: HostWatch,
    /// The load of the host in the last second.
    others: OthersSeen,
    /// The instances before the recent changes that changed only shares.
    pub(super) shares_since: Option<HostedInstances>,
}

impl ScalingThread {
    /// Starts with the running setup of a router's deployment.
    pub(super) fn new(
        router: &Arc<LiveRouter>,
        policy: PolicyChoice,
        registrations: Option<Arc<dyn TaskRegistrations>>,
    ) -> Self {
        router.follow();
        let running = router.deployment().running();
        let tasks = Arc::clone(router.router().tasks());
        let variants = running_variants(&tasks, &running);
        ScalingThread {
            scaler: VariantScaler::new(tasks, policy, running.engine.devices(), &variants),
            busy: BusyGroups::default(),
            seen: Vec::new(),
            known: running.serving(),
            last: router.router().now(),
            follower: RegistrationFollower::new(registrations),
            evidence: ChangeEvidence::default(),
            failed: None,
            host: HostWatch::start(),
            others: OthersSeen::default(),
            shares_since: None,
        }
    }

    /// Decides until the scaling is dropped, and loads variants when queries need them.
    pub(super) fn run(&mut self, served: &Weak<LiveScaling>, loads: &LoadRequests) {
        let mut decided = Instant::now();
        loop {
            let wanted = loads.next(TICK.saturating_sub(decided.elapsed()));
            let Some(scaling) = served.upgrade() else {
                return;
            };
            if !wanted.is_empty() {
                self.load(&scaling, &wanted);
            }
            if decided.elapsed() >= TICK {
                decided = Instant::now();
                self.tick(&scaling);
            }
        }
    }

    /// Loads variants that queries wait for, unless there is no room or the change is barred.
    fn load(&mut self, scaling: &LiveScaling, wanted: &[VariantIndex]) {
        let (router, loads) = (scaling.router.router(), scaling.router.loads());
        scaling.router.follow();
        for variant in wanted {
            let running = scaling.router.deployment().running();
            self.take_policy(scaling, &running);
            // A policy that was stopped, such as by a change by hand, loads nothing.
            let is_held = self.scaler.choice() == PolicyChoice::Static
                || self.failed.is_some()
                || self.scaler.is_refused(router.now());
            let more = self.scaler.with_one_more(*variant).filter(|_| !is_held);
            let more = more.map(|more| self.allowed(router.now(), more));
            if let Some(more) = more.filter(|more| more.total(*variant) > 0) {
                self.apply(scaling, &running, more);
            }
        }
        loads.end(wanted);
    }

    fn tick(&mut self, scaling: &LiveScaling) {
        self.follow_registrations(scaling);
        scaling.router.count_second();
        let router = &scaling.router.router();
        let now = router.now();
        let interval = now.saturating_sub(self.last);
        self.last = now;
        scaling.router.follow();
        let running = scaling.router.deployment().running();
        self.take_policy(scaling, &running);
        self.others = OthersSeen::since(&mut self.host, running.engine.devices());
        let streams = router.interval(interval);
        let step = match self.decide(scaling, &running, now, interval, &streams) {
            Ok(step) => step,
            // The next second tries again.
            Err(why) => {
                return tracing::warn!(%why, "cannot start a thread for a policy's decision");
            }
        };
        let gaps = self.gaps(router, &running, &streams, interval);
        let (hosted, considered) = (self.scaler.hosted(), &step.decision.considered);
        let considered = self.evidence.barred().considered(now, hosted, considered);
        let (unreachable, costs) = (router.unreachable(), record::costs(&scaling.router));
        {
            let mut state = scaling.state.lock();
            let oldest = now.saturating_sub(WINDOW);
            let record = &mut state.record;
            record.second(router.tasks(), &streams, unreachable, &costs);
            state.record.considered = words::considered(router.tasks(), &considered);
            state.record.hosts(now, self.scaler.hosted(), oldest);
            state.record.loaded = words::loaded(router.tasks(), &self.scaler);
            state.gaps = gaps;
        }
        let failed = self.judge(scaling, now, &streams);
        self.failed = failed.or(self.failed.take());
        match step.wanted.map(|wanted| self.allowed(now, wanted)) {
            _ if self.failed.is_some() => self.take_back(now, scaling, &running),
            Some(wanted) if wanted != *self.scaler.hosted() => {
                self.apply(scaling, &running, wanted);
            }
            _ => {}
        }
    }

    /// Serves the tasks as they are registered now, and starts over with their variants.
    fn follow_registrations(&mut self, scaling: &LiveScaling) {
        let (live, follower) = (&scaling.router, &self.follower);
        if !follower.is_due(live.router().now()) {
            return;
        }
        let changed = behind_queries(|| follower.changed(live));
        let changed = changed.unwrap_or_else(|why| Err(why.to_string()));
        let served = self.follower.serve(live, changed);
        let Some(router) = served else {
            return;
        };
        // The requested variants are those of the earlier registrations.
        live.loads().set_open(false);
        let (running, tasks) = (live.deployment().running(), Arc::clone(router.tasks()));
        let (devices, hosted) = (running.engine.devices(), running_variants(&tasks, &running));
        self.scaler = VariantScaler::new(tasks, self.scaler.choice(), devices, &hosted);
        (self.busy, self.seen) = (BusyGroups::default(), Vec::new());
        self.known = running.serving();
        self.leave_failed(live.deployment());
        let evidence = self.evidence.forget("the tasks were registered again");
        evidence.map(|evidence| live.changes().judge(evidence));
        self.evidence = ChangeEvidence::default();
        (self.failed, self.shares_since) = (None, None);
        scaling.state.lock().take_over(router, devices);
    }

    /// Forgets a failed change that could not be rolled back yet, and says so.
    fn leave_failed(&mut self, deployment: &Deployment) {
        if let Some(failed) = self.failed.take() {
            deployment.note(format!(
                "a failed change of the policy stays: {}",
                failed.why
            ));
        }
    }

    /// Judges the last change by the outcomes of a second. Returns it if it did worse.
    fn judge(
        &mut self,
        scaling: &LiveScaling,
        now: Duration,
        streams: &[StreamInterval],
    ) -> Option<FailedChange> {
        let planned = |stream: &QueryStream| self.scaler.stream(stream);
        let second = QuerySecond::new(streams, planned, self.others.most);
        let served = HostedVariants {
            catalog: self.scaler.catalog(),
            hosted: self.scaler.hosted(),
        };
        let evidence = self.evidence.second(now, served, second)?;
        let verdict = scaling.router.changes().judge(evidence);
        self.evidence.judged(now, verdict)
    }

    /// Returns the wanted instances without rolled back changes.
    fn allowed(&self, now: Duration, wanted: HostedInstances) -> HostedInstances {
        let (catalog, hosted) = (self.scaler.catalog(), self.scaler.hosted());
        self.evidence.barred().allowed(now, catalog, hosted, wanted)
    }

    fn gaps(
        &self,
        router: &TaskRouter,
        running: &Generation,
        streams: &[StreamInterval],
        interval: Duration,
    ) -> DeviceGaps {
        let busy = self.seen.iter().map(|group| group.busy).sum::<f64>();
        let busy = busy / interval.as_secs_f64().max(1e-3);
        let devices = running.engine.devices().iter().len();
        let catalog = router.tasks().catalog();
        let gaps = DeviceGaps::from_load(catalog, &router.running(), streams, busy, devices);
        let interfered = |state| state == VariantState::Interfered;
        DeviceGaps {
            interfered: self.scaler.states().any(interfered),
            ..gaps
        }
    }

    /// Takes the requested policy. After another change of the running setup, policies are
    /// suspended until one is requested.
    fn take_policy(&mut self, scaling: &LiveScaling, running: &Generation) {
        let asked = scaling.state.lock().asked.take();
        let now = running.serving();
        let mut is_held = false;
        if now != self.known {
            let devices = running.engine.devices();
            let router = scaling.router.router();
            let variants = running_variants(router.tasks(), running);
            self.scaler.follow(devices, &variants);
            self.known = now;
            self.evidence.end();
            (self.failed, self.shares_since) = (None, None);
            is_held = self.scaler.choice() != PolicyChoice::Static;
            self.scaler.choose(PolicyChoice::Static);
        }
        if let Some(choice) = asked {
            self.scaler.choose(choice);
            self.leave_failed(scaling.router.deployment());
            let evidence = self.evidence.forget("another policy was chosen");
            evidence.map(|evidence| scaling.router.changes().judge(evidence));
            (self.failed, self.shares_since) = (None, None);
        }
        let loads = self.scaler.choice() != PolicyChoice::Static;
        scaling.router.loads().set_open(loads);
        let now = scaling.router.router().now();
        let mut state = scaling.state.lock();
        state.note_policy(self.scaler.choice(), now);
        match asked {
            Some(_) => state.record.held = None,
            None if is_held => state.record.held = Some(BY_HAND.to_owned()),
            None => {}
        }
    }

    fn decide(
        &mut self,
        scaling: &LiveScaling,
        running: &Generation,
        now: Duration,
        interval: Duration,
        streams: &[StreamInterval],
    ) -> io::Result<ScalerStep> {
        let router = scaling.router.router();
        self.seen = seen_groups(&mut self.busy, &router, running);
        let of_jobs = scaling.state.lock().of_jobs.clone();
        self.scaler.host_for_jobs(of_jobs);
        let demands: Vec<_> = streams.iter().map(|stream| stream.demand.clone()).collect();
        let queued = router.queued();
        let seen = ObservedWork {
            groups: &self.seen,
            queued: &queued,
            others: &self.others.devices,
        };
        let scaler = &mut self.scaler;
        behind_queries(move || scaler.decide(now, interval, &demands, seen))
    }
}
