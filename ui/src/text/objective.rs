//! The service objective, and the goals of tasks, in words.

use divisi_session::{ScalingView, Snapshot, Target};

use super::format;

/// The maximum share of queries of tasks that may miss their goals without a warning. A policy adds
/// instances at the same share.
const GOALS_MISSED: f64 = 0.01;
/// The time over which goals of tasks are counted, in seconds.
const GOALS_WINDOW: usize = 10;
/// The minimum number of queries for a warning.
const ENOUGH: u64 = 20;

/// An objective that more requests miss than allowed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum MissedObjective {
    /// The share of requests that take longer than the service objective.
    Latency(Target, f64),
    /// The share of queries that miss their goals.
    Goals(f64),
}

impl MissedObjective {
    /// Returns the missed objective, or `None` if none is set or the set ones are met.
    pub(crate) fn from_snapshot(shown: &Snapshot) -> Option<Self> {
        let latency = shown.target.and_then(|target| latency(shown, target));
        latency.or_else(|| shown.scaling.as_ref().and_then(goals))
    }

    /// Returns a short form: `12% miss 5 ms`.
    pub(super) fn short(self) -> String {
        match self {
            MissedObjective::Latency(target, missed) => {
                format!("{} miss {}", share(missed), limit(target))
            }
            MissedObjective::Goals(missed) => format!("{} miss goals", share(missed)),
        }
    }

    /// Returns a text with the limit.
    pub(crate) fn text(self) -> String {
        match self {
            MissedObjective::Latency(target, missed) => format!(
                "{} of requests exceed {}; limit {}",
                share(missed),
                limit(target),
                share(1.0 - target.share)
            ),
            MissedObjective::Goals(missed) => format!(
                "{} of queries missed their goals in the last {GOALS_WINDOW} s",
                share(missed)
            ),
        }
    }

    /// Returns the burn rate: the share of missed requests as a multiple of the allowed share.
    pub(crate) fn burn_rate(self) -> Option<String> {
        let MissedObjective::Latency(target, missed) = self else {
            return None;
        };
        let allowed = 1.0 - target.share;
        (allowed > 0.0).then(|| {
            let rate = format::short(missed / allowed);
            format!("burn rate {rate}: {rate} times the allowed misses (10 s)")
        })
    }

    /// Returns a text without numbers that change.
    pub(super) fn kind(self) -> &'static str {
        match self {
            MissedObjective::Latency(..) => "missing the objective",
            MissedObjective::Goals(_) => "missing goals",
        }
    }
}

fn latency(shown: &Snapshot, target: Target) -> Option<MissedObjective> {
    let missed = shown.latency.now.missed?;
    (missed > 1.0 - target.share + 1e-9).then_some(MissedObjective::Latency(target, missed))
}

fn goals(scaling: &ScalingView) -> Option<MissedObjective> {
    let counted = scaling.counted(GOALS_WINDOW);
    let part = counted.share_missed()?;
    (counted.all() >= ENOUGH && part > GOALS_MISSED).then_some(MissedObjective::Goals(part))
}

/// Returns the service objective with the share of answered requests that met it: `99% ≤ 5 ms: 99.8% met`.
pub(crate) fn objective(shown: &Snapshot) -> Option<String> {
    let target = shown.target?;
    let set = format!("{} ≤ {}", share(target.share), limit(target));
    Some(match shown.latency.now.missed {
        Some(missed) => format!("{set}: {} met", format::met(1.0 - missed).trim()),
        None => set,
    })
}

fn share(part: f64) -> String {
    let percent = format!("{:.1}", part * 100.0);
    format!("{}%", percent.trim_end_matches('0').trim_end_matches('.'))
}

fn limit(target: Target) -> String {
    format!("{} ms", format::millis(target.latency.as_micros() as u64))
}
