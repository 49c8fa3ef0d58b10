//! The models that can serve again without reading their files, and the numbers of their copies.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Weak};

use divisi_model::catalogue::{Interface, NewEntry, ServedCopies, Version};
use divisi_model::ensemble::Ensemble;

/// The models of a setup.
#[derive(Clone, Debug)]
pub(super) struct KeptModels {
    pub copies: ServedCopies,
    pub entries: Vec<NewEntry>,
    /// The names of the models to serve.
    pub names: BTreeSet<String>,
    /// The reasons why requested models are not served.
    pub failures: BTreeMap<String, String>,
}

/// The models that can serve again, and the copies that exist.
#[derive(Default)]
pub(super) struct Archive {
    last: u64,
    known: Vec<KnownCopy>,
    kept: Vec<KeptModels>,
}

/// A copy of a model. An unchanged file yields the same ensemble when it is read again.
struct KnownCopy {
    number: u64,
    name: String,
    version: Version,
    ensemble: Weak<Ensemble>,
    interface: Interface,
}

impl KnownCopy {
    fn is(&self, entry: &NewEntry) -> bool {
        std::ptr::eq(self.ensemble.as_ptr(), Arc::as_ptr(&entry.ensemble))
            && self.name == entry.name
            && self.version == entry.version
            && self.interface == entry.interface
    }
}

impl Archive {
    /// Returns the number of the copy of an entry, or `None` if it is unknown.
    pub(super) fn number(&self, entry: &NewEntry) -> Option<u64> {
        let known = self.known.iter().find(|known| known.is(entry));
        known.map(|known| known.number)
    }

    /// Returns the number of the copy of each entry. New copies get new numbers.
    pub(super) fn numbers(&mut self, entries: &[NewEntry]) -> Vec<u64> {
        self.known.retain(|known| known.ensemble.strong_count() > 0);
        let numbers = entries.iter().map(|entry| match self.number(entry) {
            Some(number) => number,
            None => self.add(entry),
        });
        numbers.collect()
    }

    fn add(&mut self, entry: &NewEntry) -> u64 {
        self.last += 1;
        self.known.push(KnownCopy {
            number: self.last,
            name: entry.name.clone(),
            version: entry.version,
            ensemble: Arc::downgrade(&entry.ensemble),
            interface: entry.interface.clone(),
        });
        self.last
    }

    /// Keeps models, in place of the same ones.
    pub(super) fn keep(&mut self, models: KeptModels) {
        self.kept.retain(|kept| kept.copies != models.copies);
        self.kept.push(models);
    }

    /// Returns kept models, or `None` if they are not kept.
    pub(super) fn find(&self, copies: &ServedCopies) -> Option<&KeptModels> {
        self.kept.iter().find(|kept| kept.copies == *copies)
    }

    /// Forgets all models but these.
    pub(super) fn keep_only(&mut self, wanted: &[ServedCopies]) {
        self.kept.retain(|kept| wanted.contains(&kept.copies));
    }
}
