//! The difference of two snapshots, by section and, for lists, by element. Also checks that the
//! parts of a decoded snapshot are consistent.

use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::{SearchView, Snapshot};
use divisi_model::allocation::{Cell, Matrix};

use super::{WireError, decode, encode};

/// The difference between one snapshot and the next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Delta {
    now: Duration,
    /// The changed sections with their numbers.
    sections: Vec<(u8, Vec<u8>)>,
}

impl Delta {
    /// Returns the time of the new snapshot since the engine's start.
    pub fn now(&self) -> Duration {
        self.now
    }

    /// Returns whether only the time and the load of the host changed, which are measured even
    /// while nothing happens.
    pub fn is_still(&self) -> bool {
        self.sections.iter().all(|(number, _)| *number == HOST)
    }

    /// Returns the difference between `old` and `new`.
    ///
    /// # Errors
    /// Returns an error if a path is not valid text.
    pub fn between(old: &Snapshot, new: &Snapshot) -> Result<Self, WireError> {
        let mut sections = Vec::new();
        changed_sections(old, new, &mut sections)?;
        Ok(Delta {
            now: new.now,
            sections,
        })
    }

    /// Turns the old snapshot into the new one.
    ///
    /// # Errors
    /// Returns an error if the bytes are invalid or inconsistent; `shown` is then unusable.
    pub fn apply(self, shown: &mut Snapshot) -> Result<(), WireError> {
        shown.now = self.now;
        for (number, bytes) in &self.sections {
            take_section(shown, *number, bytes)?;
        }
        check(shown)
    }
}

/// Remembers the last snapshot and returns differences from it.
#[derive(Debug, Default)]
pub struct Differ {
    last: Option<Snapshot>,
}

impl Differ {
    /// Returns the difference since the last call, or `None` at the first one.
    ///
    /// # Errors
    /// Returns an error if a path is not valid text.
    pub fn next(&mut self, shown: &Snapshot) -> Result<Option<Delta>, WireError> {
        let delta = self.last.as_ref().map(|last| Delta::between(last, shown));
        let delta = delta.transpose()?;
        self.last = Some(shown.clone());
        Ok(delta)
    }

    /// Returns the snapshot of the last call, if there is one.
    pub fn last(&self) -> Option<&Snapshot> {
        self.last.as_ref()
    }

    /// Starts over for a new receiver.
    pub fn forget(&mut self) {
        self.last = None;
    }
}

/// The number of the section of the host's load.
const HOST: u8 = 15;

/// The fields of a section change and are sent together. `whole` sections are sent completely,
/// `lists` by element.
macro_rules! sections {
    (whole { $($number:literal: $($field:ident)+;)+ } lists { $($at:literal: $list:ident;)+ }) => {
        fn changed_sections(
            old: &Snapshot,
            new: &Snapshot,
            into: &mut Vec<(u8, Vec<u8>)>,
        ) -> Result<(), WireError> {
            $(if $(old.$field != new.$field)||+ {
                into.push(($number, encode(&($(&new.$field,)+))?));
            })+
            $(if old.$list != new.$list {
                into.push(($at, encode(&ListDelta::between(&old.$list, &new.$list)?)?));
            })+
            Ok(())
        }

        fn take_section(shown: &mut Snapshot, number: u8, bytes: &[u8]) -> Result<(), WireError> {
            match number {
                $($number => ($(shown.$field,)+) = decode(bytes)?,)+
                $($at => decode::<ListDelta>(bytes)?.apply(&mut shown.$list)?,)+
                other => return Err(WireError::Damaged(format!("unknown section {other}"))),
            }
            Ok(())
        }

        /// A field without a section does not compile.
        #[expect(dead_code, reason = "for the compiler alone")]
        fn every_field_is_in_a_section(shown: &Snapshot) {
            let Snapshot { now: _, $($($field: _,)+)+ $($list: _,)+ } = shown;
        }
    };
}

sections! {
    whole {
        0: generation can_load ensemble answers pipeline synthetic simulated precision;
        1: health can_undo can_redo;
        2: copies matrix policy own_policies combination segment_size target;
        3: latency;
        4: latency_before;
        5: throughput oldest_waiting;
        6: quality counters lately load;
        7: search;
        8: reload;
        9: proposal;
        10: probation;
        11: audience playback recording;
        12: door;
        13: model_change;
        14: scaling;
        15: host;
        19: under_way;
        16: errors;
    }
    lists {
        20: devices;
        21: members;
        22: entries;
        23: log;
        24: marks;
        25: history;
        26: models;
        27: graphs;
    }
}

/// The difference between one list and the next.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct ListDelta {
    /// The number of elements removed from the front.
    gone: usize,
    /// The number of elements removed from the end of the rest.
    cut: usize,
    /// The changed elements of the rest.
    changed: Vec<(usize, Vec<u8>)>,
    /// The appended elements, encoded.
    appended: Vec<Vec<u8>>,
}

impl ListDelta {
    /// Returns the difference between `old` and `new`.
    fn between<T: Serialize + PartialEq>(old: &[T], new: &[T]) -> Result<Self, WireError> {
        let gone = shift(old, new);
        let kept = &old[gone..];
        let common = kept.len().min(new.len());
        let mut changed = Vec::new();
        for (i, (a, b)) in kept.iter().zip(new).enumerate() {
            if a != b {
                changed.push((i, encode(b)?));
            }
        }
        let appended = new[common..].iter().map(encode);
        Ok(ListDelta {
            gone,
            cut: kept.len() - common,
            changed,
            appended: appended.collect::<Result<_, _>>()?,
        })
    }

    /// Turns the old list into the new one.
    fn apply<T: DeserializeOwned>(self, list: &mut Vec<T>) -> Result<(), WireError> {
        let left = list.len().checked_sub(self.gone);
        let left = left.and_then(|l| l.checked_sub(self.cut));
        let left =
            left.ok_or_else(|| WireError::Damaged("more elements removed than present".into()))?;
        list.drain(..self.gone);
        list.truncate(left);
        for (i, bytes) in &self.changed {
            let place = list.get_mut(*i);
            let place = place.ok_or_else(|| WireError::Damaged("no such element".into()))?;
            *place = decode(bytes)?;
        }
        for bytes in &self.appended {
            list.push(decode(bytes)?);
        }
        Ok(())
    }
}

/// Returns the number of elements removed from the front. The first element may be a count of
/// removed ones, so the second element is searched for too.
fn shift<T: PartialEq>(old: &[T], new: &[T]) -> usize {
    let (Some(first), true) = (new.first(), old.first() != new.first()) else {
        return 0;
    };
    let place = |of: &T, back: usize| {
        let found = old.iter().position(|o| o == of)?;
        found.checked_sub(back)
    };
    place(first, 0)
        .or_else(|| place(new.get(1)?, 1))
        .unwrap_or(0)
}

/// Returns a decoded snapshot if its parts are consistent.
pub(crate) fn checked(shown: Snapshot) -> Result<Snapshot, WireError> {
    check(&shown).map(|()| shown)
}

/// A bound on times in seconds that leaves room for additions.
const END_OF_TIME: u64 = 1 << 40;

/// More than any engine keeps.
const MOST_LINES: usize = 4096;

/// Checks that the parts of a decoded snapshot are consistent, since drawing it looks up entries by
/// position.
fn check(shown: &Snapshot) -> Result<(), WireError> {
    if shown.now.as_secs() >= END_OF_TIME {
        return Err(WireError::Damaged("a time out of range".into()));
    }
    bounded("lines of log", shown.log.len())?;
    bounded("marks", shown.marks.len())?;
    bounded("past setups", shown.history.len())?;
    let frame = shown.matrix.frame();
    let (devices, members) = (frame.devices.len(), frame.members.len());
    same("devices", shown.devices.len(), devices)?;
    same("members", shown.members.len(), members)?;
    same("entries", shown.entries.len(), devices * members)?;
    let combination = shown.combination.check(members);
    combination.map_err(|e| WireError::Damaged(e.to_string()))?;
    let shares = shown.devices.iter().filter_map(|d| d.shares_memory_of);
    if shares.into_iter().any(|of| of.get() >= devices) {
        return Err(WireError::Damaged("memory of an unknown device".into()));
    }
    let fits = |cell: &Cell| cell.device.get() < devices && cell.member.get() < members;
    let alike = |matrix: &Matrix| {
        let other = matrix.frame();
        (other.devices.len(), other.members.len()) == (devices, members)
    };
    let host = shown.host.as_ref();
    bounded("cores", host.map_or(0, |host| host.load.cores.len()))?;
    if let Some(door) = &shown.door {
        bounded("addresses", door.addresses.len())?;
        bounded("callers", door.callers.len())?;
    }
    bounded("kinds of errors", shown.errors.counts.len())?;
    bounded("last errors", shown.errors.last.len())?;
    for count in &shown.errors.counts {
        bounded("seconds of errors", count.series.len())?;
    }
    for model in &shown.models {
        let callers = model.asked.as_ref().map_or(0, |asked| asked.callers.len());
        bounded("callers", callers)?;
        bounded("kinds of errors", model.errors.len())?;
    }
    bounded("running batches", shown.under_way.len())?;
    bounded("models", shown.graphs.len())?;
    for graph in &shown.graphs {
        bounded("steps", graph.steps.len())?;
        if !graph.is_ordered() {
            return Err(WireError::Damaged(
                "a step that depends on a later step".into(),
            ));
        }
    }
    let proposal = shown.proposal.as_ref();
    let search = shown.search.as_ref();
    let whole = proposal.is_none_or(|p| fits(&p.cell) && alike(&p.matrix))
        && shown
            .probation
            .as_ref()
            .map(|probation| &probation.fallback)
            .is_none_or(|fallback| fallback.models != shown.copies || alike(&fallback.matrix))
        && search.is_none_or(|s| search_fits(s, &fits, &alike));
    match whole {
        true => Ok(()),
        false => Err(WireError::Damaged("an entry outside the matrix".into())),
    }
}

fn search_fits(
    search: &SearchView,
    fits: &impl Fn(&Cell) -> bool,
    alike: &impl Fn(&Matrix) -> bool,
) -> bool {
    let progress = &search.progress;
    progress.best.as_ref().is_none_or(alike)
        && progress.tried.iter().all(|t| fits(&t.cell))
        && progress
            .accepted
            .iter()
            .all(|a| a.changes.iter().all(|(cell, _)| fits(cell)))
}

/// Checks the length of lists that the console only trims when it draws them.
fn bounded(what: &str, found: usize) -> Result<(), WireError> {
    match found <= MOST_LINES {
        true => Ok(()),
        false => Err(WireError::Damaged(format!(
            "{found} {what}, expected at most {MOST_LINES}"
        ))),
    }
}

fn same(what: &str, found: usize, expected: usize) -> Result<(), WireError> {
    match found == expected {
        true => Ok(()),
        false => Err(WireError::Damaged(format!(
            "{found} {what}, expected {expected}"
        ))),
    }
}
