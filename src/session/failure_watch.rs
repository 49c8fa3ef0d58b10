//! Recently lost requests and the reasons, for the screen and the log. It reads no clock.

use std::collections::VecDeque;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::LogLevel;
use divisi_runtime::words::grouped;

/// Counts of refused and failed requests over the last seconds.
#[derive(Clone, Debug)]
pub struct FailureWatch {
    /// The refused and failed requests at each time, oldest first. The first reading is older than
    /// the window.
    seen: VecDeque<(Duration, [u64; 2])>,
    logs: [LossLog; 2],
}

/// Recently lost requests: those that an operator has to act on now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostRequests {
    /// The time over which they are counted; zero if there are none.
    pub over: Duration,
    /// Requests that were refused.
    pub refused: Lost,
    /// Requests that were accepted and failed: late, or their worker was lost.
    pub failed: Lost,
}

/// Requests lost in one way.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lost {
    /// The number of requests.
    pub requests: u64,
    /// The reason for the last loss.
    pub why: Option<String>,
}

/// The time over which lost requests count as recent.
const WINDOW: Duration = Duration::from_secs(5);
/// The least time between two kept readings.
const APART: Duration = Duration::from_millis(500);

/// All requests ever lost in one way, and the reason for the last loss.
#[derive(Clone, Debug, Default)]
pub struct Total {
    /// The number of requests since the start.
    pub requests: u64,
    /// The reason for the last loss; `None` before the first.
    pub why: Option<String>,
}

/// A line for the log.
pub type LogLine = (LogLevel, String);

impl FailureWatch {
    /// Creates a watch that counts losses from `now`.
    pub fn new(now: Duration) -> Self {
        FailureWatch {
            seen: VecDeque::from([(now, [0; 2])]),
            logs: [LossLog::new("refused"), LossLog::new("failed")],
        }
    }

    /// Records the totals of refused and failed requests at `now`. Returns the recent losses and
    /// the lines for the log.
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
        // The window begins at the newest reading that is at least as old as the window.
        while self.seen.get(1).is_some_and(|(at, _)| *at + WINDOW <= now) {
            self.seen.pop_front();
        }
    }
}

/// The state of the log for one kind of loss. A line is written when losses begin, once every
/// window while they continue, and when they end.
#[derive(Clone, Debug)]
struct LossLog {
    what: &'static str,
    requests: u64,
    /// The time of the last line while losses continue.
    at: Option<Duration>,
    /// When the losses began, and the total at that time.
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
        // A total can fall below an earlier reading.
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
        // The reason is that of the last request.
        let (requests, last) = match new {
            1 => ("request", ":"),
            _ => ("requests", "; the last:"),
        };
        let why = total.why.as_ref();
        let why = why.map_or(String::new(), |why| format!("{last} {why}"));
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
