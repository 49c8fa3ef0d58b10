//! The parts of scenes: captions, commands of the table with the conditions to wait for, example
//! matrices, and measurements.

use std::sync::Arc;
use std::time::Duration;

use divisi_engine::search::Bounds;
use divisi_model::allocation::{Cell, InvalidMatrix, Matrix};
use divisi_model::ensemble::{BatchSize, PolicyKind};
use divisi_runtime::device::{DeviceIndex, MemberIndex};
use divisi_session::{Command, LoadPattern, ReloadState, SearchOrder, SearchState, Snapshot};
use thiserror::Error;

use super::words::Conclusion;
use crate::actions::stage;
use crate::commands::{
    APPLY, CLEAR, COMPARE_POLICIES, CommandInfo, LOAD, NotNow, POLICY, SCALING, SEARCH,
};
use crate::layout::Panel;
use crate::model::Figure;

/// A command of the table with its arguments.
#[derive(Clone, Copy, Debug)]
pub(super) enum Given {
    /// Applies a matrix.
    Apply(DemoPlan),
    /// Sets a batching policy.
    Policy(PolicyKind),
    /// Sets a load.
    Load(DemoLoad),
    /// Resets the latencies.
    Clear,
    /// Runs a search and waits for its end.
    Search,
    /// Sets the policy for loading variants of tasks, by name.
    Scaling(&'static str),
    /// Replays the last queries under every such policy, and waits for the end.
    ComparePolicies,
}

/// The load.
#[derive(Clone, Copy, Debug)]
pub(super) enum DemoLoad {
    /// No requests.
    Stop,
    /// Clients that send again after each answer, which measures the capacity.
    Full {
        /// The number of clients.
        clients: usize,
        /// The samples in each request.
        samples: usize,
    },
    /// Requests at random times, at this share of the measured capacity.
    Poisson(f64),
    /// Slow, then fast at this share of the measured capacity, repeatedly.
    Burst(f64),
    /// A daily cycle of some period, with a mean rate.
    Swing {
        /// Requests per second.
        rate: f64,
        /// The length of the day.
        period: Duration,
    },
}

impl DemoLoad {
    /// Returns the load pattern for a capacity in samples per second.
    fn pattern(self, capacity: Option<f64>) -> Option<LoadPattern> {
        let share = |share: f64| (share * capacity.unwrap_or(100.0)).clamp(1.0, 1e5).round();
        match self {
            DemoLoad::Stop => None,
            DemoLoad::Full { clients, samples } => Some(LoadPattern::closed(clients, samples)),
            DemoLoad::Poisson(of) => Some(LoadPattern::poisson(share(of))),
            DemoLoad::Burst(of) => Some(LoadPattern::burst(share(of))),
            DemoLoad::Swing { rate, period } => Some(LoadPattern::diurnal(rate, period)),
        }
    }
}

/// Whether the effect of a command is visible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// It is visible.
    Yes,
    /// It is not visible yet.
    No,
    /// Another operation has to end first.
    Busy,
}

impl Given {
    /// Returns the command of the table.
    pub(super) fn command(self) -> &'static CommandInfo {
        match self {
            Given::Apply(_) => &APPLY,
            Given::Policy(_) => &POLICY,
            Given::Load(_) => &LOAD,
            Given::Clear => &CLEAR,
            Given::Search => &SEARCH,
            Given::Scaling(_) => &SCALING,
            Given::ComparePolicies => &COMPARE_POLICIES,
        }
    }

    /// Returns the command for the session. `capacity` is in samples per second.
    ///
    /// # Errors
    /// The command is impossible here.
    pub(super) fn request(
        self,
        shown: &Snapshot,
        capacity: Option<f64>,
    ) -> Result<Command, DemoTrouble> {
        Ok(match self {
            Given::Apply(plan) => stage::apply_matrix(shown, plan.matrix(shown)?),
            Given::Policy(policy) => stage::apply_policy(shown, policy),
            Given::Load(load) => stage::set_load(load.pattern(capacity)),
            Given::Clear => Command::ClearLatency,
            Given::Search => Command::StartSearch(order(shown)),
            Given::Scaling(policy) => Command::SetScalingPolicy(policy.to_owned()),
            Given::ComparePolicies => Command::ComparePolicies,
        })
    }

    /// Returns whether the command's effect is visible; `asked` tells whether it was sent.
    ///
    /// # Errors
    /// The effect will never become visible.
    pub(super) fn effect(
        self,
        shown: &Snapshot,
        capacity: Option<f64>,
        asked: bool,
    ) -> Result<Seen, DemoTrouble> {
        let so = match self {
            Given::Apply(plan) => return applied(plan, shown, asked),
            Given::Search => return searched(shown, asked),
            Given::Policy(policy) => shown.policy == policy,
            Given::Load(load) => shown.load.pattern == load.pattern(capacity),
            Given::Clear => asked,
            Given::Scaling(policy) => {
                let scaling = shown.scaling.as_ref();
                scaling.is_some_and(|scaling| scaling.policy == policy)
            }
            Given::ComparePolicies => asked && compared(shown),
        };
        Ok(if so { Seen::Yes } else { Seen::No })
    }
}

fn applied(plan: DemoPlan, shown: &Snapshot, asked: bool) -> Result<Seen, DemoTrouble> {
    if shown.matrix == plan.matrix(shown)? {
        return Ok(Seen::Yes);
    }
    match (asked, shown.reload.as_ref().map(|r| &r.state)) {
        // A reload requested by another console.
        (_, Some(ReloadState::Running)) => Ok(Seen::Busy),
        (true, Some(ReloadState::Failed(why))) => Err(DemoTrouble::Failed(why.clone())),
        _ => Ok(Seen::No),
    }
}

/// Returns whether a comparison of policies is finished.
fn compared(shown: &Snapshot) -> bool {
    let comparison = shown.scaling.as_ref().and_then(|s| s.comparison.as_ref());
    comparison.is_some_and(|comparison| !comparison.outcomes.is_empty())
}

fn searched(shown: &Snapshot, asked: bool) -> Result<Seen, DemoTrouble> {
    match (asked, shown.search.as_ref().map(|s| &s.state)) {
        (_, Some(SearchState::Running | SearchState::Paused)) => Ok(Seen::Busy),
        (true, Some(SearchState::Failed(why))) => Err(DemoTrouble::Failed(why.clone())),
        (true, _) => Ok(Seen::Yes),
        (false, _) => Ok(Seen::No),
    }
}

/// Each search has another seed, since a cached search would end at once.
fn order(shown: &Snapshot) -> SearchOrder {
    let quick = SearchOrder::quick();
    SearchOrder {
        bounds: Bounds {
            seed: shown.now.as_millis() as u64,
            ..quick.bounds
        },
        ..quick
    }
}

/// A scene, which ends with a pause.
#[derive(Clone, Debug)]
pub(super) struct DemoScene {
    /// A short title.
    pub title: &'static str,
    /// The steps, in order.
    pub steps: Vec<DemoStep>,
}

/// One step of a scene.
#[derive(Clone, Copy, Debug)]
pub(super) enum DemoStep {
    /// Shows a caption on the current action, without its outcome.
    Say(&'static str),
    /// Shows a caption on the outcome, from measurements.
    Conclude(Conclusion),
    /// Focuses a panel.
    Look(Panel),
    /// Runs a command and waits for its effect.
    Do(Given),
    /// Waits until all queues are empty.
    Drain,
    /// Starts counting lost requests.
    Count,
    /// Waits until there is enough data.
    Watch(DemoWatch),
    /// Takes the throughput since the last watch began as the capacity.
    Gauge,
    /// Notes a figure under a name, to compare it with others of its kind.
    Note(Figure, &'static str),
}

/// The length of a watch: until both limits are reached, on machines of any speed.
#[derive(Clone, Copy, Debug)]
pub(super) struct DemoWatch {
    /// The number of answered requests.
    pub answered: u64,
    /// The session's time.
    pub lasts: Duration,
}

/// The reason why a step of a demonstration cannot be shown.
#[derive(Clone, Debug, PartialEq, Error)]
pub(super) enum DemoTrouble {
    /// There is no matrix to apply.
    #[error("the search has found nothing")]
    NothingFound,
    /// There is only one device.
    #[error("needs a second device: skip it")]
    OneDevice,
    /// The matrix would be invalid.
    #[error(transparent)]
    Matrix(#[from] InvalidMatrix),
    /// The command cannot run now.
    #[error(transparent)]
    NotNow(#[from] NotNow),
    /// A reload or a search failed, with the reason.
    #[error("{0}")]
    Failed(String),
}

/// An example matrix for any ensemble and devices.
#[derive(Clone, Copy, Debug)]
pub(super) enum DemoPlan {
    /// Each member on its own device. With too few devices, the slowest member is on the first and
    /// all others on the second.
    Alone,
    /// All members share this number of devices, as evenly as possible; 0 means all devices.
    Together(usize),
    /// Like `Alone`, with the remaining devices also used for the slowest members. Without
    /// remaining devices, every member is on every device.
    Parallel,
    /// The best matrix of the search.
    Best,
}

/// A medium batch size.
const ROWS: usize = 16;

impl DemoPlan {
    /// Returns the matrix, or the reason for its absence.
    pub(super) fn matrix(self, shown: &Snapshot) -> Result<Matrix, DemoTrouble> {
        let devices = shown.matrix.frame().devices.len();
        let members = shown.matrix.frame().members.len();
        let owned = devices >= members;
        let entries = match self {
            DemoPlan::Best => {
                let best = shown.search.as_ref().and_then(|s| s.progress.best.clone());
                return best.ok_or(DemoTrouble::NothingFound);
            }
            DemoPlan::Alone if owned => own_devices(members),
            DemoPlan::Alone if devices < 2 => return Err(DemoTrouble::OneDevice),
            DemoPlan::Alone => apart(shown),
            DemoPlan::Together(0) => balanced(shown, devices),
            DemoPlan::Together(most) => balanced(shown, most.min(devices)),
            DemoPlan::Parallel if devices > members => helped(shown),
            DemoPlan::Parallel => everywhere(devices, members),
        };
        filled(shown, &entries)
    }
}

fn filled(shown: &Snapshot, cells: &[Cell]) -> Result<Matrix, DemoTrouble> {
    let frame = shown.matrix.frame();
    let members = frame.members.len();
    let mut entries: Vec<Option<BatchSize>> = vec![None; frame.devices.len() * members];
    let sizes = frame.batch_sizes.iter();
    let size = sizes.filter(|s| s.get() <= ROWS).last();
    let size = size.unwrap_or(frame.batch_sizes.smallest());
    for cell in cells {
        entries[cell.index_in(members)] = Some(size);
    }
    Ok(Matrix::new(Arc::clone(frame), entries)?)
}

fn own_devices(members: usize) -> Vec<Cell> {
    let own = |at| Cell {
        device: DeviceIndex::new(at),
        member: MemberIndex::new(at),
    };
    (0..members).map(own).collect()
}

fn everywhere(devices: usize, members: usize) -> Vec<Cell> {
    Cell::all_cells(devices, members).collect()
}

/// Returns the slowest member on the first device and the others on the second.
fn apart(shown: &Snapshot) -> Vec<Cell> {
    let dearest = dearest(shown);
    let place = |(at, member): (usize, &MemberIndex)| Cell {
        device: DeviceIndex::new(usize::from(at > 0)),
        member: *member,
    };
    dearest.iter().enumerate().map(place).collect()
}

/// Places members from the slowest on, each on the device with the least work so far.
fn balanced(shown: &Snapshot, devices: usize) -> Vec<Cell> {
    let mut busy = vec![0u64; devices];
    let place = |member: MemberIndex| {
        let least = DeviceIndex::enumerate(&busy).min_by_key(|(_, flops)| **flops);
        let device = least.map_or(DeviceIndex::default(), |(device, _)| device);
        busy[device] += shown.members[member].flops;
        Cell { device, member }
    };
    dearest(shown).into_iter().map(place).collect()
}

/// Places each member on its own device, and the slowest also on the remaining devices.
fn helped(shown: &Snapshot) -> Vec<Cell> {
    let (devices, members) = (shown.devices.len(), shown.members.len());
    let left = DeviceIndex::all(devices).skip(members);
    let left = left.zip(dearest(shown).into_iter().cycle());
    let more = left.map(|(device, member)| Cell { device, member });
    own_devices(members).into_iter().chain(more).collect()
}

fn dearest(shown: &Snapshot) -> Vec<MemberIndex> {
    let mut members: Vec<MemberIndex> = MemberIndex::all(shown.members.len()).collect();
    members.sort_by_key(|m| std::cmp::Reverse(shown.members[*m].flops));
    members
}
