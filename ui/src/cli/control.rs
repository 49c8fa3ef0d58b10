//! Options for the models of a repository: those served from the start, and later changes.

use std::time::Duration;

use anyhow::{Result, bail};
use clap::ValueEnum;
use divisi_server::{FirstModels, ModelControl};

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
pub(crate) struct ControlArgs {
    /// When models of a repository are loaded: all at the start (none), when asked for (explicit),
    /// or as its files change (poll) (default: all at the start, others when asked for)
    #[arg(long, value_name = "MODE")]
    model_control: Option<ControlMode>,
    /// Load this model at the start, * for all; may be given several times (with --model-control
    /// explicit)
    #[arg(long, value_name = "MODEL")]
    load_model: Vec<String>,
    /// Between two looks at the files, with --model-control poll (default: 15s)
    #[arg(long, value_name = "TIME", value_parser = time)]
    poll_every: Option<Duration>,
}

/// The name of `--load-model` that means all models.
const ALL_MODELS: &str = "*";
/// Between two readings of the files of a repository.
const POLL_EVERY: Duration = Duration::from_secs(15);

impl ControlArgs {
    /// Whether any option is given.
    pub(super) fn is_set(&self) -> bool {
        self.model_control.is_some() || !self.load_model.is_empty() || self.poll_every.is_some()
    }

    /// Returns the control, or `None` if no option is given.
    ///
    /// # Errors
    /// An option is given without the one that it belongs to.
    pub(super) fn control(&self) -> Result<Option<ModelControl>> {
        if self.model_control != Some(ControlMode::Explicit) && !self.load_model.is_empty() {
            bail!("--load-model: expected with --model-control explicit");
        }
        if self.model_control != Some(ControlMode::Poll) && self.poll_every.is_some() {
            bail!("--poll-every: expected with --model-control poll");
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
                bail!("--load-model {ALL_MODELS}: expected alone, found other models beside it")
            }
            (false, _) => Ok(FirstModels::Named(self.load_model.clone())),
        }
    }
}
