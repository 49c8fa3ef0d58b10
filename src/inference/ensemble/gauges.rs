//! The metrics of an engine in addition to Triton's.

use divisi_engine::serving::{Engine, LevelStats, Observed, PipelineIndex, StepStats, WorkerStats};
use divisi_model::catalogue::CatalogueEntry;

use crate::service::Gauge;

/// Returns the metrics of an engine; those with the same name are adjacent.
pub(super) fn engine_gauges(engine: &Engine) -> Vec<Gauge> {
    let seen = engine.telemetry().observe();
    let mut all = whole(&seen);
    all.extend(of_members(engine, &seen));
    all.extend(of_devices(engine, &seen));
    all.extend(of_workers(engine, &seen));
    all.extend(of_precisions(engine, &seen));
    all.extend(of_steps(engine));
    all.extend(of_queues(engine));
    all
}

fn gauge(name: &'static str, help: &'static str, value: f64) -> Gauge {
    Gauge {
        name,
        help,
        counts: name.ends_with("_total"),
        labels: Vec::new(),
        value,
    }
}

/// A metric of each of several parts.
type PartFigure<S> = (&'static str, &'static str, fn(&S) -> f64);

/// The labels of a part.
type Labels = Vec<(&'static str, String)>;

/// Returns the metrics of parts, ordered by metric.
fn table<S>(figures: &[PartFigure<S>], parts: &[(Labels, S)]) -> Vec<Gauge> {
    let of_figure = |(name, help, value): &PartFigure<S>| {
        let each = parts.iter().map(|(labels, part)| Gauge {
            labels: labels.clone(),
            ..gauge(name, help, value(part))
        });
        each.collect::<Vec<_>>()
    };
    figures.iter().flat_map(of_figure).collect()
}

fn whole(seen: &Observed) -> Vec<Gauge> {
    vec![gauge(
        "divisi_worker_restarts_total",
        "Worker restarts",
        seen.restarts as f64,
    )]
}

fn of_members(engine: &Engine, seen: &Observed) -> Vec<Gauge> {
    let names = engine.ensemble().member_names();
    let each = names.into_iter().zip(&seen.members);
    let queued = each.map(|(member, stats)| Gauge {
        labels: vec![("member", member)],
        ..gauge(
            "divisi_member_queued_samples",
            "Samples queued for a member",
            stats.queued as f64,
        )
    });
    queued.collect()
}

fn of_devices(engine: &Engine, seen: &Observed) -> Vec<Gauge> {
    let each = engine.devices().iter().zip(&seen.devices);
    let busy = each.map(|(device, stats)| Gauge {
        labels: vec![("device", device.name.clone())],
        ..gauge(
            "divisi_device_busy_ratio",
            "Share of the last second in which a device ran batches",
            stats.busy.min(1.0),
        )
    });
    busy.collect()
}

const WORKERS: [PartFigure<WorkerStats>; 3] = [
    (
        "divisi_batches_total",
        "Batches run by the workers of a matrix entry since they started",
        |worker| worker.batches as f64,
    ),
    (
        "divisi_batch_samples_total",
        "Samples in the batches of a matrix entry",
        |worker| worker.samples as f64,
    ),
    (
        "divisi_batch_fill_ratio",
        "Share of the batch size that batches filled in the last second",
        |worker| worker.fill,
    ),
];

/// Returns the labels of the workers of a matrix entry.
fn labels_of_worker(engine: &Engine, names: &[String], worker: &WorkerStats) -> Labels {
    let spec = &worker.spec;
    vec![
        ("member", names[spec.member.get()].clone()),
        ("device", engine.devices().get(spec.device).name.clone()),
        ("batch", spec.size.get().to_string()),
    ]
}

fn of_workers(engine: &Engine, seen: &Observed) -> Vec<Gauge> {
    let names = engine.ensemble().member_names();
    let labels = |worker: &WorkerStats| labels_of_worker(engine, &names, worker);
    let workers = seen.workers.iter();
    let workers: Vec<_> = workers.map(|one| (labels(one), one.clone())).collect();
    table(&WORKERS, &workers)
}

/// Returns the precisions of workers as labels; simulated devices have none.
fn of_precisions(engine: &Engine, seen: &Observed) -> Vec<Gauge> {
    let ensemble = engine.ensemble();
    let names = ensemble.member_names();
    let each = seen.workers.iter().filter_map(|worker| {
        let device = &engine.devices().get(worker.spec.device).kind;
        let precision = worker
            .spec
            .precision
            .on_device(device, ensemble.precision)?;
        let mut labels = labels_of_worker(engine, &names, worker);
        labels.push(("precision", precision.to_owned()));
        Some(Gauge {
            labels,
            ..gauge(
                "divisi_worker_precision",
                "1 for the precision that the workers of a matrix entry compute in",
                1.0,
            )
        })
    });
    each.collect()
}

const STEPS: [PartFigure<StepStats>; 9] = [
    (
        "divisi_step_rows_total",
        "Rows that a step processed",
        |step| step.rows as f64,
    ),
    (
        "divisi_step_skipped_rows_total",
        "Rows that a step skipped because of its condition",
        |step| step.skipped as f64,
    ),
    (
        "divisi_step_parts_total",
        "Parts of requests that a step processed; most requests are one part",
        |step| step.parts as f64,
    ),
    (
        "divisi_step_late_total",
        "Parts of requests whose quorum was reached without a step",
        |step| step.late as f64,
    ),
    (
        "divisi_step_critical_total",
        "Requests whose critical path a step was on",
        |step| step.critical as f64,
    ),
    (
        "divisi_step_last_total",
        "Requests that a step was the last to finish",
        |step| step.last as f64,
    ),
    (
        "divisi_step_wait_seconds_total",
        "Time that rows waited for a step, summed over rows",
        |step| step.waited.as_secs_f64(),
    ),
    (
        "divisi_step_compute_seconds_total",
        "Time that a step computed, summed over rows: each took as long as its batch",
        |step| step.computed.as_secs_f64(),
    ),
    (
        "divisi_step_queued_rows",
        "Rows queued for a step",
        |step| step.queued as f64,
    ),
];

fn of_steps(engine: &Engine) -> Vec<Gauge> {
    let graphs = engine.telemetry().step_graphs().into_iter();
    let entries = engine.catalogue().entries().iter().zip(graphs);
    let steps = entries.flat_map(|(entry, graph)| {
        let steps = graph.steps.into_iter();
        steps.map(|step| {
            let mut labels = labels_of(entry);
            labels.push(("step", step.name));
            (labels, step.stats)
        })
    });
    table(&STEPS, &steps.collect::<Vec<_>>())
}

const LEVELS: [PartFigure<LevelStats>; 4] = [
    (
        "divisi_queue_requests",
        "Requests of a priority waiting for their first batch",
        |level| level.waiting as f64,
    ),
    (
        "divisi_queue_refused_total",
        "Requests refused because the queue of their priority was full",
        |level| level.refused as f64,
    ),
    (
        "divisi_queue_expired_total",
        "Requests that failed because they waited longer than allowed",
        |level| level.expired as f64,
    ),
    (
        "divisi_queue_delayed_total",
        "Requests that waited longer than allowed and were moved behind the others",
        |level| level.delayed as f64,
    ),
];

/// Returns the labels of an entry of the catalogue.
fn labels_of(entry: &CatalogueEntry) -> Labels {
    let version = entry.version().to_string();
    vec![("model", entry.name().to_owned()), ("version", version)]
}

fn of_queues(engine: &Engine) -> Vec<Gauge> {
    let entries = engine.catalogue().entries().iter().enumerate();
    let levels = entries.flat_map(|(number, entry)| {
        let queue = engine.telemetry().queue_of(PipelineIndex(number));
        let levels = queue.into_iter().zip(1_usize..);
        levels.map(move |(stats, level)| {
            let mut labels = labels_of(entry);
            labels.push(("priority", level.to_string()));
            (labels, stats)
        })
    });
    table(&LEVELS, &levels.collect::<Vec<_>>())
}
