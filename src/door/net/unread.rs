//! Limits for HTTP/2 streams whose client leaves an answer unread. A client grants flow control for
//! each stream, and may grant none while it answers pings, so that its connection looks alive.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::rt::Executor;

use crate::clock::ConnectionClock;

use super::io::TimeLimit;

tokio::task_local! {
    /// The answer of the stream that a task serves.
    static ANSWER: UnreadAnswer;
}

/// The number of answer pieces passed to a connection, and the number it has taken.
#[derive(Clone, Debug, Default)]
pub(crate) struct UnreadAnswer(Arc<AnswerPieces>);

#[derive(Debug, Default)]
struct AnswerPieces {
    handed: AtomicUsize,
    taken: AtomicUsize,
}

impl UnreadAnswer {
    /// Returns the answer of the current task's stream.
    pub(crate) fn of_this_stream() -> Self {
        ANSWER.try_with(Clone::clone).unwrap_or_default()
    }

    /// Records that a piece is passed to the connection.
    pub(crate) fn hands(&self) {
        self.0.handed.fetch_add(1, Ordering::Relaxed);
    }

    /// Records that the connection requests more, so it has taken the last piece.
    pub(crate) fn is_taken(&self) {
        let handed = self.0.handed.load(Ordering::Relaxed);
        self.0.taken.store(handed, Ordering::Relaxed);
    }

    /// Returns the number of the unread piece, if there is one.
    fn lies(&self) -> Option<usize> {
        let handed = self.0.handed.load(Ordering::Relaxed);
        let taken = self.0.taken.load(Ordering::Relaxed);
        (handed > taken).then_some(handed)
    }
}

/// Runs each stream of a connection in a task, and aborts it if a piece of its answer is unread for
/// too long. Dropping a stream resets it.
#[derive(Clone, Debug)]
pub(crate) struct StreamExecutor {
    /// The time for which a piece may be unread.
    pub read_time: Duration,
    /// The clock for this time.
    pub clock: ConnectionClock,
}

impl<F: Future<Output = ()> + Send + 'static> Executor<F> for StreamExecutor {
    fn execute(&self, stream: F) {
        let limit = TimeLimit::new(self.read_time, &self.clock);
        tokio::spawn(watched(stream, limit));
    }
}

async fn watched(stream: impl Future<Output = ()>, limit: TimeLimit) {
    let mut watch = AnswerWatch {
        answer: UnreadAnswer::default(),
        lies: None,
        limit,
    };
    let mut stream = pin!(ANSWER.scope(watch.answer.clone(), stream));
    poll_fn(|context| match stream.as_mut().poll(context) {
        Poll::Pending => watch.update(context),
        ended => ended,
    })
    .await;
}

struct AnswerWatch {
    answer: UnreadAnswer,
    lies: Option<usize>,
    limit: TimeLimit,
}

impl AnswerWatch {
    /// Updates the unread piece, which only changes when the stream is polled.
    fn update(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let lies = self.answer.lies();
        if lies.is_none() || lies != self.lies {
            self.limit.disarm();
        }
        self.lies = lies;
        match lies.is_some() && self.limit.has_passed(context) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }
}
