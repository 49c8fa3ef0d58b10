//! The errors of predicted latencies: after a change, the latency is measured under the load that
//! the prediction assumed.

use std::time::Duration;

use divisi_engine::load::LoadPattern;
use divisi_model::metrics::Reading;

use crate::Setup;

/// The time and the number of requests over which a latency is measured.
const PERIOD: Duration = Duration::from_secs(10);
const REQUESTS: u64 = 500;
/// The time after the change until the measurement begins: requests of the previous setup are still
/// in progress.
const SETTLING: Duration = Duration::from_secs(1);
/// A prediction is compared if the rate differs by at most this factor.
const ALIKE: f64 = 1.1;
/// The time after which a prediction without its setup or load is dropped.
pub(super) const WAITS: Duration = Duration::from_secs(120);

/// The last predicted latency.
#[derive(Default)]
pub(super) struct LatencyOutcomes {
    pub(super) expected: Option<ExpectedLatency>,
}

/// A predicted latency that waits for its measurement.
pub(super) struct ExpectedLatency {
    pub(super) setup: Setup,
    pub(super) load: LoadPattern,
    /// The predicted latency in seconds.
    pub(super) p99: f64,
    pub(super) asked: Duration,
    /// The reading at the start of the measurement.
    pub(super) since: Option<Reading>,
}

impl ExpectedLatency {
    /// Returns the period of the measurement once it is complete.
    pub(super) fn measured(
        &mut self,
        now: Duration,
        reading: impl Fn() -> Reading,
    ) -> Option<Reading> {
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
    pub(super) fn is_under_its_load(&self, period: &Reading) -> bool {
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
