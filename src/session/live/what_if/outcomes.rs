//! The errors of predicted latencies: after a change, the latency is measured under the load that
//! the prediction assumed.

use std::time::Duration;

use divisi_engine::load::LoadPattern;
use divisi_engine::search::{PastError, PredictedFigure, Question};
use divisi_model::metrics::Reading;
use divisi_model::wall_clock::unix_seconds;

use crate::{Setup, WhatIf};

use super::super::engine_session::EngineSession;

/// The time and the number of requests over which a latency is measured.
const PERIOD: Duration = Duration::from_secs(10);
const REQUESTS: u64 = 500;
/// The time after the change until the measurement begins: requests of the previous setup are still
/// in progress.
const SETTLING: Duration = Duration::from_secs(1);
/// A prediction is compared if the rate differs by at most this factor.
const ALIKE: f64 = 1.1;
/// The time after which a prediction without its setup or load is dropped.
const WAITS: Duration = Duration::from_secs(120);

/// The prediction that waits for its measurement.
#[derive(Default)]
pub(super) struct Outcomes {
    expected: Option<Expected>,
}

struct Expected {
    setup: Setup,
    load: LoadPattern,
    p99: f64,
    asked: Duration,
    /// The reading at the start of the measurement.
    since: Option<Reading>,
}

impl EngineSession {
    /// Remembers the predicted latency of a setup that is about to be applied, if it is known.
    pub(in super::super) fn expect(&mut self, question: &WhatIf) {
        let what_ifs = &mut self.what_ifs;
        let known = what_ifs.desk.known(what_ifs.number, Some(question));
        let figures = known.flatten();
        let p99 = figures.and_then(|figures| figures.modelled_p99);
        let load = what_ifs.facts.as_ref().map(|facts| facts.load.times(1.0));
        let setup = match question {
            WhatIf::Apply(setup) => Some(setup.as_ref().clone()),
            WhatIf::Undo => self.changes.undo_setup().ok(),
            WhatIf::Redo => self.changes.redo_setup().ok(),
            _ => None,
        };
        let setup = setup.map(|setup| self.planned(&setup));
        let both = setup.zip(p99).zip(load.and_then(Result::ok));
        self.what_ifs.outcomes.expected = both.map(|((setup, p99), load)| Expected {
            setup,
            load,
            p99,
            asked: self.engine.telemetry().now(),
            since: None,
        });
    }

    /// Measures the latency of the applied setup, and records the error of its prediction.
    pub(in super::super) fn learn_latency(&mut self, disturbed: bool) {
        let Some(mut expected) = self.what_ifs.outcomes.expected.take() else {
            return;
        };
        let now = self.engine.telemetry().now();
        if disturbed || now.saturating_sub(expected.asked) > WAITS {
            return;
        }
        let is_running = self.engine.setup() == expected.setup;
        let measured = is_running.then(|| expected.measured(now, || self.reading()));
        match measured.flatten() {
            Some(period) => self.record(&expected, &period),
            None => self.what_ifs.outcomes.expected = Some(expected),
        }
    }

    fn reading(&self) -> Reading {
        self.engine.telemetry().reading()
    }

    fn record(&mut self, expected: &Expected, period: &Reading) {
        if !expected.is_under_its_load(period) {
            return;
        }
        let Ok(Some(grounds)) = self.forecast.grounds(&expected.setup) else {
            return;
        };
        let [p99] = period.latency.quantiles([0.99]);
        grounds.book.record(PastError {
            at: unix_seconds(),
            question: Question {
                figure: PredictedFigure::P99,
                ..grounds.about
            },
            predicted: expected.p99,
            measured: Duration::from_micros(p99).as_secs_f64(),
            runs: 1,
        });
        grounds.book.save();
    }
}

impl Expected {
    /// Returns the period of the measurement once it is complete.
    fn measured(&mut self, now: Duration, reading: impl Fn() -> Reading) -> Option<Reading> {
        let settled = now.saturating_sub(self.asked) >= SETTLING;
        let since = match (&self.since, settled) {
            (Some(since), _) => since,
            (None, true) => {
                self.since = Some(reading());
                return None;
            }
            (None, false) => return None,
        };
        if now.saturating_sub(since.at) < PERIOD {
            return None;
        }
        let period = reading().since(since);
        (period.answered >= REQUESTS).then_some(period)
    }

    /// Returns whether the period had the load that the prediction assumed.
    fn is_under_its_load(&self, period: &Reading) -> bool {
        let rate = match &self.load {
            LoadPattern::Poisson { rate } | LoadPattern::Steady { rate } => rate.get(),
            // The load of a closed loop is its number of clients.
            _ => return period.refused == 0,
        };
        let measured = period.answered as f64 / period.at.as_secs_f64().max(f64::MIN_POSITIVE);
        let ratio = (measured / rate).max(rate / measured);
        period.refused + period.failed == 0 && ratio <= ALIKE
    }
}
