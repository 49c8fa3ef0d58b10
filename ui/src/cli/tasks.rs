//! Tasks that a command line names, in place of an ensemble.

use std::sync::Arc;

use anyhow::Result;
use divisi::device::Devices;
use divisi_modelless::policies::PolicyChoice;
use divisi_tasks::served::ServedTasks;

use super::args::{MoreModels, ServingTarget};
use super::goals::LoadGoals;
use super::models::ModelControl;
use super::store::{StoreArgs, read_again};

/// Tasks that are served in place of an ensemble.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct TaskArgs {
    /// Serve the variants of this registered task in place of an ensemble: requests name it, and how
    /// accurate, how soon and how cheap its answers have to be; may be given several times
    #[arg(long, value_name = "TASK", conflicts_with_all = ["ensemble", "shape", "precision"])]
    task: Vec<String>,
    /// The policy by which variants are loaded as the load changes: static, individual, infaas,
    /// infaas-code, accuracy or divisi; static keeps those that fit at the start (default: static)
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
    /// Names one task of a store.
    pub(super) fn of(task: &str, store: &StoreArgs) -> Self {
        TaskArgs {
            task: vec![task.to_owned()],
            scaling: None,
            store: store.clone(),
        }
    }

    /// Whether a policy is named.
    pub(super) fn has_scaling(&self) -> bool {
        self.scaling.is_some()
    }

    /// Returns the policy by which variants are loaded.
    pub(super) fn scaling(&self) -> PolicyChoice {
        self.scaling.unwrap_or(PolicyChoice::Static)
    }

    /// Whether tasks are named.
    pub(super) fn is_set(&self) -> bool {
        !self.task.is_empty()
    }

    /// Returns the store that they are in.
    pub(super) fn store(&self) -> &StoreArgs {
        &self.store
    }

    /// Returns the name of all tasks together.
    pub(super) fn name(&self) -> String {
        self.task.join("+")
    }

    /// Opens the tasks, for these devices.
    pub(super) fn open(&self, devices: &Devices) -> Result<Arc<ServedTasks>> {
        let contents = self.store.read()?;
        let opened = ServedTasks::open(&contents, &self.task, devices, read_again);
        Ok(Arc::new(opened?))
    }
}

/// Everything by which a command line names models.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct NamedModels {
    #[command(flatten)]
    pub target: ServingTarget,
    #[command(flatten)]
    pub more: MoreModels,
    #[command(flatten)]
    pub control: ModelControl,
    #[command(flatten)]
    pub tasks: TaskArgs,
    #[command(flatten)]
    pub goals: LoadGoals,
}

impl NamedModels {
    /// Names what a target does, and nothing beside it.
    pub(crate) fn of(target: &ServingTarget) -> Self {
        NamedModels {
            target: target.clone(),
            more: MoreModels::default(),
            control: ModelControl::default(),
            tasks: TaskArgs::default(),
            goals: LoadGoals::default(),
        }
    }
}
