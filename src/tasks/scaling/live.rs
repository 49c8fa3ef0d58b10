//! See [`LiveScaling`].

use std::io;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use divisi::allocation::Matrix;
use divisi::deployment::{Generation, HandoverObserver};
use divisi::lock::Leaf;
use divisi::session::{
    PolicyComparison, Refusal, ScalingChange, ScalingView, SessionRefusal, TaskScaling,
};
use divisi_modelless::placement::HostedInstances;
use divisi_modelless::policies::PolicyChoice;
use divisi_modelless::states::VariantState;
use divisi_modelless::variants::VariantIndex;

use super::busy::{BusyGroups, GroupSeen, WorkerCounts};
use super::comparison::{PolicyTrial, WINDOW};
use super::gaps::DeviceGaps;
use super::handover::VariantHandover;
use super::hosted_models::HostedModels;
use super::planned::PlannedVariants;
use super::record::ScalingRecord;
use super::scaler::VariantScaler;
use super::words;
use crate::routing::{LiveRouter, StreamInterval, TaskRouter};
use crate::served::{RunningVariant, ServedTasks};

/// The time between two decisions.
const TICK: Duration = Duration::from_secs(1);
/// Why a policy decides nothing after somebody else changed what runs.
const BY_HAND: &str = "what runs was changed by hand: choose a policy to let it decide again";

/// Loads variants by a policy as long as it is there.
pub struct LiveScaling {
    router: Arc<LiveRouter>,
    state: Arc<Leaf<SharedState>>,
}

/// The state that whoever watches reads and asks for.
struct SharedState {
    policy: PolicyChoice,
    /// Another policy that was asked for.
    asked: Option<PolicyChoice>,
    record: ScalingRecord,
    planned: PlannedVariants,
    /// The variants that offline jobs run by.
    of_jobs: Vec<VariantIndex>,
    gaps: DeviceGaps,
    comparison: Option<PolicyComparison>,
}

/// The state that the deciding thread keeps from one second to the next.
struct ScalingThread {
    scaler: VariantScaler,
    busy: BusyGroups,
    /// The work of each group in the last second.
    seen: Vec<GroupSeen>,
    /// The matrix that runs since it was last decided on, or seen.
    known: (u64, Matrix),
    last: Duration,
    handover: Arc<VariantHandover>,
}

impl LiveScaling {
    /// Begins to load the variants of a router by a policy.
    ///
    /// # Errors
    /// The thread does not start.
    pub fn start(router: Arc<LiveRouter>, policy: PolicyChoice) -> io::Result<Arc<Self>> {
        router.follow();
        let running = router.deployment().running();
        let tasks = Arc::clone(router.router().tasks());
        let variants = variants(&tasks, &running);
        let devices = running.engine.devices();
        let scaler = VariantScaler::new(tasks, policy, devices, &variants);
        let state = SharedState {
            policy,
            asked: None,
            record: ScalingRecord::default(),
            planned: scaler.planned().clone(),
            of_jobs: Vec::new(),
            gaps: DeviceGaps::idle(devices.iter().len()),
            comparison: None,
        };
        let scaling = Arc::new(LiveScaling {
            state: Arc::new(Leaf::new(state)),
            router,
        });
        let handover = Arc::new(VariantHandover::new(Arc::clone(scaling.router.router())));
        let told = Arc::clone(&handover) as Arc<dyn HandoverObserver>;
        scaling.router.deployment().observe(told);
        let mut thread = ScalingThread {
            handover,
            known: known(&running),
            last: scaling.router.router().now(),
            busy: BusyGroups::default(),
            seen: Vec::new(),
            scaler,
        };
        let served = Arc::downgrade(&scaling);
        let spawned = thread::Builder::new().name("scaling".into());
        spawned.spawn(move || thread.run(&served))?;
        Ok(scaling)
    }

    /// Returns the router whose variants are loaded.
    pub fn router(&self) -> &Arc<LiveRouter> {
        &self.router
    }

    /// Has variants on every device that offline jobs run by.
    pub fn host_for_jobs(&self, variants: Vec<VariantIndex>) {
        self.state.lock().of_jobs = variants;
    }

    /// Returns the time that queries leave of devices.
    pub fn gaps(&self) -> DeviceGaps {
        self.state.lock().gaps
    }

    /// Takes what is to be compared, and notes that it is.
    fn begin_trial(&self) -> Result<PolicyTrial, SessionRefusal> {
        let until = self.router.router().now();
        let from = until.saturating_sub(WINDOW);
        let (planned, since, initial) = {
            let state = self.state.lock();
            let under_way = state.comparison.as_ref();
            if under_way.is_some_and(|comparison| comparison.outcomes.is_empty()) {
                return Err(SessionRefusal::Comparing);
            }
            let hosted = &state.record.hosted;
            let at = hosted.partition_point(|(since, _)| *since <= from);
            let initial = hosted.get(at.saturating_sub(1)).or(hosted.front());
            let (since, initial) = initial.cloned().ok_or(SessionRefusal::NothingAsked)?;
            (state.planned.clone(), since, initial)
        };
        let from = from.max(since);
        let asked = self.router.router().asked(from);
        // Of many queries the older ones are not kept.
        let from = asked.arrivals.first().map_or(from, |first| first.at);
        let trial = PolicyTrial::new(planned, initial, asked, (from, until));
        let trial = trial.ok_or(SessionRefusal::NothingAsked)?;
        let (over, queries) = trial.size();
        self.state.lock().comparison = Some(PolicyComparison {
            over,
            queries,
            outcomes: Vec::new(),
        });
        Ok(trial)
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

impl ScalingThread {
    fn run(&mut self, served: &Weak<LiveScaling>) {
        loop {
            thread::sleep(TICK);
            let Some(scaling) = served.upgrade() else {
                return;
            };
            self.tick(&scaling);
        }
    }

    fn tick(&mut self, scaling: &LiveScaling) {
        let router = scaling.router.router();
        let now = router.now();
        let interval = now.saturating_sub(self.last);
        self.last = now;
        scaling.router.follow();
        let running = scaling.router.deployment().running();
        self.take_policy(scaling, &running);
        let streams = router.interval(interval);
        let step = self.decide(scaling, &running, (now, interval), &streams);
        let gaps = self.gaps(router, &running, &streams, interval);
        {
            let mut state = scaling.state.lock();
            let oldest = now.saturating_sub(WINDOW);
            state.record.second(router.tasks(), &streams);
            state.record.considered = words::considered(router.tasks(), &step.decision);
            state.record.hosts(now, self.scaler.hosted(), oldest);
            state.record.loaded = words::loaded(router.tasks(), &self.scaler);
            state.gaps = gaps;
        }
        if let Some(wanted) = step.wanted {
            self.apply(scaling, &running, wanted);
        }
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
        let gaps = DeviceGaps::of(catalog, &router.running(), streams, (busy, devices));
        let interfered = |state| state == VariantState::Interfered;
        DeviceGaps {
            interfered: self.scaler.states().any(interfered),
            ..gaps
        }
    }

    /// Takes the policy that was asked for. Where somebody else changed what runs, none decides until
    /// one is asked for again.
    fn take_policy(&mut self, scaling: &LiveScaling, running: &Generation) {
        let asked = scaling.state.lock().asked.take();
        let now = known(running);
        let mut is_held = false;
        if now != self.known {
            let devices = running.engine.devices();
            let tasks = scaling.router.router().tasks();
            self.scaler.follow(devices, &variants(tasks, running));
            self.known = now;
            is_held = self.scaler.choice() != PolicyChoice::Static;
            self.scaler.choose(PolicyChoice::Static);
        }
        if let Some(choice) = asked {
            self.scaler.choose(choice);
        }
        let mut state = scaling.state.lock();
        state.policy = self.scaler.choice();
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
        (now, interval): (Duration, Duration),
        streams: &[StreamInterval],
    ) -> super::ScalerStep {
        let router = scaling.router.router();
        let workers = running.engine.telemetry().observe().workers;
        let workers: Vec<_> = workers
            .iter()
            .map(|worker| {
                let counts = WorkerCounts {
                    seconds: worker.seconds,
                    samples: worker.samples,
                    batches: worker.batches,
                };
                (worker.spec.device, worker.spec.member, counts)
            })
            .collect();
        let tallies = router.variant_tallies();
        let groups = router.tasks().groups().iter();
        let answered = groups.map(|group| {
            let of_group = group.variants.iter().map(|at| tallies[at.get()].samples);
            of_group.sum()
        });
        let (tasks, engine) = (router.tasks(), (running.number, &*running.catalogue));
        self.seen = self.busy.seen(tasks, engine, &workers, answered.collect());
        let of_jobs = scaling.state.lock().of_jobs.clone();
        self.scaler.host_for_jobs(of_jobs);
        let demands: Vec<_> = streams.iter().map(|stream| stream.demand.clone()).collect();
        let queued = router.queued();
        self.scaler
            .decide(now, interval, &demands, (&self.seen, &queued))
    }

    /// Serves what is wanted, and tells what became of it.
    fn apply(&mut self, scaling: &LiveScaling, running: &Generation, wanted: HostedInstances) {
        let began = scaling.router.router().now();
        let tasks = scaling.router.router().tasks();
        let what = words::difference(tasks, self.scaler.hosted(), &wanted);
        let served = serve((&scaling.router, &self.handover), running, &wanted);
        let now = scaling.router.router().now();
        match &served {
            Ok(_) => {
                self.scaler.applied(now, wanted);
                self.known = known(&scaling.router.deployment().running());
            }
            Err(_) => self.scaler.refused(now),
        }
        // Where the same members go on in the same batches, nothing was changed.
        if matches!(served, Ok(false)) {
            return;
        }
        let mut state = scaling.state.lock();
        state.record.change(ScalingChange {
            at: running.engine.telemetry().now(),
            policy: self.scaler.choice().name().to_owned(),
            what,
            outcome: served.map(|_| now - began),
        });
    }
}

/// Lets a deployment serve instances. Returns whether that is something else than it served.
fn serve(
    (router, handover): (&LiveRouter, &VariantHandover),
    running: &Generation,
    wanted: &HostedInstances,
) -> Result<bool, String> {
    let (deployment, tasks) = (router.deployment(), router.router().tasks());
    let devices = running.engine.devices();
    let arranged = HostedModels::new(tasks, deployment.name(), wanted, devices);
    let arranged = arranged.map_err(|why| why.to_string())?;
    let all = 0..tasks.groups().len();
    let leaving: Vec<usize> = all.filter(|at| !arranged.groups.contains(at)).collect();
    handover.leaving(leaving);
    let served = deployment.serve(arranged.entries, arranged.matrix);
    router.refresh();
    served.map_err(|why| why.to_string())
}

fn known(running: &Generation) -> (u64, Matrix) {
    (running.number, running.engine.matrix())
}

fn variants(tasks: &ServedTasks, running: &Generation) -> Vec<RunningVariant> {
    let engine = &running.engine;
    tasks.running(&running.catalogue, &engine.matrix(), engine.devices())
}
