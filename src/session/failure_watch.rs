//! Requests that were lost lately, and why: for a screen and for the log. No clock inside.

use std::collections::VecDeque;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::LogLevel;
use divisi_runtime::words::grouped;

/// Counts of refused and failed requests over the last seconds.
#[derive(Clone, Debug)]
pub struct FailureWatch {
    /// Refused and failed by then, oldest first; the first is older than the window.
    seen: VecDeque<(Duration, [u64; 2])>,
    logs: [LossLog; 2],
}

/// Requests that were not answered lately: what an operator has to act on now, whatever
/// was lost long ago.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostRequests {
    /// Over how long they are counted; zero while there are none.
    pub over: Duration,
    /// Turned away at the door.
    pub refused: Lost,
    /// Let in, and given up: late, or their worker lost.
    pub failed: Lost,
}

/// Requests that were lost one way.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lost {
    /// How many.
    pub requests: u64,
    /// Why the last of them was.
    pub why: Option<String>,
}

/// The span over which lost requests are counted as lost lately.
const WINDOW: Duration = Duration::from_secs(5);
/// Readings are kept so far apart.
const APART: Duration = Duration::from_millis(500);

/// All requests that were ever lost one way, and why the last one was.
#[derive(Clone, Debug, Default)]
pub struct Total {
    /// Requests since the start.
    pub requests: u64,
    /// Why the last one was; `None` before the first.
    pub why: Option<String>,
}

/// A line for the log.
pub type LogLine = (LogLevel, String);

impl FailureWatch {
    /// Nothing is lost before `now`.
    pub fn new(now: Duration) -> Self {
        FailureWatch {
            seen: VecDeque::from([(now, [0; 2])]),
            logs: [LossLog::new("refused"), LossLog::new("failed")],
        }
    }

    /// Takes what was lost by `now`, refused and failed; returns what was lost lately,
    /// and what the log should say.
    pub fn note(&mut self, now: Duration, totals: [Total; 2]) -> (LostRequests, Vec<LogLine>) {
        let counts = [totals[0].requests, totals[1].requests];
        self.keep(now, counts);
        let logs = self.logs.iter_mut().zip(&totals);
        let lines = logs.filter_map(|(log, total)| log.note(now, total));
        let lines = lines.collect();
        let (since, before) = self.seen.front().copied().unwrap_or((now, counts));
        let [refused, failed] = totals;
        let lost = |total: Total, before: u64| {
            let requests = total.requests.saturating_sub(before);
            let why = total.why.filter(|_| requests > 0);
            Lost { requests, why }
        };
        let (refused, failed) = (lost(refused, before[0]), lost(failed, before[1]));
        let over = match refused.requests + failed.requests {
            0 => Duration::ZERO,
            _ => now.saturating_sub(since),
        };
        let losses = LostRequests {
            over,
            refused,
            failed,
        };
        (losses, lines)
    }

    fn keep(&mut self, now: Duration, counts: [u64; 2]) {
        let due = self.seen.back().is_none_or(|(at, _)| now >= *at + APART);
        if due {
            self.seen.push_back((now, counts));
        }
        // The newest that is as old as the window is where it begins.
        while self.seen.get(1).is_some_and(|(at, _)| *at + WINDOW <= now) {
            self.seen.pop_front();
        }
    }
}

/// The state of the log for one kind of loss. A line is written when losses begin, once every
/// window while they go on, and when they are over.
#[derive(Clone, Debug)]
struct LossLog {
    what: &'static str,
    requests: u64,
    /// When it was said last, while it goes on.
    at: Option<Duration>,
    /// When it began, and how many there had been.
    began: (Duration, u64),
}

impl LossLog {
    fn new(what: &'static str) -> Self {
        LossLog {
            what,
            requests: 0,
            at: None,
            began: (Duration::ZERO, 0),
        }
    }

    fn note(&mut self, now: Duration, total: &Total) -> Option<LogLine> {
        // What was counted too soon is not waited for.
        self.requests = self.requests.min(total.requests);
        let new = total.requests - self.requests;
        let line = match self.at {
            None if new == 0 => return None,
            None => {
                self.began = (now, self.requests);
                (LogLevel::Error, self.goes_on(new, None, total))
            }
            Some(at) if now < at + WINDOW => return None,
            Some(at) if new > 0 => {
                let text = self.goes_on(new, Some(now.saturating_sub(at)), total);
                (LogLevel::Error, text)
            }
            Some(_) => {
                self.at = None;
                return Some((LogLevel::Info, self.is_over(now)));
            }
        };
        (self.requests, self.at) = (total.requests, Some(now));
        Some(line)
    }

    fn goes_on(&self, new: u64, over: Option<Duration>, total: &Total) -> String {
        let over = over.map_or(String::new(), |t| format!(" in the last {}", seconds(t)));
        let why = total
            .why
            .as_ref()
            .map_or(String::new(), |w| format!(": {w}"));
        let requests = if new == 1 { "request" } else { "requests" };
        format!("{} {} {requests}{over}{why}", self.what, grouped(new))
    }

    fn is_over(&self, now: Duration) -> String {
        let (since, before) = self.began;
        let all = grouped(self.requests.saturating_sub(before));
        let lasted = seconds(now.saturating_sub(since));
        format!("no more requests {}: {all} in {lasted}", self.what)
    }
}

fn seconds(time: Duration) -> String {
    format!("{} s", time.as_secs_f64().round().max(1.0))
}
