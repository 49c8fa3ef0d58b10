//! The door: a request is admitted or refused at once.

use thiserror::Error;

use divisi_model::codes::{Code, Coded};
use divisi_runtime::tensor::SampleFault;

/// Admits while open; counts what it refuses.
#[derive(Clone, Debug, Default)]
pub struct Door {
    state: DoorState,
    refused: u64,
    last: Option<Refused>,
}

/// Open, or closed with a reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum DoorState {
    /// Workers are not ready yet.
    #[default]
    Starting,
    /// Requests are let in.
    Open,
    /// No request is let in; says why.
    Closed(String),
}

/// Why a request was not admitted.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Refused {
    /// There are more samples than the pool holds.
    #[error("a request of {samples} samples is larger than the pool of {most}")]
    TooLarge {
        /// Samples of the request.
        samples: usize,
        /// Samples that the pool holds.
        most: usize,
    },
    /// There are more samples than slots are free.
    #[error("the pool is full: {free} places free, {samples} asked for")]
    Full {
        /// Samples of the request.
        samples: usize,
        /// Slots that are free.
        free: usize,
    },
    /// As many requests of its priority wait as may.
    #[error("the queue is full: {most} requests of priority {priority} wait, which is its bound")]
    QueueFull {
        /// The priority.
        priority: usize,
        /// The bound.
        most: u32,
    },
    /// Workers are not ready yet.
    #[error("the door is closed: workers are starting")]
    Starting,
    /// The door is closed; says why.
    #[error("the door is closed: {0}")]
    Closed(String),
    /// The values are no whole samples.
    #[error("expected samples of {expected} values, found {found} values")]
    Shape {
        /// Values of a sample.
        expected: usize,
        /// Values that came.
        found: usize,
    },
    /// There are no samples.
    #[error("a request needs at least one sample")]
    Empty,
    /// A value is NaN or infinite.
    #[error("sample {sample}: value {value} is not a finite number")]
    NotFinite {
        /// Number of the sample.
        sample: usize,
        /// Number of the value in it.
        value: usize,
    },
    /// An output that there is not.
    #[error("there is no output {output}: outputs are numbered from 0, and there {}", are(.outputs))]
    Output {
        /// Its number.
        output: usize,
        /// How many there are.
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
    /// Whether requests are admitted.
    pub fn state(&self) -> &DoorState {
        &self.state
    }

    /// Opens, closes, or closes for another reason.
    pub fn set(&mut self, state: DoorState) {
        self.state = state;
    }

    /// Lets a request of `samples` in, as far as the door is concerned; `ahead` is the part of the pool, from
    /// 0 to 1, that is held by samples which go before its own. Unless they are alone, large requests leave
    /// some room to small ones, and those that are not among the first leave more to these.
    ///
    /// # Errors
    /// [`Refused`], counted.
    pub fn admit(
        &mut self,
        samples: usize,
        (capacity, free): (usize, usize),
        ahead: impl FnOnce() -> f64,
    ) -> Result<(), Refused> {
        let kept = match free == capacity {
            true => 0,
            false => kept(samples, (capacity, free), ahead).min(free),
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
        if let Err(refused) = &verdict {
            self.count_refusal(refused);
        }
        verdict
    }

    /// Counts a refusal that was decided outside.
    pub fn count_refusal(&mut self, refused: &Refused) {
        self.refused += 1;
        self.last = Some(refused.clone());
    }

    /// Why the last request was refused.
    pub fn last_refusal(&self) -> Option<&Refused> {
        self.last.as_ref()
    }

    /// Requests refused so far.
    pub fn refused(&self) -> u64 {
        self.refused
    }
}

/// One in so many places of a pool is kept for requests that need no more places than are kept.
const KEPT_FOR_SMALL: usize = 16;

/// One in so many is kept for requests that are among the first.
const KEPT_FOR_URGENT: usize = 4;

/// The part of a pool that samples hold at most which go before those of the first requests.
const AMONG_FIRST: f64 = 0.0625;

/// The fewest places of which some are kept.
const WORTH_KEEPING: usize = 1024;

/// Returns how many places a request of `samples` must leave to smaller ones.
fn kept_for_small(samples: usize, capacity: usize) -> usize {
    let kept = capacity / KEPT_FOR_SMALL;
    match capacity < WORTH_KEEPING || samples <= kept {
        true => 0,
        false => kept,
    }
}

/// Returns how many places a request must leave to others.
fn kept(samples: usize, (capacity, free): (usize, usize), ahead: impl FnOnce() -> f64) -> usize {
    let most = capacity / KEPT_FOR_URGENT;
    let has_room = samples.saturating_add(most) <= free;
    let for_urgent = match has_room || ahead() <= AMONG_FIRST {
        true => 0,
        false => most,
    };
    for_urgent.max(kept_for_small(samples, capacity))
}
