//! Learning from applied changes: predicted latencies are compared with measured ones.

use std::time::Duration;

use divisi_engine::search::{PastError, PredictedFigure, Question};
use divisi_model::metrics::Reading;
use divisi_model::wall_clock::unix_seconds;

use crate::WhatIf;

use super::super::engine_session::EngineSession;
use super::outcomes::{ExpectedLatency, WAITS};

impl EngineSession {
    /// Remembers the predicted latency of a setup that is about to be applied, if it is known.
    pub(in super::super) fn expect(&mut self, question: &WhatIf) {
        self.what_ifs.outcomes.expected = self.expected(question);
    }

    fn expected(&self, question: &WhatIf) -> Option<ExpectedLatency> {
        let what_ifs = &self.what_ifs;
        let known = what_ifs.desk.known(what_ifs.number, Some(question));
        let p99 = known.flatten()?.modelled_p99?;
        let load = what_ifs.facts.as_ref()?.load.times(1.0).ok()?;
        let setup = match question {
            WhatIf::Apply(setup) => setup.as_ref().clone(),
            WhatIf::Undo => self.changes.undo_setup().ok()?,
            WhatIf::Redo => self.changes.redo_setup().ok()?,
            _ => return None,
        };
        Some(ExpectedLatency {
            setup: self.planned(&setup),
            load,
            p99,
            asked: self.engine.telemetry().now(),
            since: None,
        })
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

    fn record(&mut self, expected: &ExpectedLatency, period: &Reading) {
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
