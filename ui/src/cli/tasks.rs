//! Tasks on the command line, instead of an ensemble.

use anyhow::{Result, bail};
use divisi_modelless::policies::PolicyChoice;
use divisi_server::{ModelControl, SelectedModels, TaskOptions, TaskSelection};

use super::args::{MoreModels, ServingTarget};
use super::control::ControlArgs;
use super::goals::LoadGoals;
use super::store::StoreArgs;

/// Tasks to serve instead of an ensemble.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Tasks")]
pub(crate) struct TaskArgs {
    /// Serve this registered task instead of an ensemble; repeatable
    #[arg(long, value_name = "TASK", conflicts_with_all = ["ensemble", "shape", "precision"])]
    task: Vec<String>,
    /// Policy for loading variants: static, infaas, infaas-ilp or divisi (default: static)
    #[arg(long, value_name = "POLICY", value_parser = parse_policy, requires = "task")]
    scaling: Option<PolicyChoice>,
    #[command(flatten)]
    store: StoreArgs,
}

fn parse_policy(name: &str) -> Result<PolicyChoice, String> {
    let all = PolicyChoice::ALL.map(PolicyChoice::name).join(", ");
    PolicyChoice::named(name).ok_or_else(|| format!("expected one of {all}, found `{name}`"))
}

impl TaskArgs {
    /// Selects one task of a store.
    pub(super) fn one_task(task: &str, store: &StoreArgs) -> Self {
        TaskArgs {
            task: vec![task.to_owned()],
            store: store.clone(),
            ..TaskArgs::default()
        }
    }

    /// Returns whether a policy is given.
    pub(super) fn has_scaling(&self) -> bool {
        self.scaling.is_some()
    }

    /// Returns whether tasks are given.
    pub(super) fn is_set(&self) -> bool {
        !self.task.is_empty()
    }

    /// Returns the name of all tasks together.
    pub(super) fn name(&self) -> String {
        self.task.join("+")
    }

    /// Returns the tasks with the devices of a target.
    pub(super) fn selection(&self, target: &ServingTarget) -> TaskSelection {
        TaskSelection {
            names: self.task.clone(),
            store: self.store.place(),
            devices: target.device_choice(),
        }
    }
}

/// The options that select models.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct NamedModels {
    #[command(flatten)]
    pub target: ServingTarget,
    #[command(flatten)]
    pub more: MoreModels,
    #[command(flatten)]
    pub control: ControlArgs,
    #[command(flatten)]
    pub tasks: TaskArgs,
    #[command(flatten)]
    pub goals: LoadGoals,
}

impl NamedModels {
    /// Selects the models of a target only.
    pub(crate) fn from_target(target: &ServingTarget) -> Self {
        NamedModels {
            target: target.clone(),
            ..NamedModels::default()
        }
    }

    /// Reads the models.
    pub(crate) fn read(&self) -> Result<SelectedModels> {
        match self.tasks.is_set() {
            true => self.read_tasks(),
            // clap waives `requires` if an ensemble is given, so it is checked here.
            false if self.tasks.has_scaling() => {
                bail!("--scaling requires --task")
            }
            false if !self.goals.of_load().is_empty() => {
                bail!("--goals requires --task")
            }
            false => {
                let is_chosen = self.control.is_set().then_some(ModelControl::Fixed);
                let mut selection = self.target.selection(&self.more.more, is_chosen);
                // An ensemble has no models to load and unload, whatever the options are.
                selection.check_control()?;
                selection.control = self.control.control()?;
                Ok(SelectedModels::read(&selection)?)
            }
        }
    }

    fn read_tasks(&self) -> Result<SelectedModels> {
        if !self.more.more.is_empty() || self.control.is_set() {
            bail!("--task cannot be combined with an ensemble or other models");
        }
        let selection = self.tasks.selection(&self.target);
        Ok(SelectedModels::of_tasks(&selection)?)
    }

    /// Returns the options for serving tasks.
    pub(crate) fn task_options(&self) -> TaskOptions {
        let usual = TaskOptions::default();
        TaskOptions {
            scaling: self.tasks.scaling.unwrap_or(usual.scaling),
            goals: self.goals.of_load(),
            store: self.tasks.store.place(),
        }
    }
}
