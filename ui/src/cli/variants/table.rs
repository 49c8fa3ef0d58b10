//! Variants as a table, as JSON and as CSV.

use divisi_modelless::quantities::{COST_QUERIES, significant};
use divisi_modelless::variants::Variant;
use divisi_registry::records::{RegisteredModel, StaleProfile};
use divisi_runtime::device::format_bytes;
use serde::Serialize;

use super::alone;
use crate::cli::tables::columns;

/// A variant in a report. Its fields are the columns of the CSV.
#[derive(Clone, Debug, Serialize)]
pub(in crate::cli) struct ListedVariant {
    task: String,
    ensemble: String,
    /// The names of its members, joined by `+`.
    members: String,
    /// Whether it has all voting members.
    whole: bool,
    precision: String,
    device: String,
    batch: u32,
    /// The promised accuracy and its interval, as fractions from 0 to 1.
    accuracy: f64,
    accuracy_low: Option<f64>,
    accuracy_high: Option<f64>,
    /// The counted accuracy, which is too high for a selected sub-ensemble.
    accuracy_counted: Option<f64>,
    rows: Option<u32>,
    /// The 99th percentile for a query by itself, and for a full batch.
    alone_ms: f64,
    p99_ms: f64,
    queries_per_s: f64,
    cost_per_million: f64,
    /// The cost of a million queries at a requested rate, as paid for whole devices.
    paid_per_million: Option<f64>,
    loading_ms: f64,
    memory_bytes: u64,
    /// The condition of the host during the measurements: quiet, disturbed or doubtful.
    condition: &'static str,
    /// The reason why it is not used, or `None` if it is.
    stale: Option<String>,
}

impl ListedVariant {
    pub(in crate::cli) fn from_variant(
        task: &str,
        model: &RegisteredModel,
        variant: &Variant,
        stale: Option<&StaleProfile>,
    ) -> Self {
        let record = &model.record;
        let members = variant.members.members();
        let members = members.filter_map(|at| record.members.get(at).map(|m| m.name.as_str()));
        let voters = record.combination.voting.iter().filter(|votes| **votes);
        let device = record.devices.get(usize::from(variant.device.0));
        let interval = variant.accuracy.interval();
        let millis = |time: std::time::Duration| 1e3 * time.as_secs_f64();
        ListedVariant {
            task: task.to_owned(),
            ensemble: model.name.clone(),
            members: members.collect::<Vec<_>>().join("+"),
            whole: variant.members.len() == voters.count(),
            precision: variant.precision.to_string(),
            device: device.map_or_else(String::new, |d| d.name.clone()),
            batch: variant.batch.get(),
            accuracy: variant.accuracy.value().get(),
            accuracy_low: interval.map(|i| i.low.get()),
            accuracy_high: interval.map(|i| i.high.get()),
            accuracy_counted: variant.accuracy.counted_value().map(|a| a.get()),
            rows: variant.accuracy.rows(),
            alone_ms: millis(alone(variant)),
            p99_ms: millis(variant.p99()),
            queries_per_s: variant.saturation().get(),
            cost_per_million: COST_QUERIES * variant.query_cost().get(),
            paid_per_million: None,
            loading_ms: millis(variant.profile.loading),
            memory_bytes: variant.profile.memory,
            condition: record.condition.name(),
            stale: stale.map(ToString::to_string),
        }
    }

    /// Adds the cost at a rate: the price of as many whole devices as the rate needs.
    pub(super) fn at_rate(
        self,
        rate: Option<f64>,
        model: &RegisteredModel,
        variant: &Variant,
    ) -> Self {
        let device = model.record.devices.get(usize::from(variant.device.0));
        let paid = device.zip(rate).map(|(device, rate)| {
            let devices = (rate / self.queries_per_s).ceil().max(1.0);
            COST_QUERIES * devices * device.price.get() / rate
        });
        ListedVariant {
            paid_per_million: paid,
            ..self
        }
    }

    /// Returns a short description of the variant.
    pub(super) fn words(&self) -> String {
        let members = if self.whole {
            "all members"
        } else {
            self.members.as_str()
        };
        format!(
            "{members} of `{}` in {} on {}, batches of {}",
            self.ensemble, self.precision, self.device, self.batch
        )
    }
}

/// The heads of a table of variants, with a column for the cost at a rate if it `is_paid`.
pub(in crate::cli) fn heads(is_paid: bool) -> Vec<String> {
    let heads = [
        "accuracy",
        "(95 %)",
        "counted",
        "members",
        "in",
        "on",
        "batch",
        "alone",
        "p99",
        "queries/s",
        "cost/M",
        "loads",
        "memory",
    ];
    let mut heads = heads.map(str::to_owned).to_vec();
    if is_paid {
        heads.push("paid/M".to_owned());
    }
    heads
}

/// Returns the cells of a variant, in the order of [`heads`].
pub(in crate::cli) fn cells(row: &ListedVariant) -> Vec<String> {
    let percent = |share: f64| format!("{:.2}", 100.0 * share);
    let interval = row.accuracy_low.zip(row.accuracy_high);
    let millis = |ms: f64| format!("{} ms", significant(ms));
    let cells = vec![
        format!("{} %", percent(row.accuracy)),
        interval.map_or_else(String::new, |(low, high)| {
            format!("{}–{}", percent(low), percent(high))
        }),
        row.accuracy_counted
            .map_or_else(String::new, |counted| format!("{} %", percent(counted))),
        if row.whole {
            "all".to_owned()
        } else {
            row.members.clone()
        },
        row.precision.clone(),
        row.device.clone(),
        row.batch.to_string(),
        millis(row.alone_ms),
        millis(row.p99_ms),
        format!("{:.0}", row.queries_per_s),
        significant(row.cost_per_million),
        millis(row.loading_ms),
        format_bytes(row.memory_bytes),
    ];
    let paid = row.paid_per_million.map(significant);
    cells.into_iter().chain(paid).collect()
}

/// Returns the variants as tables, one per task.
pub(super) fn text(rows: &[ListedVariant]) -> String {
    let tasks = rows.chunk_by(|a, b| a.task == b.task);
    let tables = tasks.map(|rows| {
        let table = rows.iter().map(|row| {
            let mark = match (row.stale.is_some(), row.condition) {
                (true, _) => "stale",
                (false, "quiet") => "",
                (false, other) => other,
            };
            [&[row.ensemble.clone()][..], &cells(row), &[mark.to_owned()]].concat()
        });
        let is_paid = rows.iter().any(|row| row.paid_per_million.is_some());
        let head = [&[String::new()][..], &heads(is_paid), &[String::new()]].concat();
        format!("{}\n{}", rows[0].task, columns(&head, table))
    });
    tables.collect::<Vec<_>>().join("\n")
}
