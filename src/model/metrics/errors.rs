//! One ledger of the requests that clients did not get an answer to: their number by model, outcome
//! and reason, and the last errors in full. A state machine without clock or lock, of bounded size.
//!
//! *Refused* means that the request was answered with an error before its work started, *failed*
//! that it was accepted and then ended with an error, *cancelled* that its client left.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error_kind::ErrorKind;
use divisi_runtime::words::one_line;

use super::moments::MomentCounts;

/// The number of distinct versions of models. Errors of further versions are counted without a name,
/// so that no counter falls.
const MOST_MODELS: usize = 256;

/// The number of errors that are kept in full for each subject and outcome.
const LAST: usize = 32;

/// The maximum number of characters of a message and of a sender's name.
const MOST_CHARS: usize = 240;

/// The end of a request without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorOutcome {
    /// It was answered with an error before its work started.
    Refused,
    /// It was accepted and then ended with an error.
    Failed,
    /// Its client left.
    Cancelled,
}

impl ErrorOutcome {
    /// Every outcome.
    pub const ALL: [ErrorOutcome; 3] = [
        ErrorOutcome::Refused,
        ErrorOutcome::Failed,
        ErrorOutcome::Cancelled,
    ];
}

/// The subject of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorSubject {
    /// A request for inference.
    Request,
    /// Another call, or a connection or head without a call.
    Call,
}

/// A version of a model.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct NamedVersion {
    /// The model's name.
    pub name: Arc<str>,
    /// Its version.
    pub version: Arc<str>,
}

/// The kind of a counted error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ErrorKey {
    /// Its subject.
    pub subject: ErrorSubject,
    /// The end of the request or call.
    pub outcome: ErrorOutcome,
    /// The reason.
    pub reason: ErrorKind,
}

/// An error that a client saw.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestError {
    /// The time in milliseconds of Unix time.
    pub at_ms: u64,
    /// The client: the name of its key, its address, or `this process`.
    pub sender: String,
    /// The served model, or `None` if the request named none.
    pub model: Option<NamedVersion>,
    /// The kind of error.
    pub key: ErrorKey,
    /// The message, as the client saw it.
    pub message: String,
}

/// The errors of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorCount {
    /// The kind.
    pub key: ErrorKey,
    /// The number since the start.
    pub total: u64,
    /// The number in each second of the last minute, oldest first; the last second is incomplete.
    pub series: Vec<u32>,
}

impl ErrorCount {
    /// Returns the number within the last minute.
    pub fn lately(&self) -> u64 {
        self.series.iter().map(|count| u64::from(*count)).sum()
    }
}

/// The errors of a version of a model.
#[derive(Clone, Debug, Default)]
struct ModelErrors {
    counts: BTreeMap<ErrorKey, (u64, MomentCounts)>,
}

/// The ledger of all errors.
#[derive(Clone, Debug, Default)]
pub struct ErrorLedger {
    by_model: BTreeMap<Option<NamedVersion>, ModelErrors>,
    last: VecDeque<RequestError>,
}

impl ErrorLedger {
    /// Records an error at `now`, the time since the ledger was created. Long texts are cut and
    /// control characters are escaped.
    pub fn record(&mut self, now: Duration, error: RequestError) {
        let error = RequestError {
            sender: shortened(&error.sender),
            message: shortened(&error.message),
            ..error
        };
        // One place is for errors without a name.
        let has_room = self.by_model.len() + 1 < MOST_MODELS;
        let model = error.model.clone();
        let model =
            model.filter(|model| has_room || self.by_model.contains_key(&Some(model.clone())));
        let errors = self.by_model.entry(model).or_default();
        let (total, moments) = errors.counts.entry(error.key).or_default();
        *total += 1;
        moments.add(now);
        self.keep(error);
    }

    /// Keeps an error in full, in place of the oldest one with its subject and outcome.
    fn keep(&mut self, error: RequestError) {
        let of = |error: &RequestError| (error.key.subject, error.key.outcome);
        let alike = |other: &&RequestError| of(other) == of(&error);
        if self.last.iter().filter(alike).count() >= LAST
            && let Some(at) = self.last.iter().position(|other| alike(&other))
        {
            self.last.remove(at);
        }
        self.last.push_back(error);
    }

    /// Returns the number of requests with an outcome since the start.
    pub fn requests(&self, outcome: ErrorOutcome) -> u64 {
        let all = self.by_model.values();
        all.map(|errors| errors.requests(outcome)).sum()
    }

    /// Returns the number of requests to a version of a model with an outcome since the start.
    pub fn requests_to(&self, model: &NamedVersion, outcome: ErrorOutcome) -> u64 {
        let errors = self.by_model.get(&Some(model.clone()));
        errors.map_or(0, |errors| errors.requests(outcome))
    }

    /// Returns the message of the last request with an outcome.
    pub fn last_message(&self, outcome: ErrorOutcome) -> Option<&str> {
        let is_such = |error: &&RequestError| {
            error.key.subject == ErrorSubject::Request && error.key.outcome == outcome
        };
        let last = self.last.iter().rev().find(is_such);
        last.map(|error| error.message.as_str())
    }

    /// Returns the last errors, the newest first.
    pub fn last(&self) -> Vec<RequestError> {
        self.last.iter().rev().cloned().collect()
    }

    /// Returns the counts at `now` over all models, the most frequent within the last minute first.
    pub fn counts(&self, now: Duration) -> Vec<ErrorCount> {
        let mut all: BTreeMap<ErrorKey, (u64, MomentCounts)> = BTreeMap::new();
        for (key, (total, moments)) in self.by_model.values().flat_map(|of| &of.counts) {
            let sum = all.entry(*key).or_default();
            sum.0 += total;
            sum.1.merge(moments);
        }
        listed(now, all.iter_mut())
    }

    /// Returns the counts at `now` of a version of a model, the most frequent within the last minute
    /// first.
    pub fn counts_of(&mut self, now: Duration, model: &NamedVersion) -> Vec<ErrorCount> {
        let errors = self.by_model.get_mut(&Some(model.clone()));
        errors.map_or_else(Vec::new, |errors| listed(now, errors.counts.iter_mut()))
    }

    /// Returns the total of each kind by model; `None` stands for all requests without a served
    /// model.
    pub fn totals(&self) -> Vec<(Option<NamedVersion>, ErrorKey, u64)> {
        let all = self.by_model.iter().flat_map(|(model, errors)| {
            let counts = errors.counts.iter();
            counts.map(move |(key, (total, _))| (model.clone(), *key, *total))
        });
        all.collect()
    }
}

impl ModelErrors {
    fn requests(&self, outcome: ErrorOutcome) -> u64 {
        let is_such =
            |key: &ErrorKey| key.subject == ErrorSubject::Request && key.outcome == outcome;
        let counts = self.counts.iter().filter(|(key, _)| is_such(key));
        counts.map(|(_, (total, _))| total).sum()
    }
}

fn listed<'c>(
    now: Duration,
    counts: impl Iterator<Item = (&'c ErrorKey, &'c mut (u64, MomentCounts))>,
) -> Vec<ErrorCount> {
    let mut listed: Vec<ErrorCount> = counts
        .map(|(key, (total, moments))| {
            moments.advance(now);
            ErrorCount {
                key: *key,
                total: *total,
                series: moments.series(),
            }
        })
        .collect();
    listed.sort_by_key(|count| std::cmp::Reverse((count.lately(), count.total)));
    listed
}

/// Returns a text on one line, with at most [`MOST_CHARS`] characters.
fn shortened(text: &str) -> String {
    let cut: String = text.chars().take(MOST_CHARS).collect();
    let line = one_line(&cut);
    match line.chars().count() > MOST_CHARS || cut.len() < text.len() {
        true => line.chars().take(MOST_CHARS - 1).chain(['…']).collect(),
        false => line.into_owned(),
    }
}
