//! Where models come from.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use divisi_model::catalogue::NewEntry;

/// Brings back how a model was read before.
pub type TakeBack<'a> = Box<dyn FnOnce() + 'a>;

/// Models that can be served, such as those of a folder.
pub trait ModelSource: Send + Sync {
    /// Returns the names of all models that there are now.
    fn names(&self) -> Vec<String>;

    /// Checks that the models can be looked at now.
    ///
    /// # Errors
    /// They cannot be, so that none of their names says that one is gone; in words.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }

    /// Whether all models that there are are served, and are looked at again and again: what is loaded
    /// or unloaded by its name would be undone by the next look.
    fn is_polled(&self) -> bool {
        false
    }

    /// Whether models can be read otherwise than their files say.
    fn takes_overrides(&self) -> bool {
        false
    }

    /// Reads a model otherwise than its files say from now on, or again as they do. Returns what brings
    /// back how it was read before.
    ///
    /// # Errors
    /// The files cannot be; in words.
    fn override_model(
        &self,
        name: &str,
        by: Option<&ModelOverride>,
    ) -> Result<TakeBack<'_>, String> {
        let _ = (name, by);
        Ok(Box::new(|| {}))
    }

    /// Reads models, in every version that is to be served. Those that are served and are not to be
    /// read again, or did not change since they were, and members that several share, are the same ones
    /// again.
    fn read(&self, wanted: ModelsToRead<'_>) -> ModelsRead;

    /// Notes that what was read is what is served: later reads go on from there.
    fn serves(&self, read: &ReadState) {
        let _ = read;
    }
}

/// The models that are to be read.
#[derive(Clone, Copy)]
pub struct ModelsToRead<'a> {
    /// Their names.
    pub names: &'a BTreeSet<String>,
    /// Those that are read again although they are served.
    pub again: ReadAgain<'a>,
    /// The entries that are served.
    pub served: &'a [NewEntry],
    /// The state after an earlier read for the same change, whose models are not served; `None` for
    /// the one that is.
    pub after: Option<&'a ReadState>,
}

impl<'a> ModelsToRead<'a> {
    /// Models of which none is served yet.
    pub fn first(names: &'a BTreeSet<String>) -> Self {
        ModelsToRead {
            names,
            again: ReadAgain::All,
            served: &[],
            after: None,
        }
    }
}

/// The knowledge of a source about the files of its models once it has read them.
#[derive(Clone)]
pub struct ReadState(Arc<dyn Any + Send + Sync>);

impl ReadState {
    /// Wraps what a source knows.
    pub fn new<S: Any + Send + Sync>(known: Arc<S>) -> Self {
        ReadState(known)
    }

    /// Returns what the source knows, or `None` if another one wrapped it.
    pub fn known<S: Any + Send + Sync>(&self) -> Option<Arc<S>> {
        Arc::clone(&self.0).downcast().ok()
    }
}

/// The models that are read again although they are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadAgain<'n> {
    /// All of them.
    All,
    /// The one of this name, and those that use it: what became of the files of others does not
    /// matter yet.
    Named(&'n str),
}

impl ReadAgain<'_> {
    /// Whether the model called `name` is among them by its own name.
    pub fn names(self, name: &str) -> bool {
        match self {
            ReadAgain::All => true,
            ReadAgain::Named(only) => only == name,
        }
    }
}

/// A model as somebody who loads it wants it, in place of what its files say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelOverride {
    /// Its configuration, as JSON.
    pub config: Option<String>,
    /// Its files by their paths in its folder; with any of them none of its own are read.
    pub files: Vec<(String, Vec<u8>)>,
}

impl ModelOverride {
    /// Whether the model is as its files say.
    pub fn is_none(&self) -> bool {
        self.config.is_none() && self.files.is_empty()
    }
}

/// The models that were read.
#[derive(Default)]
pub struct ModelsRead {
    /// Those that can be served.
    pub entries: Vec<NewEntry>,
    /// The names by which models were asked for, at the start; `None` for all that were read.
    pub asked: Option<BTreeSet<String>>,
    /// The others by name, with why they cannot.
    pub failures: BTreeMap<String, String>,
    /// Remarks for the operator, such as settings that mean nothing here.
    pub notices: Vec<String>,
    /// The state of the source after this.
    pub state: Option<ReadState>,
}

impl ModelsRead {
    /// Lets models of `names` that could not be read now, and were served before, be served on.
    pub(super) fn keep_served(&mut self, names: &BTreeSet<String>, before: &[NewEntry]) {
        let failed = |entry: &NewEntry| self.failures.contains_key(&entry.name);
        self.entries
            .retain(|entry| !failed(entry) || is_among(entry, before));
        let is_wanted = |entry: &&NewEntry| names.contains(&entry.name) && failed(entry);
        let wanted = before.iter().filter(is_wanted);
        let missing = wanted.filter(|entry| !is_among(entry, &self.entries));
        let missing: Vec<NewEntry> = missing.cloned().collect();
        self.entries.extend(missing);
    }

    /// Keeps why models that were served before, and are the same ones still, are not as their files
    /// say, and why others could not be loaded and are not served.
    pub(super) fn keep_failures(
        &mut self,
        failures: &BTreeMap<String, String>,
        again: ReadAgain<'_>,
        before: &[NewEntry],
    ) {
        let stays = |name: &String| {
            let mut entries = self.entries.iter().filter(|entry| entry.name == *name);
            let served = before.iter().any(|entry| entry.name == *name);
            match entries.next() {
                None => !served,
                Some(first) => is_among(first, before) || entries.any(|e| is_among(e, before)),
            }
        };
        let kept = failures.iter().filter(|(name, _)| {
            !again.names(name) && !self.failures.contains_key(*name) && stays(name)
        });
        let kept: Vec<(String, String)> = kept.map(|(n, why)| (n.clone(), why.clone())).collect();
        self.failures.extend(kept);
    }

    /// Whether these are the entries that were served before, in any order.
    pub(super) fn is_same(&self, before: &[NewEntry]) -> bool {
        let mut entries = self.entries.iter();
        self.entries.len() == before.len() && entries.all(|entry| is_among(entry, before))
    }
}

/// Whether an entry is one of some others.
fn is_among(entry: &NewEntry, others: &[NewEntry]) -> bool {
    others.iter().any(|other| {
        entry.name == other.name
            && entry.version == other.version
            && Arc::ptr_eq(&entry.ensemble, &other.ensemble)
            && entry.interface == other.interface
    })
}
