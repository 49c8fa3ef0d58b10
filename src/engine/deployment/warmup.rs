//! Warm-up requests of new models. A model that fails its warm-up is not served.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::serving::{Accounting, Engine, Outcome, Pending, PipelineIndex, Request};
use divisi_model::catalogue::{CatalogueEntry, NewEntry, WarmupRequest};

use super::DeploymentError;
use super::generation::Generation;
use super::source::ModelsRead;

/// The timeout of one request. Models that need longer are not served.
const LONGEST: Duration = Duration::from_secs(300);

/// How often a request is checked against the end of the server.
const CHECKED: Duration = Duration::from_millis(50);

/// The reason why a model did not warm up.
enum NotWarm {
    /// The model failed; holds the reason.
    Failed(String),
    /// The server is ending.
    Ending,
}

/// Warms up the models of a generation that were not served before. Returns the models that failed,
/// each with the reason.
///
/// # Errors
/// The server is ending: `leaving` became true.
pub(super) fn warm_up(
    next: &Generation,
    before: &[NewEntry],
    leaving: &AtomicBool,
) -> Result<BTreeMap<String, String>, DeploymentError> {
    let mut failed = BTreeMap::new();
    for (number, entry) in next.catalogue.entries().iter().enumerate() {
        let same = |old: &NewEntry| Arc::ptr_eq(&old.ensemble, entry.ensemble());
        if before.iter().any(same) {
            continue;
        }
        match ask(next, PipelineIndex(number), entry, leaving) {
            Ok(()) => {}
            Err(NotWarm::Failed(why)) => drop(failed.insert(entry.name().to_owned(), why)),
            Err(NotWarm::Ending) => return Err(DeploymentError::Ending),
        }
    }
    Ok(failed)
}

fn ask(
    next: &Generation,
    pipeline: PipelineIndex,
    entry: &CatalogueEntry,
    leaving: &AtomicBool,
) -> Result<(), NotWarm> {
    let engine = &next.engine;
    let width = entry.ensemble().input.shape.elements();
    let most = engine.telemetry().capacity_of(pipeline);
    for warmup in entry.warmup().iter() {
        let samples = (warmup.values.len() / width).max(1);
        for _ in 0..warmup.count.get() {
            let rows = most / samples;
            ask_once(engine, pipeline, warmup, rows, leaving)?;
        }
    }
    Ok(())
}

/// Sends all rows of a warm-up, in requests that repeat its samples at most `most` times.
fn ask_once(
    engine: &Engine,
    pipeline: PipelineIndex,
    warmup: &WarmupRequest,
    most: usize,
    leaving: &AtomicBool,
) -> Result<(), NotWarm> {
    let failed = |why: String| NotWarm::Failed(format!("warm-up `{}`: {why}", warmup.name));
    let mut left = warmup.rows.get();
    while left > 0 {
        let rows = left.min(most.max(1));
        let values = warmup.values.repeat(rows);
        let request = Request {
            accounting: Accounting::Apart,
            ..Request::new(&values).to(pipeline).within(LONGEST)
        };
        let pending = engine.submit(request);
        let pending = pending.map_err(|refused| failed(refused.to_string()))?;
        let answer = wait(pending, leaving).ok_or(NotWarm::Ending)?;
        answer.map_err(|failure| failed(failure.to_string()))?;
        left -= rows;
    }
    Ok(())
}

/// Waits for the outcome of a request. Returns `None`, and cancels it, if the server is ending.
fn wait(mut pending: Pending, leaving: &AtomicBool) -> Option<Outcome> {
    while !leaving.load(Ordering::Acquire) {
        if let Some(outcome) = pending.wait_within(CHECKED) {
            return Some(outcome);
        }
    }
    None
}

/// Returns remarks on models that failed their warm-up.
pub(super) fn remarks(cold: &BTreeMap<String, String>) -> impl Iterator<Item = String> {
    let told = cold.iter();
    told.map(|(name, why)| format!("model `{name}` is not served: {why}"))
}

/// Removes the failed models and the models that use them.
pub(super) fn refuse(read: &mut ModelsRead, mut failed: BTreeMap<String, String>) {
    while !failed.is_empty() {
        read.entries
            .retain(|entry| !failed.contains_key(&entry.name));
        let users = read.entries.iter().filter_map(|entry| {
            let used = entry.interface.composing.iter();
            let mut used = used.filter_map(|step| failed.get_key_value(&step.model));
            let (model, why) = used.next()?;
            let why = format!("model `{model}`, which it uses, is not served: {why}");
            Some((entry.name.clone(), why))
        });
        let users: BTreeMap<String, String> = users.collect();
        read.failures.append(&mut failed);
        failed = users;
    }
}
