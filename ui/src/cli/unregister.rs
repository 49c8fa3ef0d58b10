//! `divisi unregister`: removes a task, or some of its ensembles.

use anyhow::Result;
use divisi_registry::store::StoreContents;
use divisi_runtime::words::counted;

use super::output::print;
use super::store::StoreArgs;

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct UnregisterArgs {
    /// Task name
    #[arg(value_name = "TASK")]
    task: String,
    /// Ensembles to remove (default: all ensembles of the task)
    #[arg(value_name = "ENSEMBLE")]
    ensembles: Vec<String>,
    #[command(flatten)]
    store: StoreArgs,
}

pub(crate) fn run(args: &UnregisterArgs) -> Result<()> {
    let place = &args.store;
    // Reading first avoids the creation of a missing store.
    place.named(place.place().read()?.task(&args.task))?;
    let store = place.place().open()?;
    let removed = place.named(store.unregister(&args.task, &args.ensembles))?;
    let contents = place.named(store.contents())?;
    print(&match contents.tasks.get(&args.task) {
        Some(left) => {
            let left: Vec<&str> = left.iter().map(|model| &*model.name).collect();
            let (removed, left) = (removed.join(", "), left.join(", "));
            format!("task `{}`: {removed} removed; it keeps {left}", args.task)
        }
        None => whole(&args.task, removed.len(), &contents),
    })
}

/// Returns the report of the removal of a whole task.
fn whole(task: &str, removed: usize, contents: &StoreContents) -> String {
    let waiting = contents
        .jobs
        .values()
        .filter(|job| job.end.is_none() && job.task == task);
    let models = counted(removed, "ensemble");
    let mut text = format!("task `{task}` is removed, with {models}");
    match waiting.count() {
        0 => {}
        count => {
            let jobs = counted(count, "job");
            let wait = if count == 1 { "waits" } else { "wait" };
            text += &format!("; its {jobs} {wait} until the task is registered and served again");
        }
    }
    text
}
