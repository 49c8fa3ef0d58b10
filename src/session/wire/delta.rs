//! A snapshot as what changed since the one before, section by section and, of lists, element by
//! element; and whether the parts of one that was read fit together.

use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::{SearchView, Snapshot};
use divisi_model::allocation::{Cell, Matrix};

use super::{WireError, decode, encode};

/// The change from one snapshot to the next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Delta {
    now: Duration,
    /// Sections that changed, by their numbers.
    sections: Vec<(u8, Vec<u8>)>,
}

impl Delta {
    /// Time since the engine's start of the new snapshot.
    pub fn now(&self) -> Duration {
        self.now
    }

    /// Nothing but time changed.
    pub fn is_empty(&self) -> bool {
        self.sections.is_empty()
    }

    /// From `old` to `new`.
    ///
    /// # Errors
    /// A path that is no text.
    pub fn between(old: &Snapshot, new: &Snapshot) -> Result<Self, WireError> {
        let mut sections = Vec::new();
        changed_sections(old, new, &mut sections)?;
        Ok(Delta {
            now: new.now,
            sections,
        })
    }

    /// Makes the new snapshot of the old one.
    ///
    /// # Errors
    /// The bytes say something else, or what they say does not fit together; `shown`
    /// is of no use then.
    pub fn apply(self, shown: &mut Snapshot) -> Result<(), WireError> {
        shown.now = self.now;
        for (number, bytes) in &self.sections {
            take_section(shown, *number, bytes)?;
        }
        check(shown)
    }
}

/// Remembers what was told last, and tells what changed.
#[derive(Debug, Default)]
pub struct Differ {
    last: Option<Snapshot>,
}

impl Differ {
    /// Returns the change since the last call, or `None` at the first one.
    ///
    /// # Errors
    /// A path that is no text.
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

    /// Begins anew: whoever listens now knows nothing.
    pub fn forget(&mut self) {
        self.last = None;
    }
}

/// Sections change together and are told together. `whole` ones are told as they are,
/// `lists` by their elements.
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
                other => return Err(WireError::Damaged(format!("no section {other}"))),
            }
            Ok(())
        }

        /// A field that is in no section does not compile.
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
        2: matrix policy own_policies combination segment_size target;
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

/// From one list to the next.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct ListDelta {
    /// Elements gone from the front.
    gone: usize,
    /// Of what is left, elements gone from the end.
    cut: usize,
    /// Of what is left, elements that are others now.
    changed: Vec<(usize, Vec<u8>)>,
    /// Elements appended, encoded.
    appended: Vec<Vec<u8>>,
}

impl ListDelta {
    /// Returns the change from `old` to `new`.
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

    /// Makes the new list of the old one.
    fn apply<T: DeserializeOwned>(self, list: &mut Vec<T>) -> Result<(), WireError> {
        let left = list.len().checked_sub(self.gone);
        let left = left.and_then(|l| l.checked_sub(self.cut));
        let left = left.ok_or_else(|| WireError::Damaged("more is gone than there was".into()))?;
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

/// How many elements went from the front. The first may be one that counts those gone,
/// so the second is looked for.
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

/// A whole snapshot that was read, if its parts fit together.
pub(crate) fn checked(shown: Snapshot) -> Result<Snapshot, WireError> {
    check(&shown).map(|()| shown)
}

/// No engine runs for so many seconds; what is added to such times fits.
const END_OF_TIME: u64 = 1 << 40;

/// More than any engine keeps.
const MOST_LINES: usize = 4096;

/// Whether its parts fit together: a snapshot that was read must be one that an engine could have
/// shown, since whoever draws it looks entries up by their place.
fn check(shown: &Snapshot) -> Result<(), WireError> {
    if shown.now.as_secs() >= END_OF_TIME {
        return Err(WireError::Damaged("a time that never comes".into()));
    }
    bounded("lines of log", shown.log.len())?;
    bounded("marks", shown.marks.len())?;
    bounded("setups that ran", shown.history.len())?;
    let frame = shown.matrix.frame();
    let (devices, members) = (frame.devices.len(), frame.members.len());
    same("devices", shown.devices.len(), devices)?;
    same("members", shown.members.len(), members)?;
    same("entries", shown.entries.len(), devices * members)?;
    let combination = shown.combination.check(members);
    combination.map_err(|e| WireError::Damaged(e.to_string()))?;
    let shares = shown.devices.iter().filter_map(|d| d.shares_memory_of);
    if shares.into_iter().any(|of| of.get() >= devices) {
        return Err(WireError::Damaged("memory of no device".into()));
    }
    let fits = |cell: &Cell| cell.device.get() < devices && cell.member.get() < members;
    let alike = |matrix: &Matrix| {
        let other = matrix.frame();
        (other.devices.len(), other.members.len()) == (devices, members)
    };
    if let Some(door) = &shown.door {
        bounded("addresses", door.addresses.len())?;
        bounded("callers", door.callers.len())?;
        bounded("reasons of refusals", door.refusals.len())?;
    }
    for asked in shown.models.iter().filter_map(|m| m.asked.as_ref()) {
        bounded("callers", asked.callers.len())?;
        bounded("reasons of refusals", asked.refusals.len())?;
    }
    bounded("models", shown.graphs.len())?;
    for graph in &shown.graphs {
        bounded("steps", graph.steps.len())?;
        if !graph.is_ordered() {
            return Err(WireError::Damaged("a step that needs a later one".into()));
        }
    }
    let proposal = shown.proposal.as_ref();
    let search = shown.search.as_ref();
    let whole = proposal.is_none_or(|p| fits(&p.cell) && alike(&p.matrix))
        && shown
            .probation
            .as_ref()
            .and_then(|p| p.fallback.as_ref())
            .is_none_or(|fallback| alike(&fallback.matrix))
        && search.is_none_or(|s| search_fits(s, &fits, &alike));
    match whole {
        true => Ok(()),
        false => Err(WireError::Damaged("an entry outside of the matrix".into())),
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

/// Lists that grow line by line are cut by whoever shows them.
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
