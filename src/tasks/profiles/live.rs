//! Watches and repairs the profiles of a serving deployment: see [`LiveProfiles`].

use std::io;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use divisi_engine::search::Control;
use divisi_engine::search::profiling::ProfileCondition;
use divisi_runtime::device::host::{HostLoad, HostWatch};
use divisi_session::{Refusal, ScalingView, TaskScaling};

use super::keeper::{KeptModel, ProfileKeeper};
use super::watch::{ProfileSecond, ProfileStep, ProfileWatch};
use crate::routing::LiveRouter;
use crate::scaling::{BusyGroups, GroupSeen, seen_groups};
use crate::served::ServedTasks;

/// The time between two observations.
const TICK: Duration = Duration::from_secs(1);
/// The time between two checks for queries during a measurement.
const LOOK: Duration = Duration::from_millis(50);
/// The cores' worth of time that an idle server uses at most: jobs, searches and loads use more.
const IDLE_CORES: f64 = 0.1;

/// Watches the profiles of served tasks until it is dropped, and measures doubtful ones again while
/// the server is idle.
pub struct LiveProfiles {
    router: Arc<LiveRouter>,
    /// The scaling and the jobs of the same tasks, which sessions command through this.
    scaling: Arc<dyn TaskScaling>,
    keeper: Arc<dyn ProfileKeeper>,
}

/// The state of the watching thread.
struct ProfileThread {
    /// The registrations to which all groups here belong.
    tasks: Arc<ServedTasks>,
    models: Vec<KeptModel>,
    /// The ensemble of each group of variants, by its number in `models`.
    of_group: Vec<Option<usize>>,
    watch: ProfileWatch,
    busy: BusyGroups,
    host: HostWatch,
}

impl LiveProfiles {
    /// Starts a thread that watches the profiles of a router's tasks. `scaling` loads their variants
    /// and runs their jobs.
    ///
    /// # Errors
    /// Returns an error if the thread cannot be started.
    pub fn start(
        router: Arc<LiveRouter>,
        scaling: Arc<dyn TaskScaling>,
        keeper: Arc<dyn ProfileKeeper>,
    ) -> io::Result<Arc<Self>> {
        let profiles = Arc::new(LiveProfiles {
            router,
            scaling,
            keeper,
        });
        let served = Arc::downgrade(&profiles);
        let mut thread = ProfileThread::new(&profiles);
        let spawned = thread::Builder::new().name("profiles".into());
        spawned.spawn(move || thread.run(&served))?;
        Ok(profiles)
    }

    /// Adds a remark for the operator.
    fn remark(&self, text: String) {
        self.router.deployment().note(text);
    }

    /// Returns a number that changes with every query.
    fn queries(&self) -> u64 {
        let router = self.router.router();
        let answered = router.variant_tallies();
        let answered: u64 = answered.iter().map(|tally| tally.samples).sum();
        let queued = router.queued();
        answered + queued.iter().map(|queued| u64::from(*queued)).sum::<u64>()
    }
}

impl TaskScaling for LiveProfiles {
    fn view(&self) -> ScalingView {
        self.scaling.view()
    }

    fn set_policy(&self, name: &str) -> Result<(), Refusal> {
        self.scaling.set_policy(name)
    }

    fn compare(&self) -> Result<(), Refusal> {
        self.scaling.compare()
    }
}

impl ProfileThread {
    fn new(profiles: &LiveProfiles) -> Self {
        let tasks = Arc::clone(profiles.router.router().tasks());
        let catalog = tasks.catalog();
        let is_served = |model: &KeptModel| {
            let task = catalog.task(&model.task);
            task.is_some_and(|task| catalog.models(task).contains(&model.ensemble))
        };
        let models = profiles.keeper.models().unwrap_or_default();
        let models: Vec<KeptModel> = models.into_iter().filter(is_served).collect();
        let of_group = tasks.groups().iter().map(|group| {
            let number = usize::from(group.model.0);
            let ensemble = catalog.models(group.task).get(number)?;
            let task = catalog.name(group.task);
            let is_own = |model: &KeptModel| model.task == task && model.ensemble == *ensemble;
            models.iter().position(is_own)
        });
        ProfileThread {
            of_group: of_group.collect(),
            tasks: Arc::clone(&tasks),
            watch: ProfileWatch::new(models.iter().map(|model| model.condition)),
            models,
            busy: BusyGroups::default(),
            host: HostWatch::start(),
        }
    }

    fn run(&mut self, served: &Weak<LiveProfiles>) {
        loop {
            thread::sleep(TICK);
            let Some(profiles) = served.upgrade() else {
                return;
            };
            self.second(&profiles);
        }
    }

    fn second(&mut self, profiles: &Arc<LiveProfiles>) {
        let load = self.host.restart();
        let router = profiles.router.router();
        if !Arc::ptr_eq(&self.tasks, router.tasks()) {
            let before = std::mem::replace(self, ProfileThread::new(profiles));
            return self.keep_trust(&before);
        }
        let seen = seen_groups(
            &mut self.busy,
            &router,
            &profiles.router.deployment().running(),
        );
        let queued = router.queued().iter().any(|queued| *queued > 0);
        let answers = seen.iter().any(|group| group.samples > 0);
        let step = self.watch.second(&ProfileSecond {
            now: router.now(),
            is_idle: !queued && !answers && load.as_ref().is_none_or(is_idle),
            // Without counters of load, every measurement is taken for quiet.
            is_quiet: load.as_ref().is_none_or(|load| !load.is_disturbed(None)),
            ratios: &self.ratios(&seen),
        });
        match step {
            Some(ProfileStep::Doubt(number)) => self.doubt(profiles, number),
            Some(ProfileStep::Measure(number)) => self.measure(profiles, number),
            None => {}
        }
    }

    /// Takes over the trust in measured profiles after the registrations changed: a measurement
    /// changes them too.
    fn keep_trust(&mut self, before: &ProfileThread) {
        for (number, model) in self.models.iter().enumerate() {
            let is_same =
                |known: &KeptModel| known.task == model.task && known.ensemble == model.ensemble;
            if let Some(known) = before.models.iter().position(is_same) {
                let until = before.watch.trusted_until(known);
                self.watch.trust_until(number, until);
            }
        }
    }

    /// Returns the ratio of batch times to profiles for each ensemble: that of its group with the
    /// most samples.
    fn ratios(&self, seen: &[GroupSeen]) -> Vec<Option<f64>> {
        let mut most = vec![(0, None); self.models.len()];
        for (group, model) in seen.iter().zip(&self.of_group) {
            let Some(best) = model.and_then(|model| most.get_mut(model)) else {
                continue;
            };
            if group.samples > best.0 {
                *best = (group.samples, Some(group.slowdown));
            }
        }
        most.into_iter().map(|(_, ratio)| ratio).collect()
    }

    fn doubt(&self, profiles: &LiveProfiles, number: usize) {
        let Some(model) = self.models.get(number) else {
            return;
        };
        let KeptModel { task, ensemble, .. } = model;
        let outcome = match profiles.keeper.doubt(model) {
            Ok(()) => "it is measured again when the server is idle".to_owned(),
            Err(why) => format!("marking it failed: {why}"),
        };
        profiles.remark(format!(
            "the profile of `{ensemble}` of task `{task}` is doubtful: batches take other times; \
             {outcome}"
        ));
    }

    /// Measures the profiles of an ensemble again, unless a query comes or the server ends.
    fn measure(&mut self, profiles: &Arc<LiveProfiles>, number: usize) {
        let Some(model) = self.models.get(number) else {
            return;
        };
        let (control, before) = (Control::default(), profiles.queries());
        let measured = thread::scope(|scope| {
            let working = scope.spawn(|| profiles.keeper.measure_again(model, &control));
            while !working.is_finished() {
                thread::sleep(LOOK);
                // With a single reference left, the server has ended.
                if profiles.queries() != before || Arc::strong_count(profiles) == 1 {
                    control.cancel();
                }
            }
            let panicked = |_| Err("the measurement panicked".to_owned());
            working.join().unwrap_or_else(panicked)
        });
        let KeptModel { task, ensemble, .. } = model;
        let condition = match measured {
            Ok(condition) => condition,
            Err(why) => {
                profiles.remark(format!(
                    "measuring `{ensemble}` of task `{task}` again failed: {why}"
                ));
                None
            }
        };
        if condition.is_some_and(ProfileCondition::is_quiet) {
            profiles.remark(format!(
                "the profile of `{ensemble}` of task `{task}` was measured again on a quiet \
                 machine; the server uses it from now on"
            ));
        }
        let now = profiles.router.router().now();
        self.watch.measured(now, number, condition);
        self.host = HostWatch::start();
    }
}

/// Returns whether this process hardly uses the cores.
fn is_idle(load: &HostLoad) -> bool {
    let own: f64 = load.cores.iter().map(|core| core.own).sum();
    own <= IDLE_CORES
}
