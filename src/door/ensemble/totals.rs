//! Counters of engines that follow one another, added up.
//!
//! A counter goes on from one engine to the next where both have it. One that an engine does not have
//! begins anew with the next that does.

use std::collections::HashMap;
use std::sync::Arc;

use divisi::deployment::{Generation, HandoverObserver};
use divisi::lock::Leaf;

use crate::service::Gauge;

use super::gauges;

/// A counter: its name and labels.
type Series = (&'static str, Vec<(&'static str, String)>);

fn series(gauge: &Gauge) -> Series {
    (gauge.name, gauge.labels.clone())
}

/// The counters of engines that ended, as the last of them left them.
#[derive(Clone, Debug, Default, PartialEq)]
struct Totals(HashMap<Series, f64>);

impl Totals {
    /// Adds to the counters of an engine what those before it counted.
    fn go_on(&self, figures: &mut [Gauge]) {
        for gauge in figures.iter_mut().filter(|gauge| gauge.counts) {
            gauge.value += self.0.get(&series(gauge)).unwrap_or(&0.0);
        }
    }

    /// Gives the counters of the last of these engines its own share, and that of those before it.
    fn have(&self, figures: &mut [Gauge]) {
        for gauge in figures.iter_mut().filter(|gauge| gauge.counts) {
            gauge.value = *self.0.get(&series(gauge)).unwrap_or(&gauge.value);
        }
    }

    /// Returns the counters once an engine has ended with these figures.
    fn after(&self, mut figures: Vec<Gauge>) -> Totals {
        self.go_on(&mut figures);
        let counters = figures.iter().filter(|gauge| gauge.counts);
        Totals(counters.map(|one| (series(one), one.value)).collect())
    }
}

/// The engines before the one that runs.
#[derive(Clone, Default)]
struct EndedEngines {
    totals: Totals,
    /// The last of them that ended.
    ended: Option<u64>,
    /// The one that answers its last requests.
    ending: Option<Arc<Generation>>,
}

/// See the module's text.
#[derive(Default)]
pub(super) struct TotalsOfEngines(Leaf<EndedEngines>);

impl TotalsOfEngines {
    /// Returns the figures of the engine that runs, its counters with those of the engines before.
    pub(super) fn figures(&self, running: impl Fn() -> Arc<Generation>) -> Vec<Gauge> {
        loop {
            let before = self.0.lock().clone();
            let running = running();
            let ending = before.ending.filter(|one| one.number != running.number);
            let last = ending.map(|one| gauges::of(&one.engine));
            let mut figures = gauges::of(&running.engine);
            if self.0.lock().ended != before.ended {
                // One ended meanwhile, and may have been counted before its end.
                continue;
            }
            match (before.ended == Some(running.number), last) {
                // No engine runs now.
                (true, _) => before.totals.have(&mut figures),
                (false, Some(last)) => before.totals.after(last).go_on(&mut figures),
                (false, None) => before.totals.go_on(&mut figures),
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
        let figures = gauges::of(&generation.engine);
        let mut before = self.0.lock();
        before.totals = before.totals.after(figures);
        before.ended = Some(generation.number);
        before.ending = None;
    }
}
