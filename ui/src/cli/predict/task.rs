//! Predictions by a variant of a task.

use anyhow::{Result, bail};
use divisi_model::ensemble::Ensemble;
use divisi_modelless::goals::QueryGoals;
use divisi_tasks::routing::alone;

use super::PredictArgs;
use crate::cli::open::{OpenedEnsemble, say};

/// Opens the variant of a task for queries with these goals. With a server it opens the ensemble
/// that defines the samples.
pub(super) fn open(args: &PredictArgs) -> Result<OpenedEnsemble> {
    let found = args.target.device_choice().find_for_variants(&[])?;
    let devices = found.devices;
    say(&found.notices);
    let tasks = args.tasks.selection(&args.target).open(&devices)?;
    let mut named = tasks.names();
    let (Some((task, _)), None) = (named.next(), named.next()) else {
        bail!("--task: expected one task, found {}", args.tasks.name());
    };
    if args.server.is_some() {
        let Some((_, ensemble)) = tasks.whole(task) else {
            bail!("--task {}: the task has no variants", args.tasks.name());
        };
        return Ok(OpenedEnsemble::new(Ensemble::clone(ensemble), devices));
    }
    let goals = match args.goals.is_set() {
        true => args.goals.goals(),
        false => QueryGoals::unstated(tasks.catalog(), task, None),
    };
    let chosen = alone(&tasks, task, &goals)?;
    let accuracy = tasks.catalog().variant(chosen).accuracy.value();
    let words = tasks.words(chosen);
    say(&[format!(
        "{words} answers; accuracy at registration: {accuracy}"
    )]);
    let ensemble = &tasks.entries()[tasks.group_of(chosen)].ensemble;
    Ok(OpenedEnsemble::new(Ensemble::clone(ensemble), devices))
}

impl PredictArgs {
    /// Refuses goals without a task or a server to choose by them.
    pub(super) fn check_goals(&self) -> Result<()> {
        let has_choice = self.tasks.is_set() || self.server.is_some();
        if self.goals.is_set() && !has_choice {
            bail!("--accuracy, --latency, --cost and --prefer require --task or --server");
        }
        Ok(())
    }

    /// Returns the model name for a server: the task, or the ensemble.
    pub(super) fn model(&self, ensemble: &Ensemble) -> String {
        match self.tasks.is_set() {
            true => self.tasks.name(),
            false => ensemble.name.clone(),
        }
    }
}
