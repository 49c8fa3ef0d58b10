//! The sources of models.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use divisi_model::catalogue::NewEntry;

/// Restores the earlier way of reading a model.
pub type TakeBack<'a> = Box<dyn FnOnce() + 'a>;

/// A source of models, such as a folder.
pub trait ModelSource: Send + Sync {
    /// Returns the names of all models of the source.
    fn names(&self) -> Vec<String>;

    /// Checks that the models can be read now.
    ///
    /// # Errors
    /// The source is not readable, so a missing name does not mean that the model was removed.
    /// Holds the reason in words.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }

    /// Returns whether the source is polled: all its models are served, so the next poll would undo
    /// a load or unload by name.
    fn is_polled(&self) -> bool {
        false
    }

    /// Returns whether a load can override the files of a model.
    fn takes_overrides(&self) -> bool {
        false
    }

    /// Overrides the files of a model from now on, or removes its override. Returns a function that
    /// restores the previous state.
    ///
    /// # Errors
    /// The override cannot be read. Holds the reason in words.
    fn override_model(
        &self,
        name: &str,
        by: Option<&ModelOverride>,
    ) -> Result<TakeBack<'_>, String> {
        let _ = (name, by);
        Ok(Box::new(|| {}))
    }

    /// Reads all versions to be served of the models. Reuses the entries of unchanged models, of
    /// served models that need not be read again, and of shared members.
    fn read(&self, wanted: ModelsToRead<'_>) -> ModelsRead;

    /// Records that the read models are now served. Later reads continue from this state.
    fn serves(&self, read: &ReadState) {
        let _ = read;
    }
}

/// The models to read.
#[derive(Clone, Copy)]
pub struct ModelsToRead<'a> {
    /// The names of the models.
    pub names: &'a BTreeSet<String>,
    /// The models to read again although they are served.
    pub again: ReadAgain<'a>,
    /// The served entries.
    pub served: &'a [NewEntry],
    /// The state after an earlier read for the same change, or `None` for the served state.
    pub after: Option<&'a ReadState>,
}

impl<'a> ModelsToRead<'a> {
    /// Creates a first read, while no models are served.
    pub fn first(names: &'a BTreeSet<String>) -> Self {
        ModelsToRead {
            names,
            again: ReadAgain::All,
            served: &[],
            after: None,
        }
    }
}

/// The knowledge of a source about the files of its models after reading them.
#[derive(Clone)]
pub struct ReadState(Arc<dyn Any + Send + Sync>);

impl fmt::Debug for ReadState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadState").finish_non_exhaustive()
    }
}

impl ReadState {
    /// Wraps the knowledge of a source.
    pub fn new<S: Any + Send + Sync>(known: Arc<S>) -> Self {
        ReadState(known)
    }

    /// Returns the knowledge of the source, or `None` if a source of another type wrapped it.
    pub fn downcast<S: Any + Send + Sync>(&self) -> Option<Arc<S>> {
        Arc::clone(&self.0).downcast().ok()
    }
}

/// The models to read again although they are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadAgain<'n> {
    /// All models.
    All,
    /// The model with this name and the models that use it. The files of other models do not matter
    /// yet.
    Named(&'n str),
}

impl ReadAgain<'_> {
    /// Returns whether the model called `name` is read again by its own name.
    pub fn names(self, name: &str) -> bool {
        match self {
            ReadAgain::All => true,
            ReadAgain::Named(only) => only == name,
        }
    }
}

/// A model as a load request overrides it, in place of its files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelOverride {
    /// Its configuration, as JSON.
    pub config: Option<String>,
    /// The model's files by their paths in its folder. If there are any, the model's own files are
    /// not read.
    pub files: Vec<(String, Vec<u8>)>,
}

impl ModelOverride {
    /// Returns whether nothing is overridden.
    pub fn is_none(&self) -> bool {
        self.config.is_none() && self.files.is_empty()
    }
}

/// The result of reading models.
#[derive(Default)]
pub struct ModelsRead {
    /// The entries that can be served.
    pub entries: Vec<NewEntry>,
    /// The names of the models that were requested at the start, or `None` if all were.
    pub asked: Option<BTreeSet<String>>,
    /// The other models by name, each with the reason.
    pub failures: BTreeMap<String, String>,
    /// Remarks for the operator, for instance about unsupported settings.
    pub notices: Vec<String>,
    /// The state of the source after the read.
    pub state: Option<ReadState>,
}

impl ModelsRead {
    /// Keeps serving the models of `names` that were served before and could not be read now.
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

    /// Keeps earlier failures: of served models that did not change, and of models that could not
    /// be loaded and are not served.
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

    /// Leaves out the entries that are held back. A model without another version keeps its served
    /// entries.
    pub(super) fn hold_back(&mut self, is_held: impl Fn(&NewEntry) -> bool, serving: &[NewEntry]) {
        let named = |entries: &[NewEntry], name: &str| {
            let named = entries.iter().filter(|entry| entry.name == name);
            named.cloned().collect::<Vec<NewEntry>>()
        };
        let mut names: Vec<String> = self.entries.iter().map(|e| e.name.clone()).collect();
        names.dedup();
        let kept = |name: &String| {
            let mut new = named(&self.entries, name);
            new.retain(|entry| !is_held(entry));
            match new.is_empty() {
                true => named(serving, name),
                false => new,
            }
        };
        self.entries = names.iter().flat_map(kept).collect();
    }

    /// Returns whether the entries are the served ones, in any order.
    pub(super) fn is_same(&self, before: &[NewEntry]) -> bool {
        let mut entries = self.entries.iter();
        self.entries.len() == before.len() && entries.all(|entry| is_among(entry, before))
    }
}

/// Returns whether an entry is one of the others.
fn is_among(entry: &NewEntry, others: &[NewEntry]) -> bool {
    others.iter().any(|other| {
        entry.name == other.name
            && entry.version == other.version
            && Arc::ptr_eq(&entry.ensemble, &other.ensemble)
            && entry.interface == other.interface
    })
}
