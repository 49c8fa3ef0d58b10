//! `divisi unregister`: a task is forgotten.

use anyhow::{Context, Result};
use divisi::words::counted;

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
    let context = || args.store.name();
    // What is not there is not made to be told so.
    args.store.read()?.task(&args.task).with_context(context)?;
    let forgotten = args.store.open()?.unregister(&args.task);
    let models = counted(forgotten.with_context(context)?, "ensemble");
    print(&format!("task `{}` is forgotten, with {models}", args.task))
}
