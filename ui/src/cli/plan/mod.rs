//! `divisi plan`: finds the devices for a goal.

mod kinds;
mod report;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use divisi_engine::search::{Cache, Control, PlanOrder, Planned, SearchError, plan};
use divisi_engine::serving::NetworkFactory;
use divisi_model::allocation::MatrixFile;
use divisi_model::catalogue::{Catalogue, Demand, NamedMix};
use divisi_model::ensemble::{Files, PolicyKind};
use divisi_runtime::device::host::HostWatch;
use divisi_server::{FileSource, demand, ensemble_files};

use super::args::{at_least_one, parse_rate, parse_spare};
use super::open::with_policy;
use super::outcome::GoalNotMet;
use super::output::{OutputFile, time_left};
use super::reporting::ProductOptions;
use super::search;
use super::times::parse_millis;
use kinds::{KindPrice, kinds};
use report::report;

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
    /// Kinds of devices: built-in profiles, .toml files, here (this machine), or some of its devices
    /// (cpu:0-1, cuda:0)
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "v100"
    )]
    kinds: Vec<String>,
    /// Price per hour of one of a kind: here=0.2,l4=0.8 (default: the profile's, 0 for this machine)
    #[arg(long, value_name = "PRICES", value_delimiter = ',')]
    price: Vec<KindPrice>,
    /// Most devices in total; this machine counts as one
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
    /// Neither read nor write cached results and profiles
    #[arg(long)]
    no_cache: bool,
    /// Write the matrix of the answer to this file
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    product: ProductOptions,
}

pub(crate) fn run(args: &PlanArgs) -> Result<()> {
    let output = args.product.open(args.output.as_deref())?;
    let order = order(args, read_demand(args)?)?;
    let control = search::control();
    let (started, host) = (Instant::now(), HostWatch::start());
    let planned = watched(&order, &control)?;
    let report = report(&order, &planned, started.elapsed(), host.end());
    // The file is written before the report, since a reader may close the pipe early.
    let written = write(output.as_ref(), &order, &planned);
    let shown = args.product.print(&report, output.as_ref());
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
    with_policy(asked, args.policy, None)
}

fn order(args: &PlanArgs, demand: Demand) -> Result<PlanOrder> {
    let networks = NetworkFactory::new(Arc::clone(demand.models()));
    Ok(PlanOrder {
        demand,
        kinds: kinds(&args.kinds, &args.price)?,
        most: args.most,
        rate: args.rate,
        p99: args.p99,
        spare_memory: args.spare_memory.unwrap_or(0),
        seed: args.seed,
        wide: args.pareto,
        factory: Arc::new(networks),
        cache: (!args.no_cache).then(Cache::of_user).flatten(),
    })
}

/// Plans in its own thread and shows its progress.
fn watched(order: &PlanOrder, control: &Arc<Control>) -> Result<Planned, SearchError> {
    let far = |elapsed| {
        let progress = control.progress();
        let sets = progress.fleets;
        if sets.candidates == 0 {
            let (known, needed) = progress.profiles;
            return format!("{known}/{needed} networks measured on this machine");
        }
        let left = time_left(elapsed, sets.tried, sets.candidates);
        format!(
            "searching device set {} of at most {}{left}",
            (sets.tried + 1).min(sets.candidates),
            sets.candidates
        )
    };
    search::watched("planning", || plan(order, control), far)
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
        if let Some(lack) = &offer.shortfall {
            text += &format!(": {lack}");
        }
    }
    text
}
