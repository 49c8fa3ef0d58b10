//! A snapshot as what changed since the one before, section by section.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::session::Snapshot;

use super::check::check;
use super::list::ListDelta;
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
        0: ensemble synthetic simulated precision;
        1: health can_undo can_redo;
        2: matrix policy combination segment_size target;
        3: latency;
        4: latency_before;
        5: throughput oldest_waiting;
        6: accuracy counters lately load;
        7: search;
        8: reload;
        9: proposal;
        10: probation;
        11: audience playback recording;
    }
    lists {
        20: devices;
        21: members;
        22: entries;
        23: log;
        24: marks;
        25: history;
    }
}

/// A whole snapshot that was read, if its parts fit together.
pub(in crate::session) fn checked(shown: Snapshot) -> Result<Snapshot, WireError> {
    check(&shown).map(|()| shown)
}
