//! Makes the records of a running engine from readings of its counters. It reads no clock.

use std::time::Duration;

use divisi_model::metrics::Reading;

use super::{Figure, FigureHistory, FigureRecord, FigureSpread};

/// The counters since the start. Differences of two readings are figures.
#[derive(Clone, Debug, Default)]
pub struct FigureCounters {
    /// The number of the engine. A new engine counts its answers from zero.
    pub generation: u64,
    /// The answers of the engine, with their latencies.
    pub answers: Reading,
    /// Requests that the engine admitted.
    pub admitted: u64,
    /// Requests refused by the server.
    pub refused: u64,
    /// Requests accepted and failed by the server.
    pub failed: u64,
    /// Requests that the built-in load has sent, or `None` if it is stopped.
    pub sent: Option<u64>,
    /// Requests that met and that missed the service objective, or `None` without an objective.
    pub objective: Option<(u64, u64)>,
}

/// The figures of a moment.
#[derive(Clone, Copy, Debug, Default)]
pub struct FigureGauges {
    /// Samples that wait for a worker.
    pub queue: usize,
    /// The load of the busiest device.
    pub device: Option<f64>,
    /// The load of the host.
    pub host: Option<f64>,
    /// The cost of a million samples.
    pub cost: Option<f64>,
}

/// Records the figures of a running engine, second by second.
#[derive(Clone, Debug, Default)]
pub struct FigureRecorder {
    history: FigureHistory,
    /// The figures of the moments since the last record.
    open: Option<FigureRecord>,
    /// The time and the counters of the last record.
    base: Option<(Duration, FigureCounters)>,
}

impl FigureRecorder {
    /// Returns the records.
    pub fn history(&self) -> &FigureHistory {
        &self.history
    }

    /// Adds the figures of the moment `now`, and records the last seconds if a second has ended.
    /// The counters are read only then.
    pub fn note(
        &mut self,
        now: Duration,
        gauges: &FigureGauges,
        counters: impl FnOnce() -> FigureCounters,
    ) {
        let second = now.as_secs();
        let Some((at, before)) = self.base.take_if(|(at, _)| second > at.as_secs()) else {
            self.base.get_or_insert_with(|| (now, counters()));
            self.sample(second, gauges);
            return;
        };
        let counted = counters();
        let mut record = self.close(at.as_secs(), second);
        let passed = now.saturating_sub(at).as_secs_f64();
        SecondDifference::new(passed, &before, &counted).add_to(&mut record);
        self.history.push(record);
        self.base = Some((now, counted));
        self.sample(second, gauges);
    }

    /// Returns the record of the seconds until before `second`, with the figures of its moments.
    fn close(&mut self, from: u64, second: u64) -> FigureRecord {
        let open = self.open.take();
        let mut record = open.unwrap_or_else(|| FigureRecord::new(from, second));
        (record.from, record.until) = (from, second);
        let seconds = (second - from) as f32;
        // The figures of a moment stand for the time until the next one.
        for spread in record.figures.iter_mut().flatten() {
            spread.weight = seconds;
        }
        record
    }

    fn sample(&mut self, second: u64, gauges: &FigureGauges) {
        let figures = [
            (Figure::Queue, Some(gauges.queue as f64)),
            (Figure::Device, gauges.device),
            (Figure::Host, gauges.host),
            (Figure::Cost, gauges.cost),
        ];
        let known = figures.into_iter().filter_map(|(f, v)| Some((f, v?)));
        let moment = known.fold(FigureRecord::new(second, second + 1), |record, (f, v)| {
            record.with(f, FigureSpread::single(v, 1.0))
        });
        match &mut self.open {
            Some(open) => open.merge(&moment),
            None => self.open = Some(moment),
        }
    }
}

/// The difference of two readings.
struct SecondDifference<'a> {
    /// The seconds between both.
    passed: f64,
    before: &'a FigureCounters,
    now: &'a FigureCounters,
}

impl<'a> SecondDifference<'a> {
    fn new(passed: f64, before: &'a FigureCounters, now: &'a FigureCounters) -> Self {
        SecondDifference {
            passed: passed.max(1e-3),
            before,
            now,
        }
    }

    /// Returns the answers between both. Those of another engine count from its start.
    fn answers(&self) -> Reading {
        match self.is_same_engine() {
            true => self.now.answers.since(&self.before.answers),
            false => self.now.answers.clone(),
        }
    }

    fn is_same_engine(&self) -> bool {
        self.before.generation == self.now.generation
    }

    fn admitted(&self) -> u64 {
        let before = self.is_same_engine().then_some(self.before.admitted);
        self.now.admitted.saturating_sub(before.unwrap_or(0))
    }

    fn refused(&self) -> u64 {
        self.now.refused.saturating_sub(self.before.refused)
    }

    fn failed(&self) -> u64 {
        self.now.failed.saturating_sub(self.before.failed)
    }

    /// Returns the requests that the load has sent. A load that was restarted counts from zero.
    fn sent(&self) -> Option<u64> {
        let now = self.now.sent?;
        let before = self.before.sent.filter(|before| *before <= now);
        Some(now - before.unwrap_or(0))
    }

    /// Returns the share of requests that met the objective, and the number of requests.
    fn met(&self) -> Option<(f64, f64)> {
        let (met, missed) = self.now.objective?;
        let before = self.before.objective.unwrap_or((met, missed));
        let met = met.saturating_sub(before.0);
        let all = met + missed.saturating_sub(before.1);
        (all > 0).then(|| (met as f64 / all as f64, all as f64))
    }

    fn add_to(&self, record: &mut FigureRecord) {
        let mut set = |figure: Figure, value: f64, weight: f64| {
            record.figures[figure.index()] = Some(FigureSpread::single(value, weight));
        };
        let answers = self.answers();
        let rates = [
            (Figure::Offered, Some(self.admitted() + self.refused())),
            (Figure::Answered, Some(answers.answered)),
            (Figure::Samples, Some(answers.samples)),
            (Figure::Refused, Some(self.refused())),
            (Figure::Failed, Some(self.failed())),
            (Figure::Load, self.sent()),
        ];
        for (figure, count) in rates.into_iter().filter_map(|(f, n)| Some((f, n?))) {
            set(figure, count as f64 / self.passed, self.passed);
        }
        if let Some((share, requests)) = self.met() {
            set(Figure::Met, share, requests);
        }
        let latency = answers.latency.summary();
        if latency.count > 0 {
            let requests = latency.count as f64;
            set(Figure::P50, latency.p50 as f64, requests);
            set(Figure::P99, latency.p99 as f64, requests);
        }
    }
}
