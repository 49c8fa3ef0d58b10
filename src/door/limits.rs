//! The bounds of client requests. A request beyond them is refused before anything is allocated for
//! it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use divisi_inference::bounds::RequestBounds;
use divisi_inference::error::{ErrorKind, ServiceError};

/// The bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerLimits {
    /// The maximum bytes of a request's body or message.
    pub body: usize,
    /// The maximum bytes of a request's JSON.
    pub json: usize,
    /// The maximum bytes of all request bodies in memory.
    pub bodies: usize,
    /// The maximum bytes of a request's headers.
    pub header_bytes: usize,
    /// The maximum number of headers of a request.
    pub headers: usize,
    /// The bounds of one request.
    pub request: RequestBounds,
    /// The maximum number of connections of an address. Beyond it, an idle or stalled connection is
    /// closed for each new one.
    pub connections: usize,
    /// The maximum number of concurrent calls on a gRPC connection.
    pub streams: u32,
    /// The maximum number of inference requests in progress.
    pub requests: usize,
    /// The maximum number of shared memory regions.
    pub regions: usize,
    /// The time for the headers of a request: for the first one since the start of the connection,
    /// for later ones since their first byte.
    pub header_time: Duration,
    /// The time that a connection may be idle between requests.
    pub idle_time: Duration,
    /// The time that a connection may be idle while the server shuts down.
    pub last_time: Duration,
    /// The time between two pieces of a request's body. In total, the body has this time and a
    /// further second for each [`ServerLimits::body_rate`] bytes received.
    pub body_time: Duration,
    /// The minimum bytes per second of a body after its first time limit.
    pub body_rate: usize,
    /// The time without a byte after which a connection with an incomplete request may be closed
    /// for a new one: longer than usual network pauses, and short enough for a waiting client.
    pub stalled_time: Duration,
    /// The time for which a client may leave an answer unread.
    pub read_time: Duration,
    /// The time for requests in progress to finish when the server shuts down.
    pub farewell: Duration,
}

impl Default for ServerLimits {
    fn default() -> Self {
        ServerLimits {
            // A tensor of 256 MiB, and its description.
            body: (256 << 20) + (1 << 20),
            json: 64 << 20,
            bodies: 1 << 30,
            header_bytes: 64 << 10,
            headers: 64,
            request: RequestBounds::default(),
            connections: 8192,
            streams: 1024,
            requests: 4096,
            regions: 1024,
            header_time: Duration::from_secs(10),
            idle_time: Duration::from_secs(120),
            last_time: Duration::from_secs(2),
            body_time: Duration::from_secs(60),
            body_rate: 128 << 10,
            stalled_time: Duration::from_secs(1),
            read_time: Duration::from_secs(30),
            farewell: Duration::from_secs(5),
        }
    }
}

impl ServerLimits {
    /// Returns the limits with bodies of up to `most` bytes, and with memory for four of them.
    #[must_use]
    pub fn with_body(self, most: usize) -> Self {
        ServerLimits {
            body: most,
            json: self.json.min(most),
            bodies: self.bodies.max(most.saturating_mul(4)),
            request: RequestBounds {
                elements: self.request.elements.max(most),
                ..self.request
            },
            ..self
        }
    }
}

/// Returns the error of a request without memory.
pub(crate) fn no_memory() -> ServiceError {
    let message = "the requests in progress use all memory allowed for requests";
    ServiceError::new(ErrorKind::TooMany, message)
}

/// A bounded number of units.
#[derive(Debug)]
pub(crate) struct Allowance {
    most: usize,
    held: AtomicUsize,
}

impl Allowance {
    /// Creates an allowance of `most` units.
    pub(crate) fn with_limit(most: usize) -> Arc<Self> {
        Arc::new(Allowance {
            most,
            held: AtomicUsize::new(0),
        })
    }

    /// Returns the number of units in use.
    pub(crate) fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    /// Returns an empty share.
    pub(crate) fn share(self: &Arc<Self>) -> AllowanceShare {
        AllowanceShare {
            of: Arc::clone(self),
            held: 0,
        }
    }

    /// Takes one unit, or returns `None` if there is none left.
    pub(crate) fn take_one(self: &Arc<Self>) -> Option<AllowanceShare> {
        let mut share = self.share();
        share.take(1).then_some(share)
    }
}

/// A part of an [`Allowance`], returned when this is dropped.
#[derive(Debug)]
pub(crate) struct AllowanceShare {
    of: Arc<Allowance>,
    held: usize,
}

impl AllowanceShare {
    /// Grows or shrinks the share to `all` units. Returns `false` without a change if there are not
    /// enough left.
    pub(crate) fn resize(&mut self, all: usize) -> bool {
        if all >= self.held {
            return self.take(all - self.held);
        }
        self.of.held.fetch_sub(self.held - all, Ordering::Relaxed);
        self.held = all;
        true
    }

    /// Returns whether `more` units are left, without taking any.
    pub(crate) fn fits(&self, more: usize) -> bool {
        let all = self.of.held().checked_add(more);
        all.is_some_and(|all| all <= self.of.most)
    }

    /// Takes `more` units. Returns `false` if there are not enough left.
    pub(crate) fn take(&mut self, more: usize) -> bool {
        let most = self.of.most;
        let add = |held: usize| held.checked_add(more).filter(|all| *all <= most);
        let taken = self
            .of
            .held
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
        self.held += if taken.is_ok() { more } else { 0 };
        taken.is_ok()
    }
}

impl Drop for AllowanceShare {
    fn drop(&mut self) {
        self.of.held.fetch_sub(self.held, Ordering::Relaxed);
    }
}
