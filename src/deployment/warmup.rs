//! Requests that a new model is asked before it serves: one that does not answer them is not served.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::catalogue::{CatalogueEntry, NewEntry};
use crate::serving::{Engine, PipelineIndex, Request};

use super::generation::Generation;
use super::source::ModelsRead;

/// The time for one request; a model that needs longer to wake up is not served.
const LONGEST: Duration = Duration::from_secs(300);

/// Asks the models of a generation that were not served before. Returns those that did not answer,
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
    for warmup in entry.warmup().iter() {
        for _ in 0..warmup.count.get() {
            let request = Request::new(&warmup.values).to(pipeline).within(LONGEST);
            let why = match engine.predict(request) {
                Ok(Ok(_)) => continue,
                Ok(Err(failure)) => failure.to_string(),
                Err(refused) => refused.to_string(),
            };
            return Err(format!("warm-up `{}`: {why}", warmup.name));
        }
    }
    Ok(())
}

/// Returns remarks on models that did not answer.
pub(super) fn remarks(cold: &BTreeMap<String, String>) -> impl Iterator<Item = String> {
    let told = cold.iter();
    told.map(|(name, why)| format!("model `{name}` is not served: {why}"))
}

/// Takes models out that did not answer, and those that use them.
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
