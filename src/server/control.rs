//! The models of a repository that are served from the start, and later changes.

use std::collections::BTreeSet;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use divisi_engine::deployment::Deployment;

use crate::ServeError;

/// The models of a repository that are served from the start, and how that changes later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelControl {
    /// All at the start, and nothing after it.
    Fixed,
    /// These at the start; clients load and unload others.
    Explicit(FirstModels),
    /// All. Their files are read again after each pause of this length.
    Poll(Duration),
}

/// The models of a repository that are served at the start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum FirstModels {
    /// All of them.
    #[default]
    All,
    /// Those of these names.
    Named(Vec<String>),
}

/// The least pause between two readings: more of them cost time and find nothing new.
const LEAST_POLL: Duration = Duration::from_millis(100);

impl ModelControl {
    /// Whether models can be loaded and unloaded later.
    pub(crate) fn can_change(&self) -> bool {
        *self != ModelControl::Fixed
    }

    /// Whether the files are read again and again.
    pub(crate) fn is_polled(&self) -> bool {
        matches!(self, ModelControl::Poll(_))
    }

    /// Returns the models to begin with, of those that are there.
    pub(crate) fn first(&self, there: Vec<String>) -> Result<BTreeSet<String>, ServeError> {
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

    /// Reads the files again after each pause, if they are polled, as long as the models are served.
    pub(crate) fn follow(&self, deployment: &Arc<Deployment>) -> Result<(), ServeError> {
        let ModelControl::Poll(pause) = *self else {
            return Ok(());
        };
        let served = Arc::downgrade(deployment);
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

fn poll_files(served: &Weak<Deployment>, pause: Duration) {
    let mut told = String::new();
    loop {
        thread::sleep(pause);
        let Some(deployment) = served.upgrade() else {
            return;
        };
        let refused = deployment.refresh().err();
        let refused = refused.map_or_else(String::new, |error| error.to_string());
        // It is reported once, however often the files are read.
        if !refused.is_empty() && refused != told {
            deployment.note(format!("reloading the repository failed: {refused}"));
        }
        told = refused;
    }
}
