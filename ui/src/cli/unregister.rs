//! `divisi unregister`: a task is forgotten.

use anyhow::{Context, Result};
use divisi_runtime::words::counted;

use super::output::print;
use super::store::StoreArgs;

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct UnregisterArgs {
    /// The task
    #[arg(value_name = "TASK")]
    task: String,
    #[command(flatten)]
    store: StoreArgs,
}

pub(crate) fn run(args: &UnregisterArgs) -> Result<()> {
    let context = || args.store.place().name();
    // What is not there is not made to be told so.
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
    let mut text = format!("task `{}` is forgotten, with {models}", args.task);
    match waiting.count() {
        0 => {}
        count => {
            let jobs = counted(count, "job");
            let wait = if count == 1 { "waits" } else { "wait" };
            text += &format!("; {jobs} of it {wait} until it is registered and served again");
        }
    }
    print(&text)
}
