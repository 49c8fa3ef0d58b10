//! The figures of an engine for `/metrics`, beyond those that Triton knows.

use divisi::serving::{Engine, Observed};

use crate::service::Gauge;

/// Returns the figures of an engine, those of one name one after another.
pub(super) fn of(engine: &Engine) -> Vec<Gauge> {
    let seen = engine.telemetry().observe();
    let mut all = whole(&seen);
    all.extend(of_members(engine, &seen));
    all.extend(of_devices(engine, &seen));
    all.extend(of_workers(engine, &seen));
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

fn whole(seen: &Observed) -> Vec<Gauge> {
    vec![
        gauge(
            "divisi_requests_refused_total",
            "Requests that the engine refused",
            seen.refused as f64,
        ),
        gauge(
            "divisi_requests_failed_total",
            "Requests that failed in the engine",
            seen.failed as f64,
        ),
        gauge(
            "divisi_requests_cancelled_total",
            "Requests that their callers gave up",
            seen.cancelled as f64,
        ),
        gauge(
            "divisi_worker_restarts_total",
            "Workers that were built again",
            seen.restarts as f64,
        ),
    ]
}

fn of_members(engine: &Engine, seen: &Observed) -> Vec<Gauge> {
    let names = engine.ensemble().member_names();
    let each = names.into_iter().zip(&seen.members);
    let queued = each.map(|(member, stats)| Gauge {
        labels: vec![("member", member)],
        ..gauge(
            "divisi_member_queued_samples",
            "Samples that wait for a member",
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

/// A figure of each worker.
type WorkerFigure = (
    &'static str,
    &'static str,
    fn(&divisi::serving::WorkerStats) -> f64,
);

const WORKERS: [WorkerFigure; 3] = [
    (
        "divisi_batches_total",
        "Batches that the workers of a matrix entry ran since they started",
        |worker| worker.batches as f64,
    ),
    (
        "divisi_batch_samples_total",
        "Samples of those batches",
        |worker| worker.samples as f64,
    ),
    (
        "divisi_batch_fill_ratio",
        "Share of their room that batches filled in the last second",
        |worker| worker.fill,
    ),
];

fn of_workers(engine: &Engine, seen: &Observed) -> Vec<Gauge> {
    let names = engine.ensemble().member_names();
    let devices = engine.devices();
    let figure = |(name, help, value): WorkerFigure| {
        let each = seen.workers.iter().map(|worker| Gauge {
            labels: vec![
                ("member", names[worker.spec.member.get()].clone()),
                ("device", devices.get(worker.spec.device).name.clone()),
                ("batch", worker.spec.size.get().to_string()),
            ],
            ..gauge(name, help, value(worker))
        });
        each.collect::<Vec<_>>()
    };
    WORKERS.into_iter().flat_map(figure).collect()
}
