//! Options for the models of a repository: the models loaded at the start, and later changes.

use std::time::Duration;

use anyhow::{Result, bail};
use clap::ValueEnum;
use divisi_server::{FirstModels, ModelControl};

use crate::config::time;

/// When the models of a repository are loaded and unloaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ControlMode {
    /// Load all at the start, without later changes
    None,
    /// Load those of --load-model at the start, others on request
    Explicit,
    /// Load all, and check the files for changes every few seconds
    Poll,
}

/// The options for loading the models of a repository.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Model repository")]
pub(crate) struct ControlArgs {
    /// When to load the models of a repository (default: all at the start, others on request)
    #[arg(long, value_name = "MODE")]
    model_control: Option<ControlMode>,
    /// Load this model at the start, * for all; repeatable (with --model-control explicit)
    #[arg(long, value_name = "MODEL")]
    load_model: Vec<String>,
    /// Interval between checks of the files, with --model-control poll (default: 15s)
    #[arg(long, value_name = "TIME", value_parser = time)]
    poll_every: Option<Duration>,
}

/// The name of `--load-model` that means all models.
const ALL_MODELS: &str = "*";
/// The default interval between checks of a repository's files.
const POLL_EVERY: Duration = Duration::from_secs(15);

impl ControlArgs {
    /// Returns whether any option is given.
    pub(super) fn is_set(&self) -> bool {
        self.model_control.is_some() || !self.load_model.is_empty() || self.poll_every.is_some()
    }

    /// Returns the control, or `None` if no option is given.
    ///
    /// # Errors
    /// An option is given without the option it depends on.
    pub(super) fn control(&self) -> Result<Option<ModelControl>> {
        if self.model_control != Some(ControlMode::Explicit) && !self.load_model.is_empty() {
            bail!("--load-model requires --model-control explicit");
        }
        if self.model_control != Some(ControlMode::Poll) && self.poll_every.is_some() {
            bail!("--poll-every requires --model-control poll");
        }
        Ok(match self.model_control {
            None => None,
            Some(ControlMode::None) => Some(ModelControl::Fixed),
            Some(ControlMode::Explicit) => Some(ModelControl::Explicit(self.first()?)),
            Some(ControlMode::Poll) => {
                Some(ModelControl::Poll(self.poll_every.unwrap_or(POLL_EVERY)))
            }
        })
    }

    fn first(&self) -> Result<FirstModels> {
        let all = self.load_model.iter().any(|name| name == ALL_MODELS);
        match (all, self.load_model.len()) {
            (true, 1) => Ok(FirstModels::All),
            (true, _) => {
                bail!("--load-model {ALL_MODELS} cannot be combined with other models")
            }
            (false, _) => Ok(FirstModels::Named(self.load_model.clone())),
        }
    }
}
