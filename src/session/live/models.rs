//! The models of a catalogue as a console shows them, and log lines about their changes.

use std::collections::{BTreeMap, BTreeSet};

use crate::{CatalogueView, ModelCallers, ModelFigures, ModelKind, VariantView};
use divisi_engine::deployment::{LoadState, ModelStatus};
use divisi_engine::serving::{Engine, EntryStats, RequestLedger};
use divisi_model::catalogue::{Catalogue, CatalogueEntry};
use divisi_model::metrics::{ErrorKey, ErrorOutcome, NamedVersion};

/// Returns the served models, then the others.
pub(super) fn views(
    catalogue: &Catalogue,
    figures: &[EntryStats],
    ledger: &RequestLedger,
    statuses: Vec<ModelStatus>,
) -> Vec<CatalogueView> {
    let failure_of = |entry: &CatalogueEntry| {
        let mut named = statuses.iter().filter(|s| s.name == entry.name());
        named.find_map(|status| status.failure.clone())
    };
    let served = catalogue.entries().iter().zip(figures);
    let served = served.map(|(entry, stats)| CatalogueView {
        name: entry.name().to_owned(),
        version: Some(entry.version()),
        kind: Some(kind_of(entry)),
        members: entry.columns().to_vec(),
        unserved: None,
        failure: failure_of(entry),
        figures: figures_of(stats, ledger, &model_of(entry)),
        asked: None,
        errors: lately(ledger, &model_of(entry)),
        variant: None,
    });
    // The statuses may not include a change in progress.
    let is_served = |name: &str| catalogue.find(name, None).is_some();
    let mut told = BTreeSet::new();
    let others = statuses.iter().filter_map(|status| match &status.state {
        LoadState::Loaded => None,
        LoadState::Unloaded(_) if is_served(&status.name) => None,
        // All versions of a model that is not served count as one.
        LoadState::Unloaded(reason) => told.insert(&status.name).then(|| CatalogueView {
            name: status.name.clone(),
            version: None,
            kind: None,
            members: Vec::new(),
            unserved: Some(reason.clone()),
            failure: status.failure.clone(),
            figures: ModelFigures::default(),
            asked: None,
            errors: Vec::new(),
            variant: None,
        }),
    });
    served.chain(others).collect()
}

/// Adds the network clients of each model.
pub(super) fn add_callers(
    models: &mut [CatalogueView],
    mut callers: BTreeMap<(String, String), ModelCallers>,
) {
    for model in models {
        let version = model.version.map(|version| version.to_string());
        let key = (model.name.clone(), version.unwrap_or_default());
        model.asked = callers.remove(&key);
    }
}

/// Adds the tasks that models are variants of.
pub(super) fn add_variants(
    models: &mut [CatalogueView],
    mut variants: BTreeMap<String, VariantView>,
) {
    for model in models {
        model.variant = variants.remove(&model.name);
    }
}

fn kind_of(entry: &CatalogueEntry) -> ModelKind {
    let ensemble = entry.ensemble();
    let steps = ensemble.pipeline.as_ref().map(|p| p.steps().len());
    match (steps, ensemble.members.len()) {
        (Some(0 | 1), _) | (None, 1) => ModelKind::Model,
        (Some(_), _) => ModelKind::Pipeline,
        (None, _) => ModelKind::Ensemble,
    }
}

/// Returns the model of an entry as the ledger of errors names it.
fn model_of(entry: &CatalogueEntry) -> NamedVersion {
    NamedVersion {
        name: entry.name().into(),
        version: entry.version().to_string().into(),
    }
}

/// Returns the errors of a model within the last minute, the most frequent first.
fn lately(ledger: &RequestLedger, model: &NamedVersion) -> Vec<(ErrorKey, u64)> {
    let counts = ledger.counts_of(model).into_iter();
    let counts = counts.map(|count| (count.key, count.lately()));
    counts.filter(|(_, lately)| *lately > 0).collect()
}

fn figures_of(stats: &EntryStats, ledger: &RequestLedger, model: &NamedVersion) -> ModelFigures {
    let lately = &stats.latency.now.summary;
    ModelFigures {
        answered: stats.answered,
        samples: stats.samples,
        failed: ledger.requests_to(model, ErrorOutcome::Failed),
        refused: ledger.requests_to(model, ErrorOutcome::Refused),
        requests_per_s: stats.requests_per_s,
        samples_per_s: stats.samples_per_s,
        latency: *lately,
    }
}

/// Returns a line for each model that was loaded, unloaded or replaced.
pub(super) fn changes(before: &Catalogue, now: &Catalogue) -> Vec<String> {
    let has = |catalogue: &Catalogue, entry: &CatalogueEntry| {
        let same = |e: &CatalogueEntry| e.name() == entry.name() && e.version() == entry.version();
        catalogue.entries().iter().any(same)
    };
    let named = |entry: &CatalogueEntry| format!("`{}` version {}", entry.name(), entry.version());
    let came = now.entries().iter().filter(|e| !has(before, e));
    let went = before.entries().iter().filter(|e| !has(now, e));
    let came = came.map(|entry| format!("{} is loaded", named(entry)));
    let went = went.map(|entry| format!("{} is unloaded", named(entry)));
    came.chain(went).collect()
}

/// Returns a log line about the served models and workers.
pub(super) fn serves(name: &str, engine: &Engine) -> String {
    if engine.catalogue().entries().is_empty() {
        return format!("serving `{name}` without models");
    }
    let workers = engine.matrix().workers().count();
    format!("serving `{name}` with {workers} workers")
}
