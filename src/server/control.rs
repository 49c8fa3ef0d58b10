//! Which models of a repository are served from the start, and how the set changes.

use std::collections::BTreeSet;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use divisi_engine::changes::Changes;

use crate::ServeError;

/// Which models of a repository are served from the start, and how the set changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelControl {
    /// All models, without later changes.
    Fixed,
    /// The first models. Clients load and unload models later.
    Explicit(FirstModels),
    /// All models. Their files are read again after each pause of this length.
    Poll(Duration),
}

/// The models of a repository that are served at the start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum FirstModels {
    /// All of them.
    #[default]
    All,
    /// The models with these names.
    Named(Vec<String>),
}

/// The minimum pause between two readings. Shorter pauses cost time without finding changes sooner.
const LEAST_POLL: Duration = Duration::from_millis(100);

impl ModelControl {
    /// Returns whether models can be loaded and unloaded later.
    pub(crate) fn can_change(&self) -> bool {
        *self != ModelControl::Fixed
    }

    /// Returns whether the files are polled.
    pub(crate) fn is_polled(&self) -> bool {
        matches!(self, ModelControl::Poll(_))
    }

    /// Returns the existing models to begin with.
    pub(crate) fn first_models(&self, there: Vec<String>) -> Result<BTreeSet<String>, ServeError> {
        let ModelControl::Explicit(FirstModels::Named(names)) = self else {
            return Ok(there.into_iter().collect());
        };
        match names.iter().find(|name| !there.contains(name)) {
            Some(name) => Err(ServeError::UnknownModel {
                name: name.clone(),
                known: there.join(", "),
            }),
            None => Ok(names.iter().cloned().collect()),
        }
    }

    /// Polls the files, if configured, as long as the models are served.
    pub(crate) fn follow(&self, changes: &Arc<Changes>) -> Result<(), ServeError> {
        let ModelControl::Poll(pause) = *self else {
            return Ok(());
        };
        let served = Arc::downgrade(changes);
        let poll = thread::Builder::new().name("poll".into());
        poll.spawn(move || poll_files(&served, pause))?;
        Ok(())
    }

    /// Checks the pause between two readings.
    pub(crate) fn check(&self) -> Result<(), ServeError> {
        match *self {
            ModelControl::Poll(found) if found < LEAST_POLL => Err(ServeError::PollsTooOften {
                least: LEAST_POLL,
                found,
            }),
            _ => Ok(()),
        }
    }
}

fn poll_files(served: &Weak<Changes>, pause: Duration) {
    let mut told = String::new();
    loop {
        thread::sleep(pause);
        let Some(changes) = served.upgrade() else {
            return;
        };
        let refused = changes.refresh().err();
        let refused = refused.map_or_else(String::new, |error| error.to_string());
        // Reported once, regardless of the number of readings.
        if !refused.is_empty() && refused != told {
            let text = format!("reloading the repository failed: {refused}");
            changes.deployment().note(text);
        }
        told = refused;
    }
}
