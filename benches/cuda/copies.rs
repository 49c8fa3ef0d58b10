//! Which share of the time that copies take is hidden behind computing, by the spans.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Result, anyhow};
use divisi_engine::serving::Engine;
use divisi_model::ensemble::{PolicyKind, Wait};
use divisi_model::trace::{Span, SpanKind};
use divisi_runtime::compute::gpu::Precision;
use serde_json::json;

use crate::bed::{BUILTIN, Bed, networks};
use crate::flood::Clients;

const TIME: Duration = Duration::from_secs(2);
const SIZE: i64 = 32;
const CLIENTS: Clients = Clients {
    threads: 4,
    under_way: 4,
    samples: 16,
};
const POLICIES: [&str; 3] = ["elastic", "pipelined-opt-wait", "no-wait"];

pub fn run() -> Result<()> {
    let all = Bed::open(BUILTIN, Precision::Bf16)?;
    for network in networks(&["resnet50", "vgg16"]) {
        let bed = all.only(&network)?;
        let engine = bed.serve(&["cuda:0"], SIZE)?;
        let samples = bed.samples()?;
        for policy in POLICIES {
            let wait = Wait::millis(5);
            let named = PolicyKind::from_name(policy, wait).map_err(anyhow::Error::msg)?;
            engine.apply_setup(&engine.setup().with_policy(named), &mut |_| {})?;
            CLIENTS.flood(&engine, &samples, TIME / 4)?;
            let (rate, spans) = watched(&engine, || CLIENTS.flood(&engine, &samples, TIME))?;
            let line = json!({
                "network": network,
                "policy": policy,
                "samples_per_s": rate.samples_per_s,
                "in": share(&spans, &[SpanKind::CopyAhead, SpanKind::CopyIn]),
                "out": share(&spans, &[SpanKind::CopyOut]),
            });
            println!("{line}");
        }
    }
    Ok(())
}

/// Returns the value of `work`, and all spans meanwhile: they are taken often, as few are kept.
fn watched<T>(engine: &Engine, work: impl FnOnce() -> Result<T>) -> Result<(T, Vec<Span>)> {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let mut spans = Vec::new();
            engine.telemetry().drain_spans(&mut spans);
            spans.clear();
            while !over.load(Ordering::Acquire) {
                thread::sleep(Duration::from_millis(20));
                engine.telemetry().drain_spans(&mut spans);
            }
            spans
        });
        let done = work();
        over.store(true, Ordering::Release);
        let spans = watcher
            .join()
            .map_err(|_| anyhow!("the watcher panicked"))?;
        Ok((done?, spans))
    })
}

/// The share of the copies' time in which something computed, and that time in seconds.
fn share(spans: &[Span], kinds: &[SpanKind]) -> serde_json::Value {
    let computing = union(spans.iter().filter(|s| s.kind == SpanKind::Compute));
    let copying = union(spans.iter().filter(|s| kinds.contains(&s.kind)));
    let total: f64 = copying.iter().map(|(start, end)| end - start).sum();
    let hidden: f64 = copying.iter().map(|copy| within(copy, &computing)).sum();
    match total > 0.0 {
        true => json!({ "hidden": hidden / total, "seconds": total }),
        false => json!(null),
    }
}

/// Stretches of time in which at least one of `spans` was under way, in order.
fn union<'a>(spans: impl Iterator<Item = &'a Span>) -> Vec<(f64, f64)> {
    let mut all: Vec<(f64, f64)> = spans
        .map(|span| (span.start.as_secs_f64(), span.end.as_secs_f64()))
        .collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut joined: Vec<(f64, f64)> = Vec::new();
    for (start, end) in all {
        match joined.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => joined.push((start, end)),
        }
    }
    joined
}

/// How much of `stretch` lies within `others`, which are in order and apart.
fn within(stretch: &(f64, f64), others: &[(f64, f64)]) -> f64 {
    let first = others.partition_point(|other| other.1 <= stretch.0);
    others[first..]
        .iter()
        .take_while(|other| other.0 < stretch.1)
        .map(|other| other.1.min(stretch.1) - other.0.max(stretch.0))
        .sum()
}
