//! The clock of a server's connections: the machine's, or one that is moved by hand.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, Sleep};

/// The clock for connection limits. By default it is the machine's.
#[derive(Clone, Debug, Default)]
pub struct ConnectionClock(Option<watch::Receiver<Instant>>);

/// Moves a manual clock: time limits pass when a test moves it, not because the machine is busy.
#[derive(Debug)]
pub struct ClockHand(watch::Sender<Instant>);

impl ClockHand {
    /// Advances the clock. Limits within `time` pass. A time beyond the clock's range changes
    /// nothing.
    pub fn advance(&self, time: Duration) {
        self.0
            .send_modify(|now| *now = now.checked_add(time).unwrap_or(*now));
    }
}

impl ConnectionClock {
    /// Creates a manual clock, and the hand that moves it.
    pub fn still() -> (Self, ClockHand) {
        let (hand, clock) = watch::channel(Instant::now());
        (ConnectionClock(Some(clock)), ClockHand(hand))
    }

    /// Returns the current time.
    pub(crate) fn now(&self) -> Instant {
        match &self.0 {
            None => Instant::now(),
            Some(clock) => *clock.borrow(),
        }
    }

    /// Returns a wait until `deadline`.
    pub(crate) fn sleep_until(&self, deadline: Instant) -> ClockWait {
        let waits = match &self.0 {
            None => Waits::Machine(Box::pin(tokio::time::sleep_until(deadline))),
            Some(clock) => Waits::Still(Box::pin(until(clock.clone(), deadline))),
        };
        ClockWait { deadline, waits }
    }

    /// Returns a wait of `time`.
    pub(crate) fn sleep(&self, time: Duration) -> ClockWait {
        let now = self.now();
        self.sleep_until(now.checked_add(time).unwrap_or(now + NEVER))
    }
}

/// A time longer than any connection.
const NEVER: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);

async fn until(mut clock: watch::Receiver<Instant>, deadline: Instant) {
    // Without a hand, the clock never moves again.
    if clock.wait_for(|now| *now >= deadline).await.is_err() {
        std::future::pending().await
    }
}

/// A wait for a time of a [`ConnectionClock`].
pub(crate) struct ClockWait {
    deadline: Instant,
    waits: Waits,
}

enum Waits {
    Machine(Pin<Box<Sleep>>),
    Still(Pin<Box<dyn Future<Output = ()> + Send + Sync>>),
    Over,
}

impl ClockWait {
    /// Returns the time that it waits for.
    pub(crate) fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Waits for another time, without allocating for the machine's clock.
    pub(crate) fn reset(&mut self, deadline: Instant, clock: &ConnectionClock) {
        match &mut self.waits {
            Waits::Machine(sleep) => sleep.as_mut().reset(deadline),
            Waits::Still(_) | Waits::Over => *self = clock.sleep_until(deadline),
        }
        self.deadline = deadline;
    }
}

impl Future for ClockWait {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        match &mut self.waits {
            Waits::Machine(sleep) => return sleep.as_mut().poll(context),
            Waits::Still(wait) => ready!(wait.as_mut().poll(context)),
            Waits::Over => {}
        }
        // It may be polled again, as tokio's may.
        self.waits = Waits::Over;
        Poll::Ready(())
    }
}
