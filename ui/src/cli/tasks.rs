//! Tasks that a command line names, in place of an ensemble.

use std::sync::Arc;

use anyhow::Result;
use divisi::device::Devices;
use divisi_registry::records::StaleProfile;
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
    #[command(flatten)]
    store: StoreArgs,
}

impl TaskArgs {
    /// Whether tasks are named.
    pub(super) fn is_set(&self) -> bool {
        !self.task.is_empty()
    }

    /// Returns the name of all tasks together.
    pub(super) fn name(&self) -> String {
        self.task.join("+")
    }

    /// Opens the tasks, for these devices.
    pub(super) fn open(&self, devices: &Devices) -> Result<Arc<ServedTasks>> {
        let contents = self.store.read()?;
        let opened = ServedTasks::open(&contents, &self.task, devices, |model| {
            let read = read_again(&model.record.source);
            read.map_err(|why| StaleProfile::Unreadable(format!("{why:#}")))
        });
        Ok(Arc::new(opened?))
    }
}

/// Everything by which a command line names models.
pub(crate) struct NamedModels<'a> {
    pub target: &'a ServingTarget,
    pub more: MoreModels,
    pub control: ModelControl,
    pub tasks: TaskArgs,
    pub goals: LoadGoals,
}

impl<'a> NamedModels<'a> {
    /// Names what a target does, and nothing beside it.
    pub(crate) fn of(target: &'a ServingTarget) -> Self {
        NamedModels {
            target,
            more: MoreModels::default(),
            control: ModelControl::default(),
            tasks: TaskArgs::default(),
            goals: LoadGoals::default(),
        }
    }
}
