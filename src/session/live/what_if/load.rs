//! The load that answers assume: the requests that arrived lately.

use std::time::Duration;

use divisi_engine::load::LoadPattern;
use divisi_model::metrics::Reading;

use crate::AssumedLoad;

/// The time over which requests are counted.
pub(super) const OVER: Duration = Duration::from_secs(10);
/// The shortest time over which a rate means something.
const LEAST: Duration = Duration::from_millis(500);
/// Simulated requests of an open load have one sample. Up to this mean number of samples, that is
/// close enough.
const ONE_SAMPLE: f64 = 1.05;

/// The load, in words and for a simulation.
#[derive(Clone, Debug)]
pub(super) struct LoadNow {
    pub(super) assumed: AssumedLoad,
    /// The pattern, or the reason why no latency can be predicted.
    pub(super) pattern: Result<LoadPattern, String>,
}

impl LoadNow {
    /// Returns the pattern at `factor` times the rate.
    pub(super) fn times(&self, factor: f64) -> Result<LoadPattern, String> {
        let pattern = self.pattern.clone()?;
        Ok(match pattern {
            LoadPattern::Closed { clients, samples } => {
                let clients = (clients.count() as f64 * factor).round().max(1.0) as usize;
                LoadPattern::closed(clients, samples.count())
            }
            LoadPattern::Steady { rate } => LoadPattern::steady(rate.get() * factor),
            LoadPattern::Burst { rate } => LoadPattern::burst(rate.get() * factor),
            LoadPattern::Poisson { rate } => LoadPattern::poisson(rate.get() * factor),
            other => other,
        })
    }
}

impl LoadNow {
    /// Returns the load of a period, which arrives like the built-in load if there is one.
    pub(super) fn from_period(period: &Reading, built_in: Option<LoadPattern>) -> Self {
        let requests = period.answered + period.failed + period.refused;
        let rate = requests as f64 / period.at.max(LEAST).as_secs_f64();
        let pattern = pattern(period, rate, built_in);
        LoadNow {
            assumed: AssumedLoad {
                words: pattern.as_ref().map_or_else(|_| String::new(), in_words),
                requests_per_s: rate,
                over: period.at,
            },
            pattern,
        }
    }
}

/// Returns the pattern for a simulation of the requests of a period.
fn pattern(
    period: &Reading,
    rate: f64,
    built_in: Option<LoadPattern>,
) -> Result<LoadPattern, String> {
    if let Some(LoadPattern::Closed { .. }) = built_in {
        return built_in.ok_or_else(String::new);
    }
    if period.at < LEAST {
        return Err("the rate of requests is not measured yet".into());
    }
    if rate <= 0.0 {
        let over = period.at.as_secs();
        return Err(format!(
            "no requests arrived in the last {over} s: start a load, or send requests"
        ));
    }
    let samples = period.samples as f64 / period.answered.max(1) as f64;
    if samples > ONE_SAMPLE {
        return Err(format!(
            "requests have {samples:.1} samples on average; latencies are predicted for one"
        ));
    }
    Ok(match built_in {
        Some(LoadPattern::Steady { .. }) => LoadPattern::steady(rate),
        Some(burst @ LoadPattern::Burst { .. }) => burst,
        _ => LoadPattern::poisson(rate),
    })
}

fn in_words(pattern: &LoadPattern) -> String {
    match pattern {
        LoadPattern::Closed { clients, samples } => format!(
            "closed loop of {} clients, {} samples a request",
            clients.count(),
            samples.count()
        ),
        LoadPattern::Steady { rate } => format!("{:.0} requests/s, evenly spaced", rate.get()),
        LoadPattern::Burst { rate } => format!("bursts of up to {:.0} requests/s", rate.get()),
        LoadPattern::Poisson { rate } => format!("{:.0} requests/s at random times", rate.get()),
        other => other.to_string(),
    }
}
