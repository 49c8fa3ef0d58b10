//! Versions that were rolled back. They stay out until they are requested by name.

use std::sync::{Arc, Weak};

use divisi_model::catalogue::NewEntry;
use divisi_model::ensemble::Ensemble;

/// The versions that were rolled back. An unchanged file yields the same entry when it is read
/// again.
#[derive(Default)]
pub(super) struct TakenBack(Vec<(String, Weak<Ensemble>)>);

impl TakenBack {
    /// Records the `served` entries that are rolled back in favour of `now`.
    pub(super) fn note(&mut self, served: &[NewEntry], now: &[NewEntry]) {
        let new = served.iter().filter(|entry| !self.has(entry));
        let new = new.map(|entry| (entry.name.clone(), Arc::downgrade(&entry.ensemble)));
        self.0.extend(new.collect::<Vec<_>>());
        self.forget(now);
    }

    /// Forgets versions that serve again, and versions that no longer exist.
    pub(super) fn forget(&mut self, now: &[NewEntry]) {
        let serves = |known: &Weak<Ensemble>| now.iter().any(|entry| is(known, entry));
        self.0
            .retain(|(_, known)| known.strong_count() > 0 && !serves(known));
    }

    /// Allows a model that is requested by name to load again.
    pub(super) fn ask_again(&mut self, name: Option<&str>) {
        self.0.retain(|(known, _)| Some(known.as_str()) != name);
    }

    /// Removes rolled-back versions from `read`. Models without another version keep their serving
    /// entries.
    pub(super) fn hold_back(&self, read: &mut Vec<NewEntry>, serving: &[NewEntry]) {
        let of = |entries: &[NewEntry], name: &str| {
            let named = entries.iter().filter(|entry| entry.name == name);
            named.cloned().collect::<Vec<NewEntry>>()
        };
        let mut names: Vec<String> = read.iter().map(|entry| entry.name.clone()).collect();
        names.dedup();
        let kept = |name: &String| {
            let mut new = of(read, name);
            new.retain(|entry| !self.has(entry));
            match new.is_empty() {
                true => of(serving, name),
                false => new,
            }
        };
        *read = names.iter().flat_map(kept).collect();
    }

    fn has(&self, entry: &NewEntry) -> bool {
        self.0.iter().any(|(_, known)| is(known, entry))
    }
}

fn is(known: &Weak<Ensemble>, entry: &NewEntry) -> bool {
    std::ptr::eq(known.as_ptr(), Arc::as_ptr(&entry.ensemble))
}
