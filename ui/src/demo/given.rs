//! The commands that a demonstration gives, with what each waits for.

use divisi::ensemble::PolicyKind;
use divisi::search::Bounds;
use divisi::session::{Command, LoadPattern, ReloadState, SearchOrder, SearchState, Snapshot};

use super::plans::DemoPlan;
use crate::actions::requests;
use crate::commands::{APPLY, CLEAR, CommandInfo, LOAD, POLICY, SEARCH};

/// A command of the table with its arguments.
#[derive(Clone, Copy, Debug)]
pub enum Given {
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
pub enum DemoLoad {
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
pub enum Seen {
    /// It is so.
    Yes,
    /// Not yet.
    No,
    /// Something else is under way that has to end first.
    Busy,
}

impl Given {
    /// The command of the table.
    pub fn command(self) -> &'static CommandInfo {
        match self {
            Given::Apply(_) => &APPLY,
            Given::Policy(_) => &POLICY,
            Given::Load(_) => &LOAD,
            Given::Clear => &CLEAR,
            Given::Search => &SEARCH,
        }
    }

    /// What it asks of the session, where so many samples a second can be served.
    ///
    /// # Errors
    /// Why it cannot be asked here.
    pub fn request(self, shown: &Snapshot, capacity: Option<f64>) -> Result<Command, String> {
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
    pub fn seen(
        self,
        shown: &Snapshot,
        capacity: Option<f64>,
        asked: bool,
    ) -> Result<Seen, String> {
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

fn applied(plan: DemoPlan, shown: &Snapshot, asked: bool) -> Result<Seen, String> {
    if shown.matrix == plan.matrix(shown)? {
        return Ok(Seen::Yes);
    }
    match (asked, shown.reload.as_ref().map(|r| &r.state)) {
        // One that somebody else asked for.
        (_, Some(ReloadState::Running)) => Ok(Seen::Busy),
        (true, Some(ReloadState::Failed(why))) => Err(why.clone()),
        _ => Ok(Seen::No),
    }
}

fn searched(shown: &Snapshot, asked: bool) -> Result<Seen, String> {
    match (asked, shown.search.as_ref().map(|s| &s.state)) {
        (_, Some(SearchState::Running | SearchState::Paused)) => Ok(Seen::Busy),
        (true, Some(SearchState::Failed(why))) => Err(why.clone()),
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
