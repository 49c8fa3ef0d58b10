//! The parts of scenes: captions, commands of the table with what each waits for, matrices
//! that show one thing each, and what is measured.

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
    /// Serves by another matrix.
    Apply(DemoPlan),
    /// Batches otherwise.
    Policy(PolicyKind),
    /// Sends other requests.
    Load(DemoLoad),
    /// Forgets latencies so far.
    Clear,
    /// Searches, and waits for the end.
    Search,
    /// Lets a policy of this name load the variants of tasks.
    Scaling(&'static str),
    /// Plays what was asked lately under every such policy, and waits for the end.
    ComparePolicies,
}

/// The requests that are sent.
#[derive(Clone, Copy, Debug)]
pub(super) enum DemoLoad {
    /// None.
    Stop,
    /// Clients that send again once they are answered: as much as can be served.
    Full {
        /// How many.
        clients: usize,
        /// In each request.
        samples: usize,
    },
    /// At random moments, this share of what was gauged.
    Poisson(f64),
    /// Slowly, then fast at this share of what was gauged, and again.
    Burst(f64),
    /// As over a day, of a period, with a mean rate.
    Swing {
        /// Requests a second.
        rate: f64,
        /// The length of the day.
        period: Duration,
    },
}

impl DemoLoad {
    /// The pattern, where so many samples a second can be served.
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

/// Whether what a command asks for is so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// It is so.
    Yes,
    /// Not yet.
    No,
    /// Something else is under way that has to end first.
    Busy,
}

impl Given {
    /// The command of the table.
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
    /// Why it cannot be asked here.
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

    /// Whether what it asks for is shown; `asked` says that it was asked for.
    ///
    /// # Errors
    /// Why it will not be.
    pub(super) fn seen(
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
        // One that somebody else asked for.
        (_, Some(ReloadState::Running)) => Ok(Seen::Busy),
        (true, Some(ReloadState::Failed(why))) => Err(DemoTrouble::Failed(why.clone())),
        _ => Ok(Seen::No),
    }
}

/// Whether policies were compared, and are not just now.
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

/// Another seed each time: a search that is kept from before would be over at once.
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

/// One part of it, ending with a pause.
#[derive(Clone, Debug)]
pub(super) struct DemoScene {
    /// A few words.
    pub title: &'static str,
    /// Done one after the other.
    pub steps: Vec<DemoStep>,
}

/// One step of a scene.
#[derive(Clone, Copy, Debug)]
pub(super) enum DemoStep {
    /// Says what is done now, and nothing of what will come of it.
    Say(&'static str),
    /// Says what came of it, by what was measured.
    Conclude(Conclusion),
    /// Where to look.
    Look(Panel),
    /// Gives a command and waits until what it asks for is seen.
    Do(Given),
    /// Waits until no queue has anything left.
    Drain,
    /// Counts requests that are lost from here on.
    Count,
    /// Lets the session go on until there is enough to tell.
    Watch(DemoWatch),
    /// Takes what was served since the last watch began as the most that can be.
    Gauge,
    /// Writes down a figure under a name, to be compared with others of its kind.
    Note(Figure, &'static str),
}

/// How long to watch: until both are over, whatever the machine's speed.
#[derive(Clone, Copy, Debug)]
pub(super) struct DemoWatch {
    /// Requests answered.
    pub answered: u64,
    /// Time of the session.
    pub lasts: Duration,
}

/// Why a step of a demonstration cannot be shown.
#[derive(Clone, Debug, PartialEq, Error)]
pub(super) enum DemoTrouble {
    /// There is no matrix to apply.
    #[error("the search has found nothing")]
    NothingFound,
    /// There is one device only.
    #[error("needs a second device: skip it")]
    OneDevice,
    /// The matrix would not be valid.
    #[error(transparent)]
    Matrix(#[from] InvalidMatrix),
    /// The command cannot be done.
    #[error(transparent)]
    NotNow(#[from] NotNow),
    /// A reload or a search failed; says why.
    #[error("{0}")]
    Failed(String),
}

/// A matrix that shows one thing, whatever the ensemble and devices.
#[derive(Clone, Copy, Debug)]
pub(super) enum DemoPlan {
    /// Each member on a device of its own; where devices are too few, the dearest member
    /// on the first and all the others on the second.
    Alone,
    /// All members share so many of the devices, as evenly as can be; 0: all.
    Together(usize),
    /// As `Alone`, and devices that are left work for the dearest members as well; where
    /// none is left, every member on every device.
    Parallel,
    /// The best that the search has found.
    Best,
}

/// Batches in the middle of what is allowed.
const ROWS: usize = 16;

impl DemoPlan {
    /// The matrix, or why there is none.
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
        entries[cell.place(members)] = Some(size);
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
    Cell::all(devices, members).collect()
}

/// The dearest member on the first device, the others on the second.
fn apart(shown: &Snapshot) -> Vec<Cell> {
    let dearest = dearest(shown);
    let place = |(at, member): (usize, &MemberIndex)| Cell {
        device: DeviceIndex::new(usize::from(at > 0)),
        member: *member,
    };
    dearest.iter().enumerate().map(place).collect()
}

/// The dearest first, each on the device that has the least to do so far.
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

/// Each on its own device, the dearest also on those that are left.
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
