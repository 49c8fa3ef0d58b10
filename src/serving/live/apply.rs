//! Plans and applies setups, while serving goes on.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use crate::allocation::{Cell, Matrix};
use crate::ensemble::{BatchSize, Combination, CombinationRule, PolicyKind};
use crate::serving::batch::WorkerId;
use crate::serving::events::EngineEvent;
use crate::serving::plan::{
    ApplyError, ApplyStep, NoFallback, Plan, PlanBasis, PlanError, PlanLimits, SettingChange,
};
use crate::serving::reload::{Reload, ReloadAction, ReloadEvent, ReloadPlan};
use crate::serving::scheduler::WorkerSpec;
use crate::serving::setup::Setup;

use super::drivers::DeviceFault;
use super::engine::Engine;
use super::promise::Failure;

/// Takes the steps of a change as they are made.
type Watch<'a> = &'a mut dyn FnMut(ApplyStep);

impl Engine {
    /// Returns what runs.
    pub fn setup(&self) -> Setup {
        Setup {
            matrix: self.matrix(),
            policy: self.policy(),
            combination: self.combination(),
            segment_size: self.segment_size(),
        }
    }

    /// Works out what applying a setup would change, and moves nothing.
    ///
    /// # Errors
    /// It cannot be applied: it does not fit, or belongs to something else.
    pub fn plan(&self, to: &Setup) -> Result<Plan, PlanError> {
        self.plans.fetch_add(1, Ordering::Relaxed);
        let limits = PlanLimits {
            ensemble: &self.shared.ensemble,
            devices: &self.shared.devices,
            footprints: &self.footprints,
            most_segment: self.capacity(),
        };
        Plan::new(self.plan_basis(), to, &limits)
    }

    /// Returns how many plans were made since the start.
    pub fn plans_made(&self) -> u64 {
        self.plans.load(Ordering::Relaxed)
    }

    fn plan_basis(&self) -> PlanBasis {
        let setup = self.setup();
        PlanBasis {
            own_rule: self.shared.has_own_rule(),
            lost: self.lost_devices(),
            retired: self.retired(&setup.matrix),
            left: self.reserve.left(),
            setup,
        }
    }

    /// Applies a plan while serving: the workers first, since only they can fail, then the
    /// settings. Tells `watch` each step and returns the plan.
    ///
    /// # Errors
    /// It is stale, or a worker does not start; what ran before serves.
    pub fn apply(&self, plan: Plan, watch: Watch<'_>) -> Result<Plan, ApplyError> {
        let _one_at_a_time = self.applying.lock();
        if !plan.is_of(&self.plan_basis()) {
            return Err(ApplyError::Stale);
        }
        self.carry_out(plan, watch)
    }

    /// Plans and applies a setup with no other change in between.
    ///
    /// # Errors
    /// It cannot be applied, or a worker does not start; what ran before serves.
    pub fn apply_setup(&self, to: &Setup, watch: Watch<'_>) -> Result<Plan, ApplyError> {
        let _one_at_a_time = self.applying.lock();
        self.carry_out(self.plan(to)?, watch)
    }

    /// Sets the settings of a plan at once and leaves the workers as they are. It does not
    /// wait for a change under way.
    pub fn adjust(&self, plan: &Plan) {
        for change in plan.settings() {
            self.set(change);
        }
    }

    /// Lets a simulated device or a GPU disappear with everything on it, and moves to the
    /// matrix that `fallback` returns for the one that ran. Batches it was running are
    /// run by others; no request is lost by it, unless there is no fallback. Of a GPU that
    /// was lost by itself ([`Engine::on_loss`]) only the workers are moved.
    ///
    /// # Errors
    /// The device is a CPU partition or gone already, or there is no fallback: members that
    /// had no other worker then have none, and the door is closed.
    pub fn evacuate(
        &self,
        device: usize,
        fallback: &dyn Fn(&Matrix) -> Result<Matrix, NoFallback>,
        watch: Watch<'_>,
    ) -> Result<Plan, ApplyError> {
        let _one_at_a_time = self.applying.lock();
        let awaited = self.begin_loss(device)?;
        // Until the fallback is reached members may be without a worker.
        let _open = OpenDoor::hold(self);
        if !awaited {
            self.inject(device, DeviceFault::Lost)?;
        }
        // Its workers may need the memory that somebody measures in.
        self.reserve.take_back(self.options.drain_limit);
        let running = self.setup();
        let matrix = fallback(&running.matrix)?;
        let plan = self.plan(&running.with_matrix(matrix))?;
        self.move_workers(&plan, watch)?;
        Ok(plan)
    }

    fn carry_out(&self, plan: Plan, watch: Watch<'_>) -> Result<Plan, ApplyError> {
        self.move_workers(&plan, watch)?;
        for change in plan.settings() {
            self.set(change);
            watch(ApplyStep::Set(change.clone()));
        }
        Ok(plan)
    }

    fn set(&self, change: &SettingChange) {
        match change {
            SettingChange::Policy(_, policy) => self.follow_policy(*policy),
            SettingChange::Combination(_, new) => self.shared.combine_by(Combination::clone(new)),
            SettingChange::Segment(_, size) => {
                self.shared.core().set_segment(*size);
                self.shared.wake();
                self.shared.poke_timer();
            }
        }
    }

    pub(super) fn follow_policy(&self, policy: PolicyKind) {
        self.shared.core().set_policy(self.shared.now(), policy);
        self.shared.wake();
        self.shared.poke_timer();
    }

    /// Returns the policy in force.
    pub fn policy(&self) -> PolicyKind {
        self.shared.core().policy()
    }

    /// Returns how requests that are let in now are combined.
    pub fn combination(&self) -> Combination {
        self.shared.combination()
    }

    /// Combines requests that are let in from now on by a rule of the caller's own, until
    /// a combination is set. [`Engine::combination`] goes on returning the last one that was
    /// set, and members are not weighed. A rule that panics fails the requests that it was
    /// to combine, with the reason.
    pub fn combine_with(&self, rule: Arc<dyn CombinationRule>) {
        self.shared.combine_with(rule);
    }

    /// Returns the most samples in a segment, under `segment`.
    pub fn segment_size(&self) -> usize {
        self.shared.core().segment()
    }

    /// Returns the entries of the running matrix whose worker was retired.
    pub fn retired(&self, matrix: &Matrix) -> Vec<Cell> {
        let staying: HashSet<(usize, usize)> = {
            let core = self.shared.core();
            let staying = core.staying();
            staying.map(|spec| (spec.device, spec.member)).collect()
        };
        matrix
            .workers()
            .map(|(cell, _)| cell)
            .filter(|cell| !staying.contains(&(cell.device, cell.member)))
            .collect()
    }

    fn move_workers(&self, plan: &Plan, watch: Watch<'_>) -> Result<(), ApplyError> {
        if plan.reload().is_empty() {
            return Ok(());
        }
        let _open = OpenDoor::hold(self);
        self.reload(plan.reload(), watch)?;
        *self.matrix.lock() = plan.to().matrix.clone();
        Ok(())
    }

    fn reload(&self, plan: &ReloadPlan, watch: Watch<'_>) -> Result<(), ApplyError> {
        // What drains early may share weights with what is then built.
        let starts = plan.starts.iter().map(|(cell, _)| cell.member);
        let _kept: Vec<_> = starts
            .filter_map(|member| self.shared.networks.factory.hold(member))
            .collect();
        let mut reload = Reload::new(plan.clone());
        let mut built = Vec::new();
        let mut event = ReloadEvent::Start;
        loop {
            let action = reload.step(event);
            if let Some(step) = ApplyStep::of(&action) {
                watch(step);
            }
            event = match action {
                ReloadAction::Done => return Ok(()),
                ReloadAction::Failed(reason) => return Err(ApplyError::Worker(reason)),
                action => self.act(action, &mut built),
            };
        }
    }

    fn act(&self, action: ReloadAction, built: &mut Vec<WorkerSpec>) -> ReloadEvent {
        match action {
            ReloadAction::Drain(cell) => self.drain(cell, built),
            ReloadAction::Build(cell, size) => return self.build_new(cell, size, built),
            ReloadAction::Activate => self.activate(built),
            ReloadAction::Discard => {
                for spec in built.drain(..) {
                    self.shared.remove_worker(spec.device, spec.id);
                }
            }
            ReloadAction::Restore(cell, size) => {
                let mut restored = Vec::new();
                let event = self.build_new(cell, size, &mut restored);
                self.activate(&restored);
                return event;
            }
            ReloadAction::Done | ReloadAction::Failed(_) => {}
        }
        ReloadEvent::Done
    }

    fn build_new(&self, cell: Cell, size: BatchSize, built: &mut Vec<WorkerSpec>) -> ReloadEvent {
        if self.shared.is_stopping() {
            return ReloadEvent::Failed("the system is stopping".into());
        }
        let spec = self.new_spec(cell, size);
        match self.shared.build_worker(spec) {
            Ok(()) => {
                built.push(spec);
                ReloadEvent::Done
            }
            Err(error) => ReloadEvent::Failed(error.to_string()),
        }
    }

    fn activate(&self, built: &[WorkerSpec]) {
        {
            let mut core = self.shared.core();
            for &spec in built {
                core.add_worker(self.shared.now(), spec);
            }
        }
        self.shared.wake();
    }

    /// Drains the workers at a cell that were not built by this reload.
    fn drain(&self, cell: Cell, built: &[WorkerSpec]) {
        let old: Vec<WorkerId> = {
            let mut core = self.shared.core();
            let old: Vec<WorkerId> = core
                .staying()
                .filter(|s| s.device == cell.device && s.member == cell.member)
                .map(|s| s.id)
                .filter(|id| built.iter().all(|b| b.id != *id))
                .collect();
            for &id in &old {
                core.drain_worker(id);
            }
            old
        };
        // What they had taken but not started is for others now.
        self.shared.wake();
        for id in old {
            self.await_drained(id);
            let now = self.shared.now();
            let stuck = self.shared.core().remove_worker(now, id);
            let reason = "its worker was stopped and did not finish in time";
            self.shared
                .deliver_failures(stuck, &Failure::Worker(reason.into()));
            self.shared.remove_worker(cell.device, id);
        }
        self.shared.wake();
    }

    fn await_drained(&self, id: WorkerId) {
        let limit = Instant::now() + self.options.drain_limit;
        while !self.shared.core().is_drained(id) {
            if Instant::now() >= limit || self.shared.is_stopping() {
                self.shared
                    .emit(EngineEvent::WorkerNotDrained { worker: id });
                return;
            }
            thread::park_timeout(Duration::from_micros(200));
        }
    }
}

/// Keeps the door open while members may be without a worker. Dropping it looks who serves.
struct OpenDoor<'a>(&'a Engine);

impl<'a> OpenDoor<'a> {
    fn hold(engine: &'a Engine) -> Self {
        engine.shared.core().set_reloading(true);
        OpenDoor(engine)
    }
}

impl Drop for OpenDoor<'_> {
    fn drop(&mut self) {
        let shared = &self.0.shared;
        // A GPU may have been lost meanwhile whose workers are still to be moved.
        let awaited = shared.losses.are_awaited();
        shared.core().set_reloading(awaited);
        // Where even an old worker did not start again, its member has nobody left.
        shared.close_if_orphaned();
        shared.core().reopen_if_served();
    }
}
