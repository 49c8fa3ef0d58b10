//! `divisi plan`: finds the devices for a goal.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, bail};
use divisi_engine::search::{
    Control, EvaluationError, FleetDevice, Offer, PlanOrder, Planned, SearchError, plan,
};
use divisi_model::allocation::MatrixFile;
use divisi_model::catalogue::{Catalogue, Demand, NamedMix};
use divisi_model::ensemble::{Files, PolicyKind};
use divisi_runtime::device::simulated::find_profile;
use divisi_server::{FileSource, demand, ensemble_files};
use serde::Serialize;

use super::args::{at_least_one, parse_rate, parse_spare};
use super::devices::bare;
use super::outcome::GoalNotMet;
use super::output::{OutputFile, ProgressLine, matrix_table, time_left};
use super::reporting::ProductOptions;
use super::signals;
use super::times::parse_millis;

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct PlanArgs {
    /// Ensemble folder or manifest, or a built-in ensemble
    #[arg(value_name = "ENSEMBLE")]
    pub(super) ensemble: PathBuf,
    /// Further ensembles and .onnx files to serve
    #[arg(value_name = "MORE")]
    more: Vec<PathBuf>,
    /// Traffic share per model: digits=3,imn4=1 (default: equal shares)
    #[arg(long, value_name = "SHARES")]
    mix: Option<NamedMix>,
    /// Required rate of one-sample requests per second
    #[arg(long, value_name = "R", value_parser = parse_rate)]
    rate: f64,
    /// Required p99 latency, such as 30ms
    #[arg(long, value_name = "TIME", value_parser = parse_millis)]
    p99: Option<Duration>,
    /// Kinds of devices: built-in profiles or .toml files, with or without `sim:`
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "v100"
    )]
    kinds: Vec<String>,
    /// Most devices in total
    #[arg(long, default_value_t = 16, value_name = "N", value_parser = at_least_one)]
    most: usize,
    /// Memory to keep free on every device, such as 1GiB
    #[arg(long, value_name = "SIZE", value_parser = parse_spare)]
    spare_memory: Option<u64>,
    /// Batching policy of simulations, as for `allocate` (default: the manifest's)
    #[arg(long, value_name = "P")]
    policy: Option<PolicyKind>,
    /// Continue the search for a longer list of trade-offs
    #[arg(long)]
    pareto: bool,
    /// Random seed
    #[arg(long, default_value_t = 1, value_name = "S")]
    seed: u64,
    /// Write the matrix of the answer to this file
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    product: ProductOptions,
}

#[derive(Serialize)]
struct FleetReport {
    ensemble: String,
    /// The traffic shares of several models.
    #[serde(skip_serializing_if = "Option::is_none")]
    mix: Option<String>,
    rate: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    p99_ms: Option<f64>,
    spare_memory: u64,
    policy: String,
    kinds: Vec<String>,
    most: usize,
    /// The cheapest offer that meets the goal.
    answer: Option<OfferRow>,
    /// The offer closest to the goal, if none meets it.
    closest: Option<OfferRow>,
    /// The parts of the goal that bounds rule out for every set of devices.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    lacks: Vec<String>,
    /// The best trade-offs of price, throughput and latency.
    pareto: Vec<OfferRow>,
    tried: usize,
    ruled_out: usize,
    cancelled: bool,
    elapsed_s: f64,
    seed: u64,
    simulated: bool,
    synthetic: bool,
}

#[derive(Serialize)]
struct OfferRow {
    /// The number of devices of each kind.
    devices: BTreeMap<String, usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    price_per_hour: Option<f64>,
    samples_per_s: f64,
    /// Relative standard error; null if the throughput is predicted.
    samples_per_s_error: Option<f64>,
    /// Latencies at the requested rate, or null if the devices are overloaded.
    p50_us: Option<u64>,
    p99_us: Option<u64>,
    device_names: Vec<String>,
    members: Vec<String>,
    matrix: Vec<Vec<usize>>,
}

pub(crate) fn run(args: &PlanArgs) -> Result<()> {
    let output = args.product.open(args.output.as_deref())?;
    let order = order(args, read_demand(args)?)?;
    let control = Arc::new(Control::default());
    let stop = Arc::clone(&control);
    signals::on_end(move || stop.cancel());
    let started = Instant::now();
    let planned = watched(&order, &control)?;
    let report = report(args, &order, &planned, started.elapsed());
    // The file is written before the report, since a reader may close the pipe early.
    let written = write(output.as_ref(), &order, &planned);
    let shown = args
        .product
        .print(&report, &text(&report, &planned), output.as_ref());
    written.and(shown)?;
    if planned.cancelled {
        bail!("planning cancelled: the result is incomplete");
    }
    if planned.answer.is_none() {
        return Err(GoalNotMet(missed(&order, &planned)).into());
    }
    Ok(())
}

/// Writes the matrix of the answer, if there is an answer and a file.
fn write(output: Option<&OutputFile>, order: &PlanOrder, planned: &Planned) -> Result<()> {
    let (Some(output), Some(answer)) = (output, &planned.answer) else {
        return Ok(());
    };
    let file = MatrixFile::new(&order.demand.models().name, &answer.matrix);
    output.write(&file.to_text())
}

/// Reads the ensembles and their traffic shares.
fn read_demand(args: &PlanArgs) -> Result<Demand> {
    let all = std::iter::once(&args.ensemble).chain(&args.more);
    let all: Vec<Files> = all
        .map(|path| ensemble_files(path))
        .collect::<Result<_, _>>()?;
    let (_, entries) = FileSource::open(all, None)?;
    let name = entries[0].name.clone();
    let asked = demand(Arc::new(Catalogue::new(&name, entries)?), args.mix.as_ref())?;
    let models = asked.models();
    let (policy, segment) = (args.policy.unwrap_or(models.policy), models.segment_size);
    let fits = policy.check(&models.batch_sizes);
    fits.map_err(|why| anyhow!("--policy: {why}"))?;
    Ok(asked.with_policy(policy, segment))
}

fn order(args: &PlanArgs, demand: Demand) -> Result<PlanOrder> {
    let kind = |name: &String| {
        let name = bare(name);
        let profile = find_profile(name).map_err(|e| anyhow!("--kinds: {e}"))?;
        Ok(FleetDevice {
            name: name.to_owned(),
            profile,
        })
    };
    Ok(PlanOrder {
        demand,
        kinds: args.kinds.iter().map(kind).collect::<Result<_>>()?,
        most: args.most,
        rate: args.rate,
        p99: args.p99,
        spare_memory: args.spare_memory.unwrap_or(0),
        seed: args.seed,
        wide: args.pareto,
    })
}

/// Plans in its own thread and shows its progress.
fn watched(order: &PlanOrder, control: &Arc<Control>) -> Result<Planned, SearchError> {
    let far = |elapsed| {
        let sets = control.progress().fleets;
        let left = time_left(elapsed, sets.tried, sets.candidates);
        format!(
            "searching device set {} of at most {}{left}",
            (sets.tried + 1).min(sets.candidates),
            sets.candidates
        )
    };
    ProgressLine::watch(|| plan(order, control), far)
        .unwrap_or_else(|| Err(SearchError::from(EvaluationError::Panicked("planning"))))
}

fn missed(order: &PlanOrder, planned: &Planned) -> String {
    let goal = match order.p99 {
        Some(p99) => format!(
            "{} samples/s with p99 ≤ {} ms",
            order.rate,
            p99.as_secs_f64() * 1e3
        ),
        None => format!("{} samples/s", order.rate),
    };
    let most = order.most;
    let mut text = match planned.tried {
        0 => format!("no set of up to {most} devices can serve {goal}"),
        _ => format!("found no set of up to {most} devices that serves {goal}"),
    };
    for lack in &planned.lacks {
        text += &format!("; {lack}");
    }
    if let Some(offer) = &planned.closest {
        text += &format!("; {} comes closest", order.in_words(&offer.counts));
        if let Some(lack) = offer.lack(order) {
            text += &format!(": {lack}");
        }
    }
    text
}

fn report(args: &PlanArgs, order: &PlanOrder, planned: &Planned, took: Duration) -> FleetReport {
    let row = |offer: &Offer| row(order, offer);
    FleetReport {
        ensemble: order.demand.models().name.clone(),
        mix: mix(order),
        rate: order.rate,
        p99_ms: order.p99.map(|p99| p99.as_secs_f64() * 1e3),
        spare_memory: order.spare_memory,
        policy: order.demand.models().policy.to_string(),
        kinds: args.kinds.clone(),
        most: order.most,
        answer: planned.answer.as_ref().map(row),
        closest: planned.closest.as_ref().map(row),
        lacks: planned.lacks.clone(),
        pareto: planned.pareto.iter().map(row).collect(),
        tried: planned.tried,
        ruled_out: planned.ruled_out,
        cancelled: planned.cancelled,
        elapsed_s: took.as_secs_f64(),
        seed: order.seed,
        simulated: true,
        synthetic: order.demand.models().is_synthetic(),
    }
}

fn mix(order: &PlanOrder) -> Option<String> {
    let several = order.demand.catalogue().single_ensemble().is_none();
    several.then(|| order.demand.in_words())
}

fn row(order: &PlanOrder, offer: &Offer) -> OfferRow {
    let kinds = order.kinds.iter().zip(&offer.counts);
    let frame = offer.matrix.frame();
    OfferRow {
        devices: kinds.map(|(kind, n)| (kind.name.clone(), *n)).collect(),
        price_per_hour: offer.price,
        samples_per_s: offer.throughput,
        samples_per_s_error: offer.doubt.error(),
        p50_us: offer.latency.map(|l| l.p50.as_micros() as u64),
        p99_us: offer.latency.map(|l| l.p99.as_micros() as u64),
        device_names: frame.devices.clone(),
        members: frame.members.clone(),
        matrix: offer.matrix.rows(),
    }
}

fn text(report: &FleetReport, planned: &Planned) -> String {
    let mut text = String::new();
    let shown = planned.answer.as_ref().or(planned.closest.as_ref());
    if let Some(offer) = shown {
        text += &format!("{}\n\n", matrix_table(&offer.matrix));
    }
    if let Some(row) = report.answer.as_ref().or(report.closest.as_ref()) {
        let what = if report.answer.is_some() {
            "meets the goal"
        } else {
            "comes closest"
        };
        text += &format!("{} {what}\n\n", line(row).trim());
    }
    if !report.pareto.is_empty() {
        text += "best trade-offs (price, throughput, latency):\n";
    }
    for row in &report.pareto {
        text += &format!("{}\n", line(row));
    }
    text += &format!(
        "{} device sets searched, {} ruled out, {:.1} s\nsimulated devices at {} samples/s",
        report.tried, report.ruled_out, report.elapsed_s, report.rate
    );
    if let Some(mix) = &report.mix {
        text += &format!(", {mix}");
    }
    text
}

fn line(row: &OfferRow) -> String {
    let kinds = row.devices.iter().filter(|(_, n)| **n > 0);
    let kinds: Vec<String> = kinds.map(|(kind, n)| format!("{n} × {kind}")).collect();
    let price = row.price_per_hour.map(|p| format!("  {p:>7.2} per hour"));
    let latency = match (row.p50_us, row.p99_us) {
        (Some(p50), Some(p99)) => format!(
            "p50 {:.1} ms  p99 {:.1} ms",
            p50 as f64 / 1e3,
            p99 as f64 / 1e3
        ),
        _ => "overloaded".to_owned(),
    };
    let error = match row.samples_per_s_error {
        Some(error) => format!("± {:.1} %", 100.0 * error),
        None => "predicted".into(),
    };
    format!(
        "{:<20}{}  up to {:>7.0} samples/s ({error})  {latency}",
        kinds.join(" + "),
        price.unwrap_or_default(),
        row.samples_per_s
    )
}
