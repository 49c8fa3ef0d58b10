//! Which models of a repository are served, and when others are.

use std::collections::BTreeSet;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::ValueEnum;
use divisi::deployment::Deployment;

use crate::config::time;

/// When models of a repository are loaded and unloaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ControlMode {
    /// All at the start, and nothing after it
    None,
    /// Those named by --load-model at the start, others when somebody asks for it
    Explicit,
    /// All, and what is there is looked at again every few seconds
    Poll,
}

/// The options that say which models of a repository are served.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct ModelControl {
    /// When models of a repository are loaded: all at the start (none), when asked for (explicit),
    /// or as its files change (poll) (default: all at the start, others when asked for)
    #[arg(long, value_name = "MODE")]
    model_control: Option<ControlMode>,
    /// Load this model at the start; may be given several times (with --model-control explicit)
    #[arg(long, value_name = "MODEL")]
    load_model: Vec<String>,
    /// Between two looks at the files, with --model-control poll (default: 15s)
    #[arg(long, value_name = "TIME", value_parser = time)]
    poll_every: Option<Duration>,
}

/// Between two looks at the files of a repository.
const POLL_EVERY: Duration = Duration::from_secs(15);

impl ModelControl {
    /// Whether anything is said of them.
    pub(super) fn is_set(&self) -> bool {
        self.model_control.is_some() || !self.load_model.is_empty() || self.poll_every.is_some()
    }

    /// Whether models can be loaded and unloaded later.
    pub(super) fn can_change(&self) -> bool {
        self.model_control != Some(ControlMode::None)
    }

    /// Returns the models to begin with, of those that are there.
    pub(super) fn names(&self, there: Vec<String>) -> Result<BTreeSet<String>> {
        let explicit = self.model_control == Some(ControlMode::Explicit);
        if explicit && self.load_model.is_empty() {
            bail!(
                "--model-control explicit: expected at least one --load-model, of {}",
                there.join(", ")
            );
        }
        if !explicit && !self.load_model.is_empty() {
            bail!("--load-model: expected with --model-control explicit");
        }
        if !explicit {
            return Ok(there.into_iter().collect());
        }
        let unknown = self.load_model.iter().find(|name| !there.contains(name));
        match unknown {
            Some(name) => bail!("--load-model {name}: expected one of {}", there.join(", ")),
            None => Ok(self.load_model.iter().cloned().collect()),
        }
    }

    /// Looks at the files every few seconds, where that is asked for, as long as the models are served.
    pub(crate) fn follow(&self, deployment: &Arc<Deployment>) -> Result<()> {
        if self.model_control != Some(ControlMode::Poll) {
            if self.poll_every.is_some() {
                bail!("--poll-every: expected with --model-control poll");
            }
            return Ok(());
        }
        let every = self.poll_every.unwrap_or(POLL_EVERY);
        let served = Arc::downgrade(deployment);
        let poll = thread::Builder::new().name("poll".into());
        poll.spawn(move || poll_files(&served, every))?;
        Ok(())
    }
}

fn poll_files(served: &Weak<Deployment>, every: Duration) {
    loop {
        thread::sleep(every);
        let Some(deployment) = served.upgrade() else {
            return;
        };
        if let Err(error) = deployment.refresh() {
            deployment.note(format!("the repository was read again: {error}"));
        }
    }
}
