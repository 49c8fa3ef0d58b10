//! What scenes are made of: captions, commands of the table with what each waits for, and
//! what is measured.

use std::time::Duration;

use divisi::ensemble::PolicyKind;
use divisi::search::Bounds;
use divisi::session::{Command, LoadPattern, ReloadState, SearchOrder, SearchState, Snapshot};

use super::conclusions::Conclusion;
use super::plans::{DemoPlan, DemoTrouble};
use crate::actions::requests;
use crate::commands::{APPLY, CLEAR, CommandInfo, LOAD, POLICY, SEARCH};
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
            Given::Apply(plan) => requests::matrix(shown, plan.matrix(shown)?),
            Given::Policy(policy) => requests::policy(shown, policy),
            Given::Load(load) => requests::load(load.pattern(capacity)),
            Given::Clear => Command::ClearLatency,
            Given::Search => Command::StartSearch(order(shown)),
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
