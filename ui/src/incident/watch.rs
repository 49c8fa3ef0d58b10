//! When an incident begins and ends: a state machine over the time of snapshots.

use std::time::Duration;

use super::Diagnosis;
use crate::text::Severity;

/// A warning has to last this long before it becomes an incident.
const BEGINS: Duration = Duration::from_secs(2);
/// An incident is over if its problem has been absent for this long.
const ENDS: Duration = Duration::from_secs(5);

/// The operator's reaction to an incident.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reaction {
    None,
    Acknowledged,
    Dismissed,
}

/// A problem that was seen, and perhaps raised as an incident.
#[derive(Clone, Debug)]
pub(crate) struct OpenIncident {
    pub incident: Diagnosis,
    /// The time at which the problem was first seen.
    pub since: Duration,
    /// The time at which it was last seen.
    seen: Duration,
    is_raised: bool,
    reaction: Reaction,
}

impl OpenIncident {
    /// Returns whether the operator has acknowledged it.
    pub(crate) fn is_acknowledged(&self) -> bool {
        self.reaction == Reaction::Acknowledged
    }
}

/// The current incidents.
#[derive(Clone, Debug, Default)]
pub(crate) struct IncidentWatch {
    now: Duration,
    open: Vec<OpenIncident>,
}

impl IncidentWatch {
    /// Takes the problems found at `now`, the most severe first, and returns the incidents that
    /// begin. An earlier time, as in a recording played backward, starts again.
    pub(crate) fn follow(&mut self, now: Duration, found: Vec<Diagnosis>) -> Vec<Diagnosis> {
        if now < self.now {
            self.open.clear();
        }
        self.now = now;
        let mut before = std::mem::take(&mut self.open);
        for incident in found {
            let known = before
                .iter()
                .position(|open| open.incident.kind == incident.kind);
            let open = match known.map(|at| before.remove(at)) {
                Some(known) => OpenIncident {
                    incident,
                    seen: now,
                    ..known
                },
                None => OpenIncident {
                    incident,
                    since: now,
                    seen: now,
                    is_raised: false,
                    reaction: Reaction::None,
                },
            };
            self.open.push(open);
        }
        let lingers = |open: &OpenIncident| open.is_raised && now < open.seen + ENDS;
        self.open.extend(before.into_iter().filter(lingers));
        self.raise()
    }

    /// Raises the problems that have lasted long enough, and returns them.
    fn raise(&mut self) -> Vec<Diagnosis> {
        let now = self.now;
        let due = |open: &&mut OpenIncident| {
            let lasts = open.incident.severity == Severity::Fault || now >= open.since + BEGINS;
            !open.is_raised && lasts
        };
        let raised = self.open.iter_mut().filter(due).map(|open| {
            open.is_raised = true;
            open.incident.clone()
        });
        raised.collect()
    }

    /// Returns the incidents to show, the most severe first.
    pub(crate) fn shown(&self) -> impl Iterator<Item = &OpenIncident> {
        let shown = |open: &&OpenIncident| open.is_raised && open.reaction != Reaction::Dismissed;
        self.open.iter().filter(shown)
    }

    /// Marks all incidents as acknowledged: they stay on the screen. Returns whether there were any.
    pub(crate) fn acknowledge(&mut self) -> bool {
        self.react(Reaction::Acknowledged)
    }

    /// Hides all incidents until they end and begin again. Returns whether there were any.
    pub(crate) fn dismiss(&mut self) -> bool {
        self.react(Reaction::Dismissed)
    }

    fn react(&mut self, reaction: Reaction) -> bool {
        let shown = self.open.iter_mut();
        let shown = shown.filter(|open| open.is_raised && open.reaction != Reaction::Dismissed);
        shown.fold(false, |_, open| {
            open.reaction = reaction;
            true
        })
    }

    /// Returns the number of hidden incidents.
    pub(crate) fn dismissed(&self) -> usize {
        let hidden = self.open.iter();
        hidden
            .filter(|open| open.is_raised && open.reaction == Reaction::Dismissed)
            .count()
    }
}
