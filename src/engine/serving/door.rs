//! The door: admits or refuses a request at once.
//!
//! The sample pool is the bound. Unless the pool is empty, a request leaves room for others: a
//! large request leaves a sixteenth of a pool of 1 024 places or more to smaller ones, and a
//! request that is not among the first to run leaves a quarter to those that are.

use thiserror::Error;

use divisi_model::codes::{Code, Coded};
use divisi_runtime::tensor::SampleFault;

/// Admits requests while open, and counts refusals.
#[derive(Clone, Debug, Default)]
pub struct Door {
    state: DoorState,
    refused: u64,
}

/// The state of the door.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum DoorState {
    /// Workers are not ready yet.
    #[default]
    Starting,
    /// Requests are admitted.
    Open,
    /// No request is admitted; holds the reason.
    Closed(String),
}

/// The reason why a request was refused.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Refused {
    /// There are more samples than the pool holds.
    #[error("a request of {samples} samples is larger than the pool of {most}")]
    TooLarge {
        /// Samples of the request.
        samples: usize,
        /// The capacity of the pool in samples.
        most: usize,
    },
    /// There are more samples than free slots.
    #[error("the pool is full: {free} slots free, {samples} needed")]
    Full {
        /// Samples of the request.
        samples: usize,
        /// Free slots.
        free: usize,
    },
    /// The level of the request's priority is full.
    #[error("the queue is full: at most {most} requests of priority {priority} may wait")]
    QueueFull {
        /// The priority.
        priority: usize,
        /// The bound.
        most: u32,
    },
    /// Workers are not ready yet.
    #[error("not accepting requests: workers are starting")]
    Starting,
    /// The door is closed; holds the reason.
    #[error("not accepting requests: {0}")]
    Closed(String),
    /// The values do not form whole samples.
    #[error("expected samples of {expected} values, found {found} values")]
    Shape {
        /// Values of a sample.
        expected: usize,
        /// The number of values.
        found: usize,
    },
    /// There are no samples.
    #[error("a request needs at least one sample")]
    Empty,
    /// A value is NaN or infinite.
    #[error("sample {sample}: value {value} is not a finite number")]
    NotFinite {
        /// The number of the sample.
        sample: usize,
        /// The number of the value in the sample.
        value: usize,
    },
    /// The requested output does not exist.
    #[error("there is no output {output}: outputs are numbered from 0, and there {}", are(.outputs))]
    Output {
        /// The number of the output.
        output: usize,
        /// The number of outputs.
        outputs: usize,
    },
    /// A sample that no member can answer.
    #[error(transparent)]
    Sample(#[from] SampleFault),
}

fn are(count: &usize) -> String {
    match count {
        1 => "is 1".into(),
        count => format!("are {count}"),
    }
}

impl Coded for Refused {
    fn code(&self) -> Code {
        match self {
            Refused::TooLarge { .. } => Code::RequestTooLarge,
            Refused::Full { .. } => Code::PoolFull,
            Refused::QueueFull { .. } => Code::QueueFull,
            Refused::Starting => Code::DoorStarting,
            Refused::Closed(_) => Code::DoorClosed,
            Refused::Shape { .. } => Code::RequestShape,
            Refused::Empty => Code::RequestEmpty,
            Refused::Output { .. } => Code::RequestOutput,
            Refused::NotFinite { .. } => Code::RequestNotFinite,
            Refused::Sample(SampleFault::Id { .. }) => Code::RequestNoRow,
            Refused::Sample(SampleFault::Masked { .. }) => Code::RequestMasked,
        }
    }
}

impl Door {
    /// Returns whether requests are admitted.
    pub fn state(&self) -> &DoorState {
        &self.state
    }

    /// Sets the state of the door.
    pub fn set(&mut self, state: DoorState) {
        self.state = state;
    }

    /// Admits a request of `samples` if the pool has room. `ahead` is the share of the pool, from 0
    /// to 1, held by samples that go before its own. Unless the pool is empty, large requests leave
    /// some room to small ones, and requests that are not among the first leave more.
    ///
    /// # Errors
    /// Returns [`Refused`] and counts the refusal.
    pub fn admit(
        &mut self,
        samples: usize,
        capacity: usize,
        free: usize,
        ahead: impl FnOnce() -> f64,
    ) -> Result<(), Refused> {
        let kept = match free == capacity {
            true => 0,
            false => kept(samples, capacity, free, ahead).min(free),
        };
        let verdict = match &self.state {
            DoorState::Starting => Err(Refused::Starting),
            DoorState::Closed(reason) => Err(Refused::Closed(reason.clone())),
            DoorState::Open if samples == 0 => Err(Refused::Empty),
            DoorState::Open if samples > capacity => Err(Refused::TooLarge {
                samples,
                most: capacity,
            }),
            DoorState::Open if samples > free - kept => Err(Refused::Full {
                samples,
                free: free - kept,
            }),
            DoorState::Open => Ok(()),
        };
        if verdict.is_err() {
            self.count_refusal();
        }
        verdict
    }

    /// Counts a refusal decided by the caller.
    pub fn count_refusal(&mut self) {
        self.refused += 1;
    }

    /// Returns the number of refused requests.
    pub fn refused(&self) -> u64 {
        self.refused
    }
}

/// One slot in this many is reserved for requests that fit into the reserve.
const KEPT_FOR_SMALL: usize = 16;

/// One slot in this many is reserved for requests that are among the first.
const KEPT_FOR_URGENT: usize = 4;

/// A request is among the first if at most this share of the pool goes before it.
const AMONG_FIRST: f64 = 0.0625;

/// The smallest pool with reserved slots.
const WORTH_KEEPING: usize = 1024;

/// Returns the number of slots that a request of `samples` must leave to smaller ones.
fn kept_for_small(samples: usize, capacity: usize) -> usize {
    let kept = capacity / KEPT_FOR_SMALL;
    match capacity < WORTH_KEEPING || samples <= kept {
        true => 0,
        false => kept,
    }
}

/// Returns the number of slots that a request must leave to others.
fn kept(samples: usize, capacity: usize, free: usize, ahead: impl FnOnce() -> f64) -> usize {
    let most = capacity / KEPT_FOR_URGENT;
    let has_room = samples.saturating_add(most) <= free;
    let for_urgent = match has_room || ahead() <= AMONG_FIRST {
        true => 0,
        false => most,
    };
    for_urgent.max(kept_for_small(samples, capacity))
}
