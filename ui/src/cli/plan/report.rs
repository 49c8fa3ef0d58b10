//! The report of a plan, as text and as JSON.

use std::collections::BTreeMap;
use std::time::Duration;

use divisi_engine::search::{FleetDevice, Offer, PlanOrder, Planned};
use divisi_model::metrics::HostLoad;
use serde::Serialize;

use crate::cli::measured_host::MeasuredHost;
use crate::cli::reporting::Report;
use crate::cli::tables::{MatrixReport, lines, matrix_table};

#[derive(Serialize)]
pub(super) struct FleetReport {
    ensemble: String,
    /// The traffic shares of several models.
    #[serde(skip_serializing_if = "Option::is_none")]
    mix: Option<String>,
    rate: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    p99_ms: Option<f64>,
    spare_memory: u64,
    policy: String,
    kinds: Vec<KindRow>,
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
    /// The load of the host during the search, if it profiled devices of this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<MeasuredHost>,
    simulated: bool,
    synthetic: bool,
}

/// A kind of device in a report.
#[derive(Serialize)]
struct KindRow {
    name: String,
    /// Whether its devices are simulated. The others are this machine's.
    simulated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    price_per_hour: Option<f64>,
    /// A remark on the source of its figures.
    #[serde(skip_serializing_if = "Option::is_none")]
    remark: Option<&'static str>,
}

impl KindRow {
    fn new(kind: &FleetDevice) -> Self {
        let profile = kind.unit.iter().find_map(|device| device.kind.profile());
        KindRow {
            name: kind.name.clone(),
            simulated: kind.is_simulated(),
            price_per_hour: kind.price,
            remark: match profile {
                Some(profile) => profile.remark(),
                None => Some("this machine, with profiles measured on it"),
            },
        }
    }
}

#[derive(Serialize)]
struct OfferRow {
    /// The devices in words.
    #[serde(skip)]
    words: String,
    /// The number of devices of each kind.
    devices: BTreeMap<String, usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    price_per_hour: Option<f64>,
    samples_per_s: f64,
    /// Relative standard error; null if the throughput is predicted.
    samples_per_s_error: Option<f64>,
    /// The uncertainty of the throughput in words.
    samples_per_s_doubt: String,
    /// Latencies at the requested rate, or null if the devices are overloaded.
    p50_us: Option<u64>,
    p99_us: Option<u64>,
    device_names: Vec<String>,
    #[serde(flatten)]
    placed: MatrixReport,
}

/// Returns the report of a plan that took this time.
pub(super) fn report(
    order: &PlanOrder,
    planned: &Planned,
    took: Duration,
    load: Option<HostLoad>,
) -> FleetReport {
    let is_real = order.kinds.iter().any(|kind| !kind.is_simulated());
    let load = load.filter(|_| is_real);
    let row = |offer: &Offer| row(order, offer);
    FleetReport {
        ensemble: order.demand.models().name.clone(),
        mix: mix(order),
        rate: order.rate,
        p99_ms: order.p99.map(|p99| p99.as_secs_f64() * 1e3),
        spare_memory: order.spare_memory,
        policy: order.demand.models().policy.to_string(),
        kinds: order.kinds.iter().map(KindRow::new).collect(),
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
        host: load.map(MeasuredHost::from_load),
        simulated: order.kinds.iter().any(FleetDevice::is_simulated),
        synthetic: order.demand.models().is_synthetic(),
    }
}

fn mix(order: &PlanOrder) -> Option<String> {
    let several = order.demand.catalogue().single_ensemble().is_none();
    several.then(|| order.demand.in_words())
}

fn row(order: &PlanOrder, offer: &Offer) -> OfferRow {
    let kinds = order.kinds.iter().zip(&offer.counts);
    OfferRow {
        words: order.in_words(&offer.counts),
        devices: kinds.map(|(kind, n)| (kind.name.clone(), *n)).collect(),
        price_per_hour: offer.price,
        samples_per_s: offer.throughput,
        samples_per_s_error: offer.doubt.error(),
        samples_per_s_doubt: offer.doubt.to_string(),
        p50_us: offer.latency.map(|l| l.p50.as_micros() as u64),
        p99_us: offer.latency.map(|l| l.p99.as_micros() as u64),
        device_names: offer.matrix.frame().devices.clone(),
        placed: MatrixReport::new(&offer.matrix),
    }
}

impl Report for FleetReport {
    fn text(&self) -> String {
        let nearest = match (&self.answer, &self.closest) {
            (Some(row), _) => Some((row, "meets the goal")),
            (None, closest) => closest.as_ref().map(|row| (row, "comes closest")),
        };
        let nearest = nearest.map(|(row, what)| {
            let table = matrix_table(row.placed.matrix());
            format!("{table}\n\n{} {what}\n", line(row).trim())
        });
        let head = "best trade-offs (price, throughput, latency):";
        let head = (!self.pareto.is_empty()).then(|| head.to_owned());
        let offers = self.pareto.iter().map(|row| Some(line(row)));
        let searched = format!(
            "{} device sets searched, {} ruled out, {:.1} s",
            self.tried, self.ruled_out, self.elapsed_s
        );
        let remarks = remarks(&self.kinds);
        let remarks = remarks
            .iter()
            .map(|(remark, names)| Some(format!("{}: {remark}", names.join(", "))));
        let host = self.host.as_ref().map(MeasuredHost::line);
        let first = [nearest, head].into_iter().chain(offers);
        let rest = [Some(searched), Some(self.load())]
            .into_iter()
            .chain(remarks);
        lines(first.chain(rest).chain([host]))
    }
}

impl FleetReport {
    /// Returns the searched load in words.
    fn load(&self) -> String {
        let simulated = if self.simulated {
            "simulated devices "
        } else {
            ""
        };
        let mix = self.mix.as_ref().map(|mix| format!(", {mix}"));
        let mix = mix.unwrap_or_default();
        format!("{simulated}at {} samples/s{mix}", self.rate)
    }
}

/// Returns each remark with the names of its kinds.
fn remarks(kinds: &[KindRow]) -> BTreeMap<&'static str, Vec<&str>> {
    let mut remarks: BTreeMap<&'static str, Vec<&str>> = BTreeMap::new();
    for kind in kinds {
        if let Some(remark) = kind.remark {
            remarks.entry(remark).or_default().push(&kind.name);
        }
    }
    remarks
}

fn line(row: &OfferRow) -> String {
    let price = row.price_per_hour.map(|p| format!("  {p:>7.2} per hour"));
    let latency = match (row.p50_us, row.p99_us) {
        (Some(p50), Some(p99)) => format!(
            "p50 {:.1} ms  p99 {:.1} ms",
            p50 as f64 / 1e3,
            p99 as f64 / 1e3
        ),
        _ => "overloaded".to_owned(),
    };
    format!(
        "{:<20}{}  up to {:>7.0} samples/s ({})  {latency}",
        row.words,
        price.unwrap_or_default(),
        row.samples_per_s,
        row.samples_per_s_doubt
    )
}
