//! Limits for slow bodies: each piece must arrive in time, and all of them at a minimum rate.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::Instant;

use crate::clock::{ClockWait, ConnectionClock};
use crate::limits::ServerLimits;
use divisi_inference::error::{ErrorKind, ServiceError};

/// The pace of a body. A state machine without a clock; times count from the start of the body.
#[derive(Clone, Copy, Debug)]
pub struct BodyPace {
    /// The time between two pieces, and the initial time without a minimum rate.
    time: Duration,
    /// The minimum rate in bytes per second.
    rate: usize,
    bytes: usize,
    last: Duration,
}

impl BodyPace {
    /// Creates the pace of a body without received data.
    pub fn new(time: Duration, rate: usize) -> Self {
        BodyPace {
            time,
            rate,
            bytes: 0,
            last: Duration::ZERO,
        }
    }

    /// Records bytes received by `now`.
    pub fn bytes_received(&mut self, bytes: usize, now: Duration) {
        self.bytes = self.bytes.saturating_add(bytes);
        self.last = now;
    }

    /// Returns the deadline for the next piece.
    pub fn deadline(&self) -> Duration {
        let seconds = self.bytes as f64 / self.rate.max(1) as f64;
        let paced = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        self.last.min(paced).saturating_add(self.time)
    }

    /// Returns the error of a slow body.
    fn error(&self) -> ServiceError {
        let (time, rate) = (self.time.as_secs_f64(), self.rate);
        let message = format!(
            "the request's body arrived too slowly: expected the next bytes within {time} s, and \
             {rate} bytes a second after the first {time} s"
        );
        ServiceError::new(ErrorKind::Slow, message)
    }
}

/// Waits for the pieces of a body within its pace.
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
    /// Creates the limit of a body that has not started.
    pub(crate) fn new(limits: &ServerLimits, clock: &ConnectionClock) -> Self {
        PaceLimit {
            clock: clock.clone(),
            limits: BodyPace::new(limits.body_time, limits.body_rate),
            under_way: None,
        }
    }

    /// Ends the body; another one may start.
    pub(crate) fn ends(&mut self) {
        self.under_way = None;
    }

    /// Records received bytes.
    pub(crate) fn bytes_received(&mut self, bytes: usize) {
        let body = begun(&mut self.under_way, self.limits, &self.clock);
        body.pace
            .bytes_received(bytes, self.clock.now() - body.began);
    }

    /// Waits for more data.
    ///
    /// # Errors
    /// Returns an error if the body is too slow.
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

/// Returns the current body, which starts now if there is none.
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
