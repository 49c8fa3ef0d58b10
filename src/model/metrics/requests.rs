//! The slowest requests of the last minute and the last failed ones. A state machine without clock
//! or lock, of bounded size. A fast request costs one comparison with [`RequestLog::threshold`].

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use divisi_runtime::device::{DeviceIndex, MemberIndex};
use divisi_runtime::words::one_line;

use super::{LatencySplit, NamedVersion};

/// The number of kept requests: the slowest of each slot, and the last failed ones.
pub const KEPT_REQUESTS: usize = 64;

/// The time in which a request counts as recent.
pub const REQUEST_WINDOW: Duration = Duration::from_secs(60);

/// The time of a slot.
const SLOT: Duration = Duration::from_secs(10);

/// The slots of the window, and the one that is partly outside of it.
const SLOTS: u64 = REQUEST_WINDOW.as_secs() / SLOT.as_secs() + 1;

/// The maximum number of characters of a text.
const MOST_CHARS: usize = 240;

/// The sender of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestSender {
    /// A client with a key, by its name.
    Key(Arc<str>),
    /// A client without a key.
    Address(IpAddr),
}

/// The client's part of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestOrigin {
    /// The client.
    pub sender: RequestSender,
    /// The client's id of the request, or empty without an id.
    pub id: Arc<str>,
    /// The time from the beginning of the call until the request was read.
    pub received: Duration,
}

/// The last run of a request: the one that it waited for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastRun {
    /// The name of the step: a member's name outside of pipelines.
    pub step: String,
    /// The device and the member, or `None` for a step on the host.
    pub place: Option<(DeviceIndex, MemberIndex)>,
    /// The number of the batch, as in spans, or `None` for a step on the host.
    pub batch: Option<u64>,
}

/// A request that is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestRecord {
    /// The number, as in spans.
    pub number: u64,
    /// Its end, since the engine's start.
    pub ended: Duration,
    /// The time from its due time to its end, without the time of the network.
    pub latency: Duration,
    /// The parts of the latency; zeros for a failed request.
    pub split: LatencySplit,
    /// The time from the beginning of the call until the request was read, or `None` if it came
    /// from this process.
    pub received: Option<Duration>,
    /// The number of samples.
    pub samples: usize,
    /// The client: the name of its key or its address, or `None` if it came from this process.
    pub sender: Option<String>,
    /// The client's id of the request, or empty without an id.
    pub id: String,
    /// The served model.
    pub model: NamedVersion,
    /// The run that completed it, or `None` if it failed.
    pub last: Option<LastRun>,
    /// The numbers of its last batches, as in spans.
    pub batches: Vec<u64>,
    /// The reason of its failure, or `None` if it was answered.
    pub failure: Option<String>,
}

impl RequestRecord {
    /// Returns the time that its client waited, as far as it is known.
    pub fn whole(&self) -> Duration {
        self.latency + self.received.unwrap_or_default()
    }

    /// Sets the client's part.
    #[must_use]
    pub fn sent_by(mut self, origin: Option<&RequestOrigin>) -> Self {
        if let Some(origin) = origin {
            self.sender = Some(match &origin.sender {
                RequestSender::Key(name) => shortened(name),
                RequestSender::Address(ip) => ip.to_string(),
            });
            self.id = shortened(&origin.id);
            self.received = Some(origin.received);
        }
        self
    }

    /// Sets the reason of its failure.
    #[must_use]
    pub fn failed(mut self, why: &str) -> Self {
        self.failure = Some(shortened(why));
        self
    }
}

fn shortened(text: &str) -> String {
    let cut: String = text.chars().take(MOST_CHARS).collect();
    one_line(&cut).into_owned()
}

/// The recent requests for screens.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestsView {
    /// The slowest answered requests of the last [`REQUEST_WINDOW`], the slowest first.
    pub slowest: Vec<RequestRecord>,
    /// The last failed requests, the newest first.
    pub failed: Vec<RequestRecord>,
}

/// The slowest requests of a slot of time.
#[derive(Clone, Debug)]
struct RequestSlot {
    number: u64,
    /// The requests, the slowest first.
    slowest: Vec<RequestRecord>,
}

/// The slowest requests of the last minute and the last failed ones.
#[derive(Clone, Debug, Default)]
pub struct RequestLog {
    /// The slots, oldest first.
    slots: VecDeque<RequestSlot>,
    failed: VecDeque<RequestRecord>,
}

impl RequestLog {
    /// Returns the latency that a request must exceed to be kept, and the end of the time for which
    /// this holds.
    pub fn threshold(&self) -> (Duration, Duration) {
        let Some(slot) = self.slots.back() else {
            return Default::default();
        };
        let least = slot.slowest.last().map(|last| last.latency);
        let is_full = slot.slowest.len() >= KEPT_REQUESTS;
        let least = least.filter(|_| is_full).unwrap_or_default();
        let end = SLOT.as_secs().saturating_mul(slot.number + 1);
        (least, Duration::from_secs(end))
    }

    /// Adds an answered request, unless it is faster than the kept ones of its time.
    pub fn answered(&mut self, record: RequestRecord) {
        let number = record.ended.as_secs() / SLOT.as_secs();
        if self.slots.back().is_none_or(|slot| slot.number < number) {
            self.slots.push_back(RequestSlot {
                number,
                slowest: Vec::with_capacity(KEPT_REQUESTS + 1),
            });
        }
        while self.slots.len() as u64 > SLOTS {
            self.slots.pop_front();
        }
        let Some(slot) = self.slots.back_mut() else {
            return;
        };
        let is_slower = |other: &RequestRecord| other.latency >= record.latency;
        let at = slot.slowest.partition_point(is_slower);
        slot.slowest.insert(at, record);
        slot.slowest.truncate(KEPT_REQUESTS);
    }

    /// Adds a failed request, in place of the oldest one.
    pub fn failed(&mut self, record: RequestRecord) {
        if self.failed.len() >= KEPT_REQUESTS {
            self.failed.pop_front();
        }
        self.failed.push_back(record);
    }

    /// Returns the requests as of `now`.
    pub fn view(&self, now: Duration) -> RequestsView {
        let since = now.saturating_sub(REQUEST_WINDOW);
        let all = self.slots.iter().flat_map(|slot| &slot.slowest);
        let mut slowest: Vec<&RequestRecord> = all.filter(|r| r.ended >= since).collect();
        slowest.sort_by_key(|record| std::cmp::Reverse(record.latency));
        slowest.truncate(KEPT_REQUESTS);
        RequestsView {
            slowest: slowest.into_iter().cloned().collect(),
            failed: self.failed.iter().rev().cloned().collect(),
        }
    }
}
