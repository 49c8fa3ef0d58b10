//! The reply that a client was promised: it is called once, whatever happens to those who
//! should have called it. Panics of what others wrote, networks and combination rules, are caught
//! where they must not take a thread of the engine with them.

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

/// Why a request has no answer although it was admitted.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Failure {
    /// It was not answered in time.
    #[error("the deadline passed")]
    Deadline,
    /// It waited longer than requests may wait for their first batch.
    #[error("it exceeded its model's queue timeout")]
    QueueTimeout,
    /// Its caller gave it up.
    #[error("cancelled by its caller")]
    Cancelled,
    /// A worker, or the system, failed; says how.
    #[error("{0}")]
    Worker(String),
    /// The engine ended before; says why.
    #[error("{0}")]
    Stopped(String),
    /// The combination rule panicked; says with what.
    #[error("{0}")]
    RulePanicked(String),
    /// A step of the host failed; says which and how.
    #[error("step `{step}`: {reason}")]
    Step {
        /// The step's name.
        step: String,
        /// Why.
        reason: String,
    },
    /// A model made integers that float32, in which it computes, need not hold exactly, or NaN in
    /// their place.
    #[error(
        "step `{step}`: tensor `{output}` has NaN or integers of {MOST_EXACT} and more, which are \
         not exact in float32"
    )]
    Inexact {
        /// The step that the model does; of a model alone its name.
        step: String,
        /// The tensor that the step makes.
        output: String,
    },
    /// The request was dropped by a fault of the system's own.
    #[error("internal error: the request was dropped")]
    Dropped,
    /// Members that vote answered NaN or infinities.
    #[error("{}", not_finite(.0))]
    NotFinite(Vec<NotFiniteMember>),
}

/// A member that answered NaN or infinities.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotFiniteMember {
    /// Its name.
    pub name: String,
    /// The names of the steps that it does, where it does some that are called otherwise.
    pub steps: Vec<String>,
    /// The samples of the request that it answered so.
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

/// The end of a request, exactly once.
pub type Outcome = Result<Answer, Failure>;

/// Takes the outcome, in the thread that completed the request; it must be quick.
pub type Reply = Box<dyn FnOnce(Outcome) + Send>;

/// How many requests were let in since the start, and what became of them. Once nothing is
/// under way `promised` is `kept` and `withdrawn` together; the others are faults of the
/// system wherever they are not 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settlements {
    /// Requests let in.
    pub promised: u64,
    /// Requests answered, those that failed with a reason among them.
    pub kept: u64,
    /// Requests whose caller took them back before anybody knew of them.
    pub withdrawn: u64,
    /// Answers to requests that were answered already; nobody was told.
    pub twice: u64,
    /// Requests that were dropped; they were answered with [`Failure::Worker`].
    pub dropped: u64,
}

/// [`Settlements`] as they are counted.
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

/// See the module's text.
pub(super) struct Promise {
    reply: Leaf<Option<Reply>>,
    ledger: Arc<PromiseLedger>,
}

impl Promise {
    /// A promise that `reply` is called.
    pub(super) fn new(reply: Reply, ledger: &Arc<PromiseLedger>) -> Self {
        ledger.promised.fetch_add(1, Ordering::AcqRel);
        Promise {
            reply: Leaf::new(Some(reply)),
            ledger: Arc::clone(ledger),
        }
    }

    /// Tells the client the outcome.
    pub(super) fn keep(&self, outcome: Outcome) {
        let Some(reply) = self.reply.lock().take() else {
            self.ledger.twice.fetch_add(1, Ordering::AcqRel);
            return;
        };
        self.ledger.kept.fetch_add(1, Ordering::AcqRel);
        tell(reply, outcome);
    }

    /// Its caller took the request back: nobody waits.
    pub(super) fn withdraw(&self) {
        // It is dropped once the lock is given back: nobody knows what it holds.
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

/// A caller's reply that panics must not take the thread with it.
fn tell(reply: Reply, outcome: Outcome) {
    drop(caught(|| reply(outcome)));
}

/// A panic, with what it said.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("panicked: {0}")]
pub struct Panicked(String);

/// The combination rule of a request panicked.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("its combination rule {0}")]
pub(crate) struct RulePanicked(#[from] Panicked);

/// Calls `work`.
///
/// # Errors
/// It panicked. What it worked on may be broken then.
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
