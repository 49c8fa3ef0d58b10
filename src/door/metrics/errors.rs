//! The ledger of errors and the service objective as metrics.

use std::collections::BTreeMap;

use divisi_engine::serving::RequestLedger;
use divisi_inference::error::ErrorKind;
use divisi_inference::service::Gauge;
use divisi_model::metrics::{ErrorKey, ErrorOutcome, ErrorSubject, NamedVersion};

/// The name and the help text of a metric.
type MetricName = (&'static str, &'static str);

/// Returns the metric of requests with an outcome.
const fn metric(outcome: ErrorOutcome) -> MetricName {
    match outcome {
        ErrorOutcome::Refused => (
            "divisi_requests_refused_total",
            "Requests answered with an error before their work started; without model: no served model was named",
        ),
        ErrorOutcome::Failed => (
            "divisi_requests_failed_total",
            "Requests that were accepted and ended with an error",
        ),
        ErrorOutcome::Cancelled => (
            "divisi_requests_cancelled_total",
            "Requests that clients cancelled",
        ),
    }
}

/// The metric of errors without a request.
const CALLS: MetricName = (
    "divisi_calls_refused_total",
    "Other calls, request heads and connections that were refused or failed, by reason",
);

/// Returns the metrics of a ledger; those with the same name are adjacent.
pub(crate) fn error_gauges(ledger: &RequestLedger) -> Vec<Gauge> {
    let totals = ledger.totals();
    let mut gauges = Vec::new();
    for outcome in ErrorOutcome::ALL {
        gauges.extend(of_requests(&totals, outcome));
    }
    gauges.extend(of_calls(&totals));
    gauges.extend(of_objective(ledger));
    gauges
}

/// The totals of a ledger.
type ErrorTotals = [(Option<NamedVersion>, ErrorKey, u64)];

/// Returns the requests with an outcome by model and reason. Reasons that never occurred have
/// zeros without a model, so that rates are known from the first error on.
fn of_requests(totals: &ErrorTotals, outcome: ErrorOutcome) -> impl Iterator<Item = Gauge> {
    let kinds = ErrorKind::ALL.into_iter();
    let kinds = kinds.filter(move |kind| {
        (*kind == ErrorKind::Cancelled) == (outcome == ErrorOutcome::Cancelled)
    });
    let mut counts: BTreeMap<(Option<&NamedVersion>, &str), u64> =
        kinds.map(|kind| ((None, kind.name()), 0)).collect();
    for (model, key, total) in totals {
        if (key.subject, key.outcome) == (ErrorSubject::Request, outcome) {
            *counts
                .entry((model.as_ref(), key.reason.name()))
                .or_default() += total;
        }
    }
    let gauges: Vec<Gauge> = counts
        .into_iter()
        .map(|((model, reason), total)| {
            let mut labels = labels_of(model);
            labels.push(("reason", reason.to_owned()));
            counter(metric(outcome), labels, total)
        })
        .collect();
    gauges.into_iter()
}

fn of_calls(totals: &ErrorTotals) -> impl Iterator<Item = Gauge> {
    ErrorKind::ALL.into_iter().map(|kind| {
        let of_kind = totals.iter();
        let of_kind =
            of_kind.filter(|(_, key, _)| (key.subject, key.reason) == (ErrorSubject::Call, kind));
        let total = of_kind.map(|(_, _, total)| total).sum();
        counter(CALLS, vec![("reason", kind.name().to_owned())], total)
    })
}

/// Returns the service objective and the requests that count for it; nothing without one.
fn of_objective(ledger: &RequestLedger) -> Vec<Gauge> {
    let Some(counts) = ledger.objective() else {
        return Vec::new();
    };
    let gauge = |name, help, value| Gauge {
        counts: false,
        value,
        ..counter((name, help), Vec::new(), 0)
    };
    let met = |met: &str, count| {
        let name = (
            "divisi_objective_requests_total",
            "Requests by whether they met the service objective; late answers and errors of the server do not",
        );
        counter(name, vec![("met", met.to_owned())], count)
    };
    vec![
        gauge(
            "divisi_objective_latency_seconds",
            "Maximum latency of the service objective",
            counts.objective.latency.as_secs_f64(),
        ),
        gauge(
            "divisi_objective_ratio",
            "Share of requests that must meet the service objective",
            counts.objective.share,
        ),
        met("true", counts.met),
        met("false", counts.missed),
    ]
}

fn labels_of(model: Option<&NamedVersion>) -> Vec<(&'static str, String)> {
    let Some(NamedVersion { name, version }) = model else {
        return Vec::new();
    };
    vec![
        ("model", name.to_string()),
        ("version", version.to_string()),
    ]
}

fn counter((name, help): MetricName, labels: Vec<(&'static str, String)>, total: u64) -> Gauge {
    Gauge {
        name,
        help,
        counts: true,
        labels,
        value: total as f64,
    }
}
