//! `divisi submit`: queues a batch job.

use std::fs::{self, OpenOptions};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use divisi_door::client::Webhook;
use divisi_model::wall_clock::unix_seconds;
use divisi_modelless::goals::QueryGoals;
use divisi_modelless::jobs::JobProgress;
use divisi_registry::records::{JobRecord, RegisteredModel};
use divisi_runtime::words::counted;
use divisi_server::TaskStore;

use crate::cli::args::SampleFiles;
use crate::cli::goals::JobGoalArgs;
use crate::cli::open::read_samples;
use crate::cli::output::print;
use crate::cli::store::StoreArgs;

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct SubmitArgs {
    /// Task name
    #[arg(value_name = "TASK")]
    task: String,
    /// Samples, in any format of `divisi predict --input`
    #[arg(long, value_name = "FILE")]
    input: PathBuf,
    /// New .csv file for the answers
    #[arg(long, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    goals: JobGoalArgs,
    /// At the job's end, run this shell command (job as JSON on standard input) or post the job to
    /// this http:// or https:// address
    #[arg(long, value_name = "COMMAND", value_parser = parse_notified)]
    notify: Option<String>,
    /// Add a column with the variant that answered each row
    #[arg(long)]
    name_variants: bool,
    #[command(flatten)]
    store: StoreArgs,
}

/// Checks an address; anything else is a command.
fn parse_notified(text: &str) -> Result<String, String> {
    let is_address = ["http://", "https://"]
        .iter()
        .any(|scheme| text.starts_with(scheme));
    if is_address && let Err(why) = text.parse::<Webhook>() {
        return Err(why.to_string());
    }
    Ok(text.to_owned())
}

pub(crate) fn run(args: &SubmitArgs) -> Result<()> {
    let goals = args.goals.goals();
    let contents = args.store.place().read()?;
    let models = args.store.named(contents.task(&args.task))?;
    check_goals(&args.task, models, &goals)?;
    let rows = rows(args, models)?;
    let (input, output) = (whole(&args.input)?, new_file(&args.output)?);
    let record = JobRecord {
        task: args.task.clone(),
        input,
        output: output.clone(),
        goals,
        progress: JobProgress { rows, written: 0 },
        submitted_at: unix_seconds(),
        notify: args.notify.clone(),
        names_variants: args.name_variants,
        variants: Vec::new(),
        end: None,
        ended_at: None,
    };
    let submit = || args.store.named(args.store.place().open()?.submit(&record));
    let number = submit().inspect_err(|_| {
        // No job refers to the new file.
        let _ = fs::remove_file(&output);
    })?;
    let count = counted(usize::try_from(rows).unwrap_or(usize::MAX), "row");
    print(&format!(
        "job {number}: {count} queued for `{}`; a server of the task runs it, and `divisi jobs` shows \
         its progress",
        args.task
    ))
}

/// Refuses goals that no variant meets.
fn check_goals(task: &str, models: &[RegisteredModel], goals: &QueryGoals) -> Result<()> {
    let mut all = models.iter().flat_map(|model| &model.variants);
    if all.any(|variant| goals.allows(variant)) {
        return Ok(());
    }
    let all = models.iter().flat_map(|model| &model.variants);
    let accuracies = all.map(|variant| variant.accuracy.value().get());
    let best = 100.0 * accuracies.fold(0.0, f64::max);
    bail!("task `{task}`: no variant meets the goals; the highest accuracy is {best:.2} %");
}

/// Returns the number of rows in the input, read in the task's format.
fn rows(args: &SubmitArgs, models: &[RegisteredModel]) -> Result<u64> {
    let Some(model) = models.first() else {
        bail!("task `{}` has no ensemble", args.task);
    };
    let ensemble = model.record.read_again(TaskStore::read_again);
    let ensemble = ensemble.with_context(|| format!("task `{}`", args.task))?;
    let form = ensemble.sample_form();
    let samples = read_samples(&args.input, &SampleFiles::default(), form)?;
    Ok(samples.len() as u64)
}

fn whole(path: &Path) -> Result<String> {
    let whole = path.canonicalize();
    let whole = whole.with_context(|| path.display().to_string())?;
    Ok(whole.display().to_string())
}

/// Creates a file that does not exist, to reserve its name, and returns its path.
fn new_file(path: &Path) -> Result<String> {
    let shown = path.display();
    if path.extension().is_none_or(|ending| ending != "csv") {
        bail!("--output {shown}: expected a name that ends in .csv");
    }
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new(".")).canonicalize();
    let folder = folder.with_context(|| format!("--output {shown}"))?;
    let name = path
        .file_name()
        .with_context(|| format!("--output {shown}: expected a file"))?;
    let whole = folder.join(name);
    match OpenOptions::new().write(true).create_new(true).open(&whole) {
        Err(why) if why.kind() == ErrorKind::AlreadyExists => {
            bail!("--output {shown}: the file exists")
        }
        made => made.with_context(|| format!("--output {shown}"))?,
    };
    Ok(whole.display().to_string())
}
