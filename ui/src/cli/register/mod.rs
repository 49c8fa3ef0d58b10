//! `divisi register`: measures an ensemble and stores its variants for a task.

mod report;
mod repository;

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use divisi_engine::search::{Cache, Control, ProfileRenewal};
use divisi_model::ensemble::{Ensemble, Samples};
use divisi_modelless::variants::VariantPrecision;
use divisi_registry::profiles::DevicePrices;
use divisi_registry::records::{RegisteredModel, TaskInterface};
use divisi_registry::registration::{KindOfDevice, Registration, RegistrationRemark};
use divisi_registry::store::StoreContents;
use divisi_runtime::device::Host;
use divisi_server::{TaskStore, repository_model, repository_models};

use super::accuracy::without_targets;
use super::args::{SampleFiles, ServingTarget, at_least_one};
use super::open::{OpenedEnsemble, open_for_variants};
use super::output::{ProgressLine, time_left};
use super::reporting::ReportOptions;
use super::search;
use super::store::StoreArgs;
use report::RegistrationReport;

#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct RegisterArgs {
    /// Task name, as clients request it
    #[arg(value_name = "TASK", value_parser = parse_task)]
    task: String,
    #[command(flatten)]
    pub(super) target: ServingTarget,
    /// Name of the ensemble in the task (default: its own, or its folder's in a repository)
    #[arg(long, value_name = "NAME", value_parser = parse_task)]
    name: Option<String>,
    /// Replace an ensemble of this name that was registered from another place
    #[arg(long)]
    replace: bool,
    /// Precisions of variants, comma-separated: f32, bf16 or int8 on CPUs, f32 or bf16 on GPUs
    #[arg(
        long, value_name = "LIST", value_delimiter = ',', default_value = "f32,bf16,int8",
        value_parser = parse_precision(), conflicts_with = "precision"
    )]
    precisions: Vec<VariantPrecision>,
    /// Labelled samples to measure accuracy on (default: the manifest's calibration samples)
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
    #[command(flatten)]
    files: SampleFiles,
    /// Number of samples to use, from the first (default: all)
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    rows: Option<usize>,
    /// Hourly price of a device, or per kind: cpu=0.05,cuda=3 (default: 0.04 per core, 3 per GPU)
    #[arg(long, value_name = "PRICES")]
    price: Option<DevicePrices>,
    /// Neither read nor write cached profiles
    #[arg(long)]
    no_cache: bool,
    /// Measure again and replace cached profiles
    #[arg(long, conflicts_with = "no_cache")]
    measure_again: bool,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    report: ReportOptions,
}

/// The longest task name, in bytes.
const LONGEST: usize = 200;

fn parse_task(text: &str) -> Result<String, String> {
    let is_name = !text.is_empty() && text.len() <= LONGEST && !text.contains(char::is_control);
    match is_name {
        true => Ok(text.to_owned()),
        false => Err(format!(
            "expected a name of 1 to {LONGEST} bytes on one line"
        )),
    }
}

/// Parses a precision of variants, with its names for completions.
fn parse_precision() -> impl TypedValueParser<Value = VariantPrecision> {
    let names = VariantPrecision::ALL.map(VariantPrecision::name);
    PossibleValuesParser::new(names).try_map(|name| {
        let mut all = VariantPrecision::ALL.into_iter();
        all.find(|precision| precision.name() == name)
            .ok_or("expected f32, bf16 or int8")
    })
}

pub(crate) fn run(args: &RegisterArgs) -> Result<()> {
    let control = search::control();
    let output = args.report.open()?;
    match repository_models(&args.target.ensemble)? {
        Some(models) => output.write(&repository::register(args, &models, &control)?),
        None => output.write(&register(args, &control)?),
    }
}

/// Registers a built-in ensemble for a task, in all precisions.
pub(super) fn sample(task: &str, target: &ServingTarget, store: &StoreArgs) -> Result<()> {
    let args = RegisterArgs {
        task: task.to_owned(),
        target: target.clone(),
        precisions: VariantPrecision::ALL.to_vec(),
        store: store.clone(),
        ..RegisterArgs::default()
    };
    register(&args, &Arc::default()).map(drop)
}

fn register(args: &RegisterArgs, control: &Arc<Control>) -> Result<RegistrationReport> {
    // Errors of the store and of names are reported before the measurements.
    let contents = args.store.place().read()?;
    let opened = open_for_variants(&args.target)?;
    let name = name_of(args, &opened.ensemble);
    check_name(args, &name, &contents, &opened.ensemble)?;
    let samples = samples(args, &opened)?;
    let prices = args.price.unwrap_or_default();
    let kinds = KindOfDevice::from_devices(&opened.devices, &host(args), &prices)?;
    let cache = (!args.no_cache).then(Cache::of_user).flatten();
    let cache = match args.measure_again {
        true => cache.map(|cache| cache.renewing(ProfileRenewal::All)),
        false => cache,
    };
    let registration = Registration {
        demand: &opened.demand,
        kinds: &kinds,
        precisions: &distinct(&args.precisions),
        samples: &samples,
        factory: opened.networks(),
        cache: cache.as_ref(),
        control,
    };
    registration.check()?;
    let model = RegisteredModel {
        name,
        ..measured(&registration, args)?
    };
    let store = args.store.place().open()?;
    let written = match args.replace {
        true => store.replace(&args.task, &model),
        false => store.register(&args.task, &model),
    };
    args.store.named(written)?;
    let mut remarks = registration.remarks(&model);
    let others = contents
        .counted_on_other_rows(&args.task, &model)
        .into_iter();
    remarks.extend(others.map(|name| RegistrationRemark::OtherRows(name.to_owned())));
    Ok(RegistrationReport::from_registration(
        &args.task,
        &model,
        &registration,
        &remarks,
    ))
}

/// Returns the name of the ensemble in its task. The files of a repository's models often have the
/// same name, so the names of their folders are used.
fn name_of(args: &RegisterArgs, ensemble: &Ensemble) -> String {
    let folder = || repository_model(&args.target.ensemble);
    let given = args.name.clone().or_else(folder);
    given.unwrap_or_else(|| ensemble.name.clone())
}

/// Checks that the ensemble replaces no ensemble from another place, and suits its task.
fn check_name(
    args: &RegisterArgs,
    name: &str,
    contents: &StoreContents,
    ensemble: &Ensemble,
) -> Result<()> {
    let source = TaskStore::recorded(&args.target.ensemble, args.target.shape);
    if !args.replace {
        contents.check_source(&args.task, name, &source)?;
    }
    let interface = TaskInterface::from_ensemble(ensemble);
    Ok(contents.check_interface(&args.task, name, &interface)?)
}

/// Measures in its own thread and shows the progress.
fn measured(registration: &Registration<'_>, args: &RegisterArgs) -> Result<RegisteredModel> {
    let source = TaskStore::recorded(&args.target.ensemble, args.target.shape);
    let far = |elapsed| {
        let (known, needed) = registration.control.progress().profiles;
        match needed {
            0 => "measuring accuracy".to_owned(),
            _ => format!(
                "measuring member {} of {needed} in this precision{}",
                (known + 1).min(needed),
                time_left(elapsed, known, needed)
            ),
        }
    };
    let done = ProgressLine::watch(|| registration.measure(source), far);
    Ok(done.context("the registration failed: nothing was written")??)
}

fn host(args: &RegisterArgs) -> Host {
    let host = Host::discover();
    match args.target.memory {
        Some(bytes) => host.with_memory(bytes),
        None => host,
    }
}

/// Returns each precision once, in the order of the option.
fn distinct(asked: &[VariantPrecision]) -> Vec<VariantPrecision> {
    let mut distinct: Vec<VariantPrecision> = Vec::new();
    for precision in asked {
        if !distinct.contains(precision) {
            distinct.push(*precision);
        }
    }
    distinct
}

/// Returns the labelled samples, limited to the requested number.
fn samples(args: &RegisterArgs, opened: &OpenedEnsemble) -> Result<Arc<Samples>> {
    let samples = opened.samples(args.input.as_deref(), &args.files)?;
    let answers = opened.ensemble.answers;
    let labels = match (samples.labels(), &args.input) {
        (Some(labels), _) => labels,
        (None, Some(path)) if answers.is_of_classes() => {
            bail!("{}: {}", path.display(), without_targets(answers))
        }
        (None, _) if args.rows.is_some() => bail!(without_targets(answers)),
        // Other errors of the samples are reported first.
        (None, _) => return Ok(samples),
    };
    let Some(rows) = args.rows else {
        return Ok(samples);
    };
    if rows > samples.len() {
        let found = samples.len();
        bail!("--rows: expected at most {found}, the number of samples, found {rows}");
    }
    let (values, labels) = (samples.rows(0, rows).into_owned(), labels[..rows].to_vec());
    let first = Samples::new(values, samples.width(), Some(labels))?;
    Ok(Arc::new(first))
}
