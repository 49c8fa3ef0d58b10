//! Warm-up requests of new models. A model that fails its warm-up is not served.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::serving::{Accounting, Engine, PipelineIndex, Request};
use divisi_model::catalogue::{CatalogueEntry, NewEntry, WarmupRequest};

use super::generation::Generation;
use super::source::ModelsRead;

/// The timeout of one request. Models that need longer are not served.
const LONGEST: Duration = Duration::from_secs(300);

/// Warms up the models of a generation that were not served before. Returns the models that failed,
/// each with the reason.
pub(super) fn warm_up(next: &Generation, before: &[NewEntry]) -> BTreeMap<String, String> {
    let mut failed = BTreeMap::new();
    for (number, entry) in next.catalogue.entries().iter().enumerate() {
        let same = |old: &NewEntry| Arc::ptr_eq(&old.ensemble, entry.ensemble());
        if before.iter().any(same) {
            continue;
        }
        if let Err(why) = ask(&next.engine, PipelineIndex(number), entry) {
            failed.insert(entry.name().to_owned(), why);
        }
    }
    failed
}

fn ask(engine: &Engine, pipeline: PipelineIndex, entry: &CatalogueEntry) -> Result<(), String> {
    let width = entry.ensemble().input.shape.elements();
    let most = engine.telemetry().capacity_of(pipeline);
    for warmup in entry.warmup().iter() {
        let samples = (warmup.values.len() / width).max(1);
        for _ in 0..warmup.count.get() {
            let asked = ask_once(engine, pipeline, (warmup, most / samples));
            asked.map_err(|why| format!("warm-up `{}`: {why}", warmup.name))?;
        }
    }
    Ok(())
}

/// Sends all rows of a warm-up, in requests that repeat its samples at most `most` times.
fn ask_once(
    engine: &Engine,
    pipeline: PipelineIndex,
    (warmup, most): (&WarmupRequest, usize),
) -> Result<(), String> {
    let mut left = warmup.rows.get();
    while left > 0 {
        let rows = left.min(most.max(1));
        let values = warmup.values.repeat(rows);
        let request = Request {
            accounting: Accounting::Apart,
            ..Request::new(&values).to(pipeline).within(LONGEST)
        };
        match engine.predict(request) {
            Ok(Ok(_)) => left -= rows,
            Ok(Err(failure)) => return Err(failure.to_string()),
            Err(refused) => return Err(refused.to_string()),
        }
    }
    Ok(())
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
