//! The reply promised to a client. It is called exactly once, whatever happens to the threads that
//! should call it. Panics of networks and combination rules are caught, so that they do not stop an
//! engine's thread.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use thiserror::Error;

use crate::serving::answer::Answer;
use divisi_model::codes::{Code, Coded};
use divisi_runtime::tensor::MOST_EXACT;

use super::locks::Leaf;

/// The reason why an admitted request has no answer.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Failure {
    /// It was not answered before its deadline.
    #[error("the deadline passed")]
    Deadline,
    /// It waited too long for its first batch.
    #[error("it exceeded its model's queue timeout")]
    QueueTimeout,
    /// Its caller cancelled it.
    #[error("cancelled by its caller")]
    Cancelled,
    /// A worker or the engine failed; holds the reason.
    #[error("{0}")]
    Worker(String),
    /// The engine ended first; holds the reason.
    #[error("{0}")]
    Stopped(String),
    /// The combination rule panicked; holds the message.
    #[error("{0}")]
    RulePanicked(String),
    /// A step on the host failed.
    #[error("step `{step}`: {reason}")]
    Step {
        /// The step's name.
        step: String,
        /// The reason.
        reason: String,
    },
    /// A model returned integers that float32 may not represent exactly, or NaN in their place.
    #[error(
        "step `{step}`: tensor `{output}` has NaN or integers of {MOST_EXACT} and more, which are \
         not exact in float32"
    )]
    Inexact {
        /// The step of the model, or the model's name outside a pipeline.
        step: String,
        /// The output tensor of the step.
        output: String,
    },
    /// The request was dropped because of a bug.
    #[error("internal error: the request was dropped")]
    Dropped,
    /// Voting members answered NaN or infinities.
    #[error("{}", not_finite(.0))]
    NotFinite(Vec<NotFiniteMember>),
}

/// A member that answered NaN or infinities.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotFiniteMember {
    /// The member's name.
    pub name: String,
    /// The names of its steps, if they differ from the member's.
    pub steps: Vec<String>,
    /// The affected samples of the request.
    pub samples: usize,
}

impl Coded for Failure {
    fn code(&self) -> Code {
        match self {
            Failure::Deadline => Code::Deadline,
            Failure::QueueTimeout => Code::QueueTimeout,
            Failure::Cancelled => Code::Cancelled,
            Failure::Worker(_) => Code::WorkerFailed,
            Failure::Stopped(_) => Code::EngineStopped,
            Failure::RulePanicked(_) => Code::RulePanicked,
            Failure::Step { .. } => Code::StepFailed,
            Failure::Inexact { .. } => Code::AnswerInexact,
            Failure::Dropped => Code::RequestDropped,
            Failure::NotFinite(_) => Code::MemberNotFinite,
        }
    }
}

fn not_finite(members: &[NotFiniteMember]) -> String {
    let words: Vec<String> = members.iter().map(ToString::to_string).collect();
    words.join("; ")
}

impl fmt::Display for NotFiniteMember {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NotFiniteMember {
            name,
            steps,
            samples,
        } = self;
        match &steps[..] {
            [] => write!(f, "member `{name}`")?,
            [step] => write!(f, "step `{step}`, member `{name}`,")?,
            steps => write!(
                f,
                "one of the steps `{}`, member `{name}`,",
                steps.join("`, `")
            )?,
        }
        let plural = if *samples == 1 { "" } else { "s" };
        write!(
            f,
            " answered NaN or infinities for {samples} sample{plural}"
        )
    }
}

/// The outcome of a request.
pub type Outcome = Result<Answer, Failure>;

/// Receives the outcome in the thread that completed the request. It must be quick.
pub type Reply = Box<dyn FnOnce(Outcome) + Send>;

/// The number of admitted requests since the start, and their outcomes. Without requests under way,
/// `promised` is the sum of `kept` and `withdrawn`. The other counters are 0 except for bugs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settlements {
    /// Admitted requests.
    pub promised: u64,
    /// Answered requests, including those that failed with a reason.
    pub kept: u64,
    /// Requests that their callers withdrew before they were queued.
    pub withdrawn: u64,
    /// Second answers to answered requests, which were not delivered.
    pub twice: u64,
    /// Requests that were dropped, and answered with [`Failure::Dropped`].
    pub dropped: u64,
}

/// The counters of [`Settlements`].
#[derive(Debug, Default)]
pub(super) struct PromiseLedger {
    promised: AtomicU64,
    kept: AtomicU64,
    withdrawn: AtomicU64,
    twice: AtomicU64,
    dropped: AtomicU64,
}

impl PromiseLedger {
    pub(super) fn read(&self) -> Settlements {
        let of = |counter: &AtomicU64| counter.load(Ordering::Acquire);
        Settlements {
            promised: of(&self.promised),
            kept: of(&self.kept),
            withdrawn: of(&self.withdrawn),
            twice: of(&self.twice),
            dropped: of(&self.dropped),
        }
    }
}

/// A reply that is called exactly once.
pub(super) struct Promise {
    reply: Leaf<Option<Reply>>,
    ledger: Arc<PromiseLedger>,
}

impl Promise {
    /// Creates a promise to call `reply`.
    pub(super) fn new(reply: Reply, ledger: &Arc<PromiseLedger>) -> Self {
        ledger.promised.fetch_add(1, Ordering::AcqRel);
        Promise {
            reply: Leaf::new(Some(reply)),
            ledger: Arc::clone(ledger),
        }
    }

    /// Sends the outcome to the client.
    pub(super) fn keep(&self, outcome: Outcome) {
        let Some(reply) = self.reply.lock().take() else {
            self.ledger.twice.fetch_add(1, Ordering::AcqRel);
            return;
        };
        self.ledger.kept.fetch_add(1, Ordering::AcqRel);
        tell(reply, outcome);
    }

    /// Withdraws the promise, because the caller has withdrawn the request.
    pub(super) fn withdraw(&self) {
        // Dropped without the lock, because its contents are unknown.
        let reply = self.reply.lock().take();
        if reply.is_some() {
            self.ledger.withdrawn.fetch_add(1, Ordering::AcqRel);
        }
    }
}

impl Drop for Promise {
    fn drop(&mut self) {
        let reply = self.reply.lock().take();
        if let Some(reply) = reply {
            self.ledger.dropped.fetch_add(1, Ordering::AcqRel);
            tell(reply, Err(Failure::Dropped));
        }
    }
}

/// Calls the reply. A panic in it must not stop the thread.
fn tell(reply: Reply, outcome: Outcome) {
    drop(caught(|| reply(outcome)));
}

/// A panic with its message.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("panicked: {0}")]
pub struct Panicked(String);

/// The combination rule of a request panicked.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("its combination rule {0}")]
pub(crate) struct RulePanicked(#[from] Panicked);

/// Calls `work` and catches its panics.
///
/// # Errors
/// `work` panicked, and its data may be broken.
pub(crate) fn caught<T>(work: impl FnOnce() -> T) -> Result<T, Panicked> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| Panicked(panic_text(panic.as_ref())))
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<&str>()
        .map(ToString::to_string)
        .or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "no reason given".into())
}
