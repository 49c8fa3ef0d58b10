//! Bodies that come too slowly: each piece has to come in time, and all of them fast enough.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::Instant;

use crate::clock::{ClockWait, ConnectionClock};
use crate::limits::ServerLimits;
use divisi_inference::error::{ErrorKind, ServiceError};

/// The pace of a body. A state machine without clock; its times count from the beginning of the body.
#[derive(Clone, Copy, Debug)]
pub struct BodyPace {
    /// The time between two pieces, and the time in which no rate is expected.
    time: Duration,
    /// Bytes a second.
    rate: usize,
    bytes: usize,
    last: Duration,
}

impl BodyPace {
    /// Creates the pace of a body of which nothing has come.
    pub fn new(time: Duration, rate: usize) -> Self {
        BodyPace {
            time,
            rate,
            bytes: 0,
            last: Duration::ZERO,
        }
    }

    /// Notes that more bytes have come by `now`.
    pub fn comes(&mut self, bytes: usize, now: Duration) {
        self.bytes = self.bytes.saturating_add(bytes);
        self.last = now;
    }

    /// Returns the time by which the next piece has to come.
    pub fn deadline(&self) -> Duration {
        let seconds = self.bytes as f64 / self.rate.max(1) as f64;
        let paced = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        self.last.min(paced).saturating_add(self.time)
    }

    /// Returns the error of a body that came too slowly.
    fn error(&self) -> ServiceError {
        let (time, rate) = (self.time.as_secs_f64(), self.rate);
        let message = format!(
            "the request's body arrived too slowly: expected the next bytes within {time} s, and \
             {rate} bytes a second after the first {time} s"
        );
        ServiceError::new(ErrorKind::Slow, message)
    }
}

/// Waits for the pieces of a body only as long as its pace allows.
pub(crate) struct PaceLimit {
    limits: BodyPace,
    clock: ConnectionClock,
    under_way: Option<PacedBody>,
}

struct PacedBody {
    pace: BodyPace,
    began: Instant,
    until: ClockWait,
}

impl PaceLimit {
    /// Creates the limit of a body that has not begun.
    pub(crate) fn new(limits: &ServerLimits, clock: &ConnectionClock) -> Self {
        PaceLimit {
            clock: clock.clone(),
            limits: BodyPace::new(limits.body_time, limits.body_rate),
            under_way: None,
        }
    }

    /// The body has come; another one may begin.
    pub(crate) fn ends(&mut self) {
        self.under_way = None;
    }

    /// Notes that bytes have come.
    pub(crate) fn comes(&mut self, bytes: usize) {
        let body = begun(&mut self.under_way, self.limits, &self.clock);
        body.pace.comes(bytes, self.clock.now() - body.began);
    }

    /// Waits for more.
    ///
    /// # Errors
    /// The body comes too slowly.
    pub(crate) fn poll_wait(&mut self, context: &mut Context<'_>) -> Poll<ServiceError> {
        let body = begun(&mut self.under_way, self.limits, &self.clock);
        let deadline = body.began.checked_add(body.pace.deadline());
        let Some(deadline) = deadline else {
            return Poll::Pending;
        };
        if body.until.deadline() != deadline {
            body.until.reset(deadline, &self.clock);
        }
        match Pin::new(&mut body.until).poll(context) {
            Poll::Ready(()) => Poll::Ready(body.pace.error()),
            Poll::Pending => Poll::Pending,
        }
    }
}

/// Returns the body that is under way, which begins now if none is.
fn begun<'a>(
    under_way: &'a mut Option<PacedBody>,
    pace: BodyPace,
    clock: &ConnectionClock,
) -> &'a mut PacedBody {
    under_way.get_or_insert_with(|| PacedBody {
        pace,
        began: clock.now(),
        until: clock.sleep(Duration::from_secs(1)),
    })
}
