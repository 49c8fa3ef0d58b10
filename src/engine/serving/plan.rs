//! The plan for applying a setup: all its effects, computed before anything changes.

use thiserror::Error;

use divisi_model::allocation::{Cell, DoesNotFit, Footprints, Frame};
use divisi_model::codes::{Code, Coded};
use divisi_model::ensemble::{BatchSize, CombinationError, Ensemble, PolicyError};
use divisi_runtime::device::{DeviceIndex, Devices, Ledger, MemberIndex};

use super::reload::{ReloadAction, ReloadPlan};
use divisi_model::setup::{SettingChange, Setup};

/// The state that a plan is computed from. A plan is valid until this state changes.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanBasis {
    /// The running setup.
    pub setup: Setup,
    /// Whether a caller's own rule combines requests instead of the setup's.
    pub own_rule: bool,
    /// Devices that are lost.
    pub lost: Vec<DeviceIndex>,
    /// Cells of the matrix whose worker was retired.
    pub retired: Vec<Cell>,
    /// The devices with the available memory if the rest is lent, or `None`.
    pub left: Option<Devices>,
}

/// The limits of an engine, which never change while it runs.
#[derive(Clone, Copy, Debug)]
pub struct PlanLimits<'a> {
    /// The served ensemble.
    pub ensemble: &'a Ensemble,
    /// The devices of the engine.
    pub devices: &'a Devices,
    /// The memory booked by each worker under the running setup.
    pub footprints: &'a Footprints,
    /// The capacity of the pool in samples.
    pub most_segment: usize,
    /// Whether a single model is served, so that the setup's combination holds.
    pub is_single: bool,
}

/// The reason why a setup cannot be applied.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum PlanError {
    /// The matrix has other rows or columns than the running one.
    #[error("the matrix is for other devices or members than the running ones")]
    OtherFrame,
    /// The setup has other models than the running ones.
    #[error("the setup is for other models than the running ones")]
    OtherModels,
    /// The matrix has a worker on a lost device.
    #[error("`{0}` is gone; bring it back, or use a matrix without it")]
    DeviceLost(String),
    /// A device has too little memory.
    #[error(transparent)]
    DoesNotFit(#[from] DoesNotFit),
    /// The setup would fit if a search were not using the remaining memory.
    #[error("a search is using the remaining memory; cancel it or wait until it ends: {0}")]
    Lent(DoesNotFit),
    /// The policy does not match the batch sizes.
    #[error("policy: {0}")]
    Policy(PolicyError),
    /// The combination does not match the members.
    #[error("combination: {0}")]
    Combination(CombinationError),
    /// Several models are served, and each has its own combination.
    #[error(
        "combination: several models are served, and each combines its members as its manifest says; \
         change it there"
    )]
    OwnCombinations,
    /// The number of precisions differs from the number of members.
    #[error("precisions: expected {expected}, one for each member, found {found}")]
    Precisions {
        /// The number found.
        found: usize,
        /// The number of members.
        expected: usize,
    },
    /// The segment size is 0 or exceeds the pool.
    #[error("segment size: expected 1 to {most} samples (the pool's size), found {size}")]
    SegmentSize {
        /// The requested size.
        size: usize,
        /// The size of the pool.
        most: usize,
    },
}

impl Coded for PlanError {
    fn code(&self) -> Code {
        match self {
            PlanError::OtherFrame | PlanError::OtherModels => Code::OtherFrame,
            PlanError::DeviceLost(_) => Code::DeviceLost,
            PlanError::DoesNotFit(_) => Code::DoesNotFit,
            PlanError::Lent(_) => Code::MemoryLent,
            PlanError::Policy(_)
            | PlanError::Combination(_)
            | PlanError::OwnCombinations
            | PlanError::Precisions { .. }
            | PlanError::SegmentSize { .. } => Code::SetupInvalid,
        }
    }
}

/// The effects of applying a setup: workers, settings, memory. It is checked, so it can only fail
/// if a worker does not start.
#[derive(Clone, Debug)]
pub struct Plan {
    basis: PlanBasis,
    to: Setup,
    reload: ReloadPlan,
    footprints: Footprints,
    settings: Vec<SettingChange>,
    memory: Vec<(u64, u64)>,
}

impl Plan {
    /// Plans applying `to`.
    ///
    /// # Errors
    /// The setup cannot be applied.
    pub fn new(basis: PlanBasis, to: &Setup, limits: &PlanLimits<'_>) -> Result<Self, PlanError> {
        let to = &resolved(&basis, to, limits)?;
        let footprints = limits.footprints;
        let (ensemble, devices) = (limits.ensemble, limits.devices);
        let after = footprints.in_precisions(ensemble, devices, &to.precisions);
        let reload = reload(&basis, to, &after, limits)?;
        check_settings(to, limits)?;
        let before = footprints.book(&basis.setup.matrix, devices)?;
        let memory = memory(&before, &after.book(&to.matrix, devices)?, devices);
        let mut settings = SettingChange::between(&basis.setup, to);
        if basis.own_rule && basis.setup.combination == to.combination {
            // The setup's own rule replaces the caller's.
            settings.push(SettingChange::combination(&basis.setup, to));
        }
        Ok(Plan {
            to: to.clone(),
            basis,
            reload,
            footprints: after,
            settings,
            memory,
        })
    }

    /// Returns whether the state is still `basis`, the one that the plan was computed from.
    pub fn is_of(&self, basis: &PlanBasis) -> bool {
        self.basis == *basis
    }

    /// Returns the setup that ran when the plan was made.
    pub fn old_setup(&self) -> &Setup {
        &self.basis.setup
    }

    /// Returns the setup to apply.
    pub fn new_setup(&self) -> &Setup {
        &self.to
    }

    /// Returns the changes of workers.
    pub fn reload(&self) -> &ReloadPlan {
        &self.reload
    }

    /// Returns the changed settings, without the matrix.
    pub fn settings(&self) -> &[SettingChange] {
        &self.settings
    }

    /// Returns the memory that each worker books after the change.
    pub fn footprints(&self) -> &Footprints {
        &self.footprints
    }

    /// Returns the bytes booked in each device's memory, now and after the change.
    pub fn memory(&self) -> &[(u64, u64)] {
        &self.memory
    }

    /// Returns the members that are briefly without a worker, so that their requests wait.
    pub fn paused_members(&self) -> Vec<MemberIndex> {
        self.reload.paused_members(&self.old_setup().matrix)
    }

    /// Returns the changed settings in words, without the matrix.
    pub fn setting_words(&self) -> Vec<String> {
        let members = &self.to.matrix.frame().members;
        let changes = self.settings.iter();
        changes.flat_map(|change| change.words(members)).collect()
    }

    /// Returns whether the same setup is running with all its workers.
    pub fn is_empty(&self) -> bool {
        self.reload.is_empty() && self.basis.setup == self.to
    }

    /// Returns whether earlier latencies do not predict later ones.
    pub fn changes_pace(&self) -> bool {
        self.old_setup().matrix != self.to.matrix
            || self.settings.iter().any(SettingChange::changes_pace)
    }
}

/// Returns a setup of the running frame with the effective precisions on these devices.
fn resolved(basis: &PlanBasis, to: &Setup, limits: &PlanLimits<'_>) -> Result<Setup, PlanError> {
    if basis.setup.matrix.frame() != to.matrix.frame() {
        return Err(PlanError::OtherFrame);
    }
    if basis.setup.models != to.models {
        return Err(PlanError::OtherModels);
    }
    let members = limits.ensemble.members.len();
    if to.precisions.len() != members {
        return Err(PlanError::Precisions {
            found: to.precisions.len(),
            expected: members,
        });
    }
    let (of_all, with_gpus) = (limits.ensemble.precision, limits.devices.has_gpu());
    let both = to.precisions.iter().zip(&basis.setup.precisions);
    let precisions = both.map(|(own, runs)| match own.is_alike(*runs, with_gpus) {
        true => *runs,
        false => own.resolved(of_all),
    });
    if !limits.is_single && to.combination != basis.setup.combination {
        return Err(PlanError::OwnCombinations);
    }
    Ok(Setup {
        precisions: precisions.collect(),
        ..to.clone()
    })
}

fn reload(
    basis: &PlanBasis,
    to: &Setup,
    after: &Footprints,
    limits: &PlanLimits<'_>,
) -> Result<ReloadPlan, PlanError> {
    let (old, before, new) = (&basis.setup.matrix, limits.footprints, &to.matrix);
    let devices = limits.devices;
    let is_rebuilt = |cell: Cell| {
        let (was, is) = (&basis.setup.precisions, &to.precisions);
        let (was, is) = (was[cell.member], is[cell.member]);
        !was.is_same_on(
            is,
            &devices.get(cell.device).kind,
            limits.ensemble.precision,
        )
    };
    let lost = |cell: &Cell| basis.lost.contains(&cell.device);
    if let Some((cell, _)) = new.workers().find(|(cell, _)| lost(cell)) {
        return Err(PlanError::DeviceLost(devices.get(cell.device).name.clone()));
    }
    let mut plan = match &basis.left {
        None => ReloadPlan::rebuilding(old, before, new, after, devices, is_rebuilt)?,
        Some(left) => {
            // A setup that would not fit without the search either is reported as such.
            after.book(&to.matrix, devices)?;
            ReloadPlan::rebuilding(old, before, new, after, left, is_rebuilt)
                .map_err(PlanError::Lent)?
        }
    };
    plan.revive(&basis.retired);
    Ok(plan)
}

fn check_settings(to: &Setup, limits: &PlanLimits<'_>) -> Result<(), PlanError> {
    let (ensemble, most) = (limits.ensemble, limits.most_segment);
    let policy = to.policy.check(&ensemble.batch_sizes);
    policy.map_err(PlanError::Policy)?;
    let combination = ensemble.check_combination(&to.combination);
    combination.map_err(PlanError::Combination)?;
    match to.segment_size {
        size if (1..=most).contains(&size) => Ok(()),
        size => Err(PlanError::SegmentSize { size, most }),
    }
}

fn memory(before: &Ledger, after: &Ledger, devices: &Devices) -> Vec<(u64, u64)> {
    let devices = devices.indices();
    devices
        .map(|d| (before.booked(d), after.booked(d)))
        .collect()
}

/// A step of applying a plan.
#[derive(Clone, Debug, PartialEq)]
pub enum ApplyStep {
    /// The worker of a cell finishes its samples and is removed.
    Drain(Cell),
    /// A worker is built.
    Start(Cell, BatchSize),
    /// The new workers begin to serve.
    Serve,
    /// The new workers are dropped because one of them did not start.
    Discard,
    /// A removed worker is built again.
    Restore(Cell, BatchSize),
    /// A setting has its new value.
    Set(SettingChange),
}

impl ApplyStep {
    /// Returns the step of a reload's action, or `None` for its end.
    pub(crate) fn from_action(action: &ReloadAction) -> Option<Self> {
        match *action {
            ReloadAction::Drain(cell) => Some(ApplyStep::Drain(cell)),
            ReloadAction::Build(cell, size) => Some(ApplyStep::Start(cell, size)),
            ReloadAction::Activate => Some(ApplyStep::Serve),
            ReloadAction::Discard => Some(ApplyStep::Discard),
            ReloadAction::Restore(cell, size) => Some(ApplyStep::Restore(cell, size)),
            ReloadAction::Done | ReloadAction::Failed(_) => None,
        }
    }

    /// Returns the step in words: `start cpu:0 × mlp at 8`. A change of the combination may have
    /// several.
    pub fn words(&self, frame: &Frame) -> Vec<String> {
        let place = |cell: &Cell| {
            let (device, member) = (&frame.devices[cell.device], &frame.members[cell.member]);
            format!("{device} × {member}")
        };
        match self {
            ApplyStep::Drain(cell) => vec![format!("drain {}", place(cell))],
            ApplyStep::Start(cell, size) => vec![format!("start {} at {size}", place(cell))],
            ApplyStep::Serve => vec!["new workers serve".into()],
            ApplyStep::Discard => vec!["discard the new workers".into()],
            ApplyStep::Restore(cell, size) => vec![format!("restore {} at {size}", place(cell))],
            ApplyStep::Set(change) => change.words(&frame.members),
        }
    }
}

/// There is no matrix for the remaining devices; holds the reason.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{0}")]
pub struct NoFallback(pub String);

/// The reason why a plan was not applied. The previous setup serves, unless a device was lost.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ApplyError {
    /// The running setup, the devices or their memory changed since the plan was made.
    #[error("another change came first; try again")]
    Stale,
    /// The plan cannot be applied to the running setup.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A worker did not start.
    #[error("a new worker did not start: {0}")]
    Worker(String),
    /// A lost device cannot be evacuated.
    #[error(transparent)]
    NoFallback(#[from] NoFallback),
    /// The device cannot be lost, or is already lost.
    #[error(transparent)]
    Device(#[from] super::FaultError),
    /// The code that applies the plan panicked; holds the message.
    #[error("the change {0}")]
    Panicked(String),
}

impl Coded for ApplyError {
    fn code(&self) -> Code {
        match self {
            ApplyError::Stale => Code::PlanStale,
            ApplyError::Plan(error) => error.code(),
            ApplyError::Worker(_) => Code::WorkerNotBuilt,
            ApplyError::NoFallback(_) => Code::NoFallback,
            ApplyError::Device(error) => error.code(),
            ApplyError::Panicked(_) => Code::ChangePanicked,
        }
    }
}
