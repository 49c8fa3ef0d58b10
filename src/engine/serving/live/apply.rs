//! Plans and applies setups, while serving goes on.
//!
//! A plan checks the whole setup before anything changes. Applying it replaces workers first, since
//! only this step can fail; on failure the old setup keeps running. A member in another precision
//! gets new workers.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use crate::serving::batch::WorkerId;
use crate::serving::events::EngineEvent;
use crate::serving::plan::{
    ApplyError, ApplyStep, NoFallback, Plan, PlanBasis, PlanError, PlanLimits,
};
use crate::serving::reload::{Reload, ReloadAction, ReloadEvent};
use crate::serving::scheduler::WorkerSpec;
use divisi_model::allocation::{Cell, Matrix};
use divisi_model::ensemble::{Combination, ComputedMember, MemberPrecision, PolicyKind};
use divisi_model::setup::{SettingChange, Setup};
use divisi_runtime::device::DeviceIndex;

use super::columns::RunningColumns;
use super::drivers::DeviceFault;
use super::engine::Engine;
use super::promise::Failure;

/// Called with each step of a change.
type Watch<'a> = &'a mut dyn FnMut(ApplyStep);

impl Engine {
    /// Returns the running setup.
    pub fn setup(&self) -> Setup {
        let settings = self.settings();
        let (matrix, precisions) = {
            let columns = self.columns.lock();
            (columns.matrix.clone(), columns.precisions.clone())
        };
        Setup {
            models: Arc::clone(self.catalogue().copies()),
            matrix,
            policy: settings.policy(),
            combination: settings.combination(),
            segment_size: settings.segment_size(),
            precisions,
        }
    }

    /// Returns the number of matrices that have replaced another one. Holders of the matrix compare
    /// it instead of the matrix.
    pub fn matrices(&self) -> u64 {
        self.matrices.load(Ordering::Acquire)
    }

    /// Returns the plan for applying a setup, without changing anything.
    ///
    /// # Errors
    /// The setup does not fit, or belongs to other models or devices.
    pub fn plan(&self, to: &Setup) -> Result<Plan, PlanError> {
        self.state.counters.plans.fetch_add(1, Ordering::Relaxed);
        let limits = PlanLimits {
            ensemble: &self.state.ensemble,
            devices: &self.state.devices,
            footprints: &self.footprints(),
            is_single: self.state.single().is_some(),
            most_segment: match self.catalogue().entries().is_empty() {
                true => Setup::MOST_SEGMENT,
                false => self.telemetry().capacity(),
            },
        };
        Plan::new(self.plan_basis(), to, &limits)
    }

    fn plan_basis(&self) -> PlanBasis {
        let setup = self.setup();
        PlanBasis {
            own_rule: self.state.has_own_rule(),
            lost: self.faults().lost(),
            retired: self.telemetry().retired(&setup.matrix),
            left: self.reserve.left(),
            setup,
        }
    }

    /// Applies a plan while serving: first the workers, because only they can fail, then the
    /// settings. Calls `watch` with each step and returns the plan.
    ///
    /// # Errors
    /// The plan is stale, or a worker does not start. The previous setup serves.
    pub fn apply(&self, plan: Plan, watch: Watch<'_>) -> Result<Plan, ApplyError> {
        let _one_at_a_time = self.applying.lock();
        if !plan.is_of(&self.plan_basis()) {
            return Err(ApplyError::Stale);
        }
        self.carry_out(plan, watch)
    }

    /// Plans and applies a setup without another change in between.
    ///
    /// # Errors
    /// The setup cannot be applied, or a worker does not start. The previous setup serves.
    pub fn apply_setup(&self, to: &Setup, watch: Watch<'_>) -> Result<Plan, ApplyError> {
        let _one_at_a_time = self.applying.lock();
        self.carry_out(self.plan(to)?, watch)
    }

    /// Applies the settings of a plan at once and keeps the workers. Does not wait for a change
    /// under way.
    pub fn adjust(&self, plan: &Plan) {
        for change in plan.settings() {
            self.set(change);
        }
    }

    /// Makes a simulated device or a GPU disappear with everything on it, and moves to the matrix
    /// that `fallback` returns for the running one. Other devices run the device's batches, so no
    /// request is lost unless there is no fallback. For a GPU that was already lost
    /// ([`on_loss`](super::faults::DeviceFaults::on_loss)) only moves the workers.
    ///
    /// # Errors
    /// The device is a CPU partition or already lost, or there is no fallback. Without a fallback,
    /// members that had no other worker have none, and the door is closed.
    pub fn evacuate(
        &self,
        device: DeviceIndex,
        fallback: &dyn Fn(&Matrix) -> Result<Matrix, NoFallback>,
        watch: Watch<'_>,
    ) -> Result<Plan, ApplyError> {
        let _one_at_a_time = self.applying.lock();
        let awaited = self.faults().begin_loss(device)?;
        // Until the fallback is reached, members may be without a worker.
        let _open = OpenDoor::hold(self);
        if !awaited {
            self.faults().inject(device, DeviceFault::Lost)?;
        }
        // The new workers may need the memory lent to a measurement.
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
            SettingChange::Combination(_, new) => self.state.combine_by(Combination::clone(new)),
            // The workers already compute in this precision.
            SettingChange::Precision(..) => {}
            SettingChange::Segment(_, size) => {
                self.state.core().set_segment(*size);
                self.state.wake();
                self.state.poke_timer();
            }
        }
    }

    pub(super) fn follow_policy(&self, policy: PolicyKind) {
        self.state.core().set_policy(self.state.now(), policy);
        self.state.wake();
        self.state.poke_timer();
    }

    fn move_workers(&self, plan: &Plan, watch: Watch<'_>) -> Result<(), ApplyError> {
        if !plan.reload().is_empty() {
            let _open = OpenDoor::hold(self);
            let _told = Recomputed::begin(self, plan);
            self.reload(plan, watch)?;
        }
        let is_other = plan.old_setup().matrix != plan.new_setup().matrix;
        *self.columns.lock() = RunningColumns {
            matrix: plan.new_setup().matrix.clone(),
            precisions: plan.new_setup().precisions.clone(),
            footprints: Arc::new(plan.footprints().clone()),
        };
        if is_other {
            self.matrices.fetch_add(1, Ordering::Release);
        }
        Ok(())
    }

    fn reload(&self, plan: &Plan, watch: Watch<'_>) -> Result<(), ApplyError> {
        let (before, after) = (&plan.old_setup().precisions, &plan.new_setup().precisions);
        // Drained workers may share weights with workers that are built afterwards.
        let starts = plan.reload().starts.iter().map(|(cell, _)| ComputedMember {
            member: cell.member,
            precision: after[cell.member],
        });
        let _kept: Vec<_> = starts
            .filter_map(|network| self.state.networks.factory.hold(network))
            .collect();
        let mut reload = Reload::new(plan.reload().clone());
        let mut built = Vec::new();
        let mut event = ReloadEvent::Start;
        loop {
            let action = reload.step(event);
            if let Some(step) = ApplyStep::from_action(&action) {
                watch(step);
            }
            event = match action {
                ReloadAction::Done => return Ok(()),
                ReloadAction::Failed(reason) => return Err(ApplyError::Worker(reason)),
                action => self.act(action, before, after, &mut built),
            };
        }
    }

    fn act(
        &self,
        action: ReloadAction,
        before: &[MemberPrecision],
        after: &[MemberPrecision],
        built: &mut Vec<WorkerSpec>,
    ) -> ReloadEvent {
        match action {
            ReloadAction::Drain(cell) => self.drain(cell, built),
            ReloadAction::Build(cell, size) => {
                let spec = self.new_spec(cell, size, after[cell.member]);
                return self.build_new(spec, built);
            }
            ReloadAction::Activate => self.activate(built),
            ReloadAction::Discard => {
                for spec in built.drain(..) {
                    self.state.remove_worker(spec.device, spec.id);
                }
            }
            ReloadAction::Restore(cell, size) => {
                let mut restored = Vec::new();
                let spec = self.new_spec(cell, size, before[cell.member]);
                let event = self.build_new(spec, &mut restored);
                self.activate(&restored);
                return event;
            }
            ReloadAction::Done | ReloadAction::Failed(_) => {}
        }
        ReloadEvent::Done
    }

    fn build_new(&self, spec: WorkerSpec, built: &mut Vec<WorkerSpec>) -> ReloadEvent {
        if self.state.is_stopping() {
            return ReloadEvent::Failed("the system is stopping".into());
        }
        match self.state.build_worker(spec) {
            Ok(()) => {
                built.push(spec);
                ReloadEvent::Done
            }
            Err(error) => ReloadEvent::Failed(error.to_string()),
        }
    }

    fn activate(&self, built: &[WorkerSpec]) {
        {
            let mut core = self.state.core();
            for &spec in built {
                core.add_worker(self.state.now(), spec);
            }
        }
        self.state.wake();
    }

    /// Drains the workers of a cell that this reload did not build.
    fn drain(&self, cell: Cell, built: &[WorkerSpec]) {
        let old: Vec<WorkerId> = {
            let mut core = self.state.core();
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
        // Other workers can now run the samples that these had taken but not started.
        self.state.wake();
        for id in old {
            self.await_drained(id);
            let now = self.state.now();
            let stuck = self.state.core().remove_worker(now, id);
            let reason = "its worker was stopped and did not finish in time";
            self.state
                .deliver_failures(stuck, &Failure::Worker(reason.into()));
            self.state.remove_worker(cell.device, id);
        }
        self.state.wake();
    }

    fn await_drained(&self, id: WorkerId) {
        let limit = Instant::now() + self.options.drain_limit;
        while !self.state.core().is_drained(id) {
            if Instant::now() >= limit || self.state.is_stopping() {
                self.state
                    .emit(EngineEvent::WorkerNotDrained { worker: id });
                return;
            }
            thread::park_timeout(Duration::from_micros(200));
        }
    }
}

/// Counts the beginning of a change of precisions and, when it is dropped, its end. In between,
/// requests are answered in either precision.
struct Recomputed<'a>(&'a Engine);

impl<'a> Recomputed<'a> {
    /// Begins a change if a plan changes any precision.
    fn begin(engine: &'a Engine, plan: &Plan) -> Option<Self> {
        let changes = plan.old_setup().precisions != plan.new_setup().precisions;
        changes.then(|| {
            let told = Recomputed(engine);
            told.count();
            told
        })
    }

    fn count(&self) {
        let changes = &self.0.state.counters.recomputed;
        changes.fetch_add(1, Ordering::AcqRel);
    }
}

impl Drop for Recomputed<'_> {
    fn drop(&mut self) {
        self.count();
    }
}

/// Keeps the door open while members may be without a worker. Dropping it closes the pipelines
/// without workers.
struct OpenDoor<'a>(&'a Engine);

impl<'a> OpenDoor<'a> {
    fn hold(engine: &'a Engine) -> Self {
        engine.state.core().set_reloading(true);
        OpenDoor(engine)
    }
}

impl Drop for OpenDoor<'_> {
    fn drop(&mut self) {
        let state = &self.0.state;
        // A lost GPU may still have workers to move.
        let awaited = state.losses.are_awaited();
        state.core().set_reloading(awaited);
        // If even an old worker did not restart, its member has none left.
        state.close_if_orphaned();
        state.core().reopen_if_served();
    }
}
