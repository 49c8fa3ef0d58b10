//! The total counters of successive engines.
//!
//! A counter continues from one engine to the next if both have it, even if its member is renamed.
//! A counter that an engine does not have restarts with the next engine that has it.

use std::collections::HashMap;
use std::sync::Arc;

use divisi_engine::deployment::{Generation, HandoverObserver};
use divisi_model::catalogue::Catalogue;
use divisi_runtime::lock::Leaf;

use crate::service::Gauge;

use super::gauges;

/// A counter: its name and labels.
type Series = (&'static str, Vec<(&'static str, String)>);

fn series(gauge: &Gauge) -> Series {
    (gauge.name, gauge.labels.clone())
}

/// The final counters of ended engines.
#[derive(Clone, Debug, Default)]
struct Totals {
    counters: HashMap<Series, f64>,
    /// The catalogue of the last ended engine, which names its members.
    catalogue: Option<Arc<Catalogue>>,
}

impl Totals {
    /// Adds the counts of earlier engines to the counters of an engine.
    fn go_on(&self, catalogue: &Catalogue, figures: &mut [Gauge]) {
        let names = self.names_before(catalogue);
        for gauge in figures.iter_mut().filter(|gauge| gauge.counts) {
            gauge.value += self.counted(gauge, &names).unwrap_or(0.0);
        }
    }

    /// Replaces the counters of the last ended engine by the totals.
    fn have(&self, catalogue: &Catalogue, figures: &mut [Gauge]) {
        let names = self.names_before(catalogue);
        for gauge in figures.iter_mut().filter(|gauge| gauge.counts) {
            gauge.value = self.counted(gauge, &names).unwrap_or(gauge.value);
        }
    }

    /// Returns the totals after an engine has ended with these figures.
    fn after(&self, catalogue: &Arc<Catalogue>, mut figures: Vec<Gauge>) -> Totals {
        self.go_on(catalogue, &mut figures);
        let counters = figures.iter().filter(|gauge| gauge.counts);
        Totals {
            counters: counters.map(|one| (series(one), one.value)).collect(),
            catalogue: Some(Arc::clone(catalogue)),
        }
    }

    /// Returns the total for the member and labels of a counter.
    fn counted(&self, gauge: &Gauge, names: &HashMap<String, String>) -> Option<f64> {
        let mut series = series(gauge);
        for (_, name) in series.1.iter_mut().filter(|(label, _)| *label == "member") {
            *name = names.get(name)?.clone();
        }
        self.counters.get(&series).copied()
    }

    /// Returns the earlier names of a catalogue's members by their current names: a member may be
    /// renamed when other models are loaded.
    fn names_before(&self, catalogue: &Catalogue) -> HashMap<String, String> {
        let Some(before) = &self.catalogue else {
            return HashMap::new();
        };
        let names = before.models().member_names();
        let now = catalogue.models().member_names().into_iter();
        let pairs = now.zip(catalogue.predecessors(before));
        let pairs =
            pairs.filter_map(|(now, column)| Some((now, names.get(column?.get())?.clone())));
        pairs.collect()
    }
}

/// The engines before the running one.
#[derive(Clone, Default)]
struct EndedEngines {
    totals: Totals,
    /// The number of the last ended engine.
    ended: Option<u64>,
    /// The engine that finishes its last requests.
    ending: Option<Arc<Generation>>,
}

/// The counters of successive engines.
#[derive(Default)]
pub(super) struct TotalsOfEngines(Leaf<EndedEngines>);

impl TotalsOfEngines {
    /// Returns the figures of the running engine, with counters that include earlier engines.
    pub(super) fn figures(&self, running: impl Fn() -> Arc<Generation>) -> Vec<Gauge> {
        loop {
            let before = self.0.lock().clone();
            let running = running();
            let ending = before.ending.filter(|one| one.number != running.number);
            let last = ending.map(|one| (gauges::engine_gauges(&one.engine), one));
            let mut figures = gauges::engine_gauges(&running.engine);
            if self.0.lock().ended != before.ended {
                // An engine that ended meanwhile may have been counted before its end.
                continue;
            }
            let (totals, catalogue) = (before.totals, &running.catalogue);
            match (before.ended == Some(running.number), last) {
                // No engine is running.
                (true, _) => totals.have(catalogue, &mut figures),
                (false, Some((last, of))) => {
                    let totals = totals.after(&of.catalogue, last);
                    totals.go_on(catalogue, &mut figures);
                }
                (false, None) => totals.go_on(catalogue, &mut figures),
            }
            return figures;
        }
    }
}

impl HandoverObserver for TotalsOfEngines {
    fn retires(&self, generation: &Arc<Generation>) {
        self.0.lock().ending = Some(Arc::clone(generation));
    }

    fn ended(&self, generation: &Generation) {
        let figures = gauges::engine_gauges(&generation.engine);
        let mut before = self.0.lock();
        before.totals = before.totals.after(&generation.catalogue, figures);
        before.ended = Some(generation.number);
        before.ending = None;
    }
}
