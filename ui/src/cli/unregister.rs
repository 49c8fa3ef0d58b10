//! `divisi unregister`: removes a task.

use anyhow::{Context, Result};
use divisi_runtime::words::counted;

use super::output::print;
use super::store::StoreArgs;

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct UnregisterArgs {
    /// Task name
    #[arg(value_name = "TASK")]
    task: String,
    #[command(flatten)]
    store: StoreArgs,
}

pub(crate) fn run(args: &UnregisterArgs) -> Result<()> {
    let context = || args.store.place().name();
    // Reading first avoids the creation of a missing store.
    args.store
        .place()
        .read()?
        .task(&args.task)
        .with_context(context)?;
    let store = args.store.place().open()?;
    let forgotten = store.unregister(&args.task).with_context(context)?;
    let jobs = store.contents().with_context(context)?.jobs;
    let waiting = jobs
        .values()
        .filter(|job| job.end.is_none() && job.task == args.task);
    let models = counted(forgotten, "ensemble");
    let mut text = format!("task `{}` is removed, with {models}", args.task);
    match waiting.count() {
        0 => {}
        count => {
            let jobs = counted(count, "job");
            let wait = if count == 1 { "waits" } else { "wait" };
            text += &format!("; its {jobs} {wait} until the task is registered and served again");
        }
    }
    print(&text)
}
