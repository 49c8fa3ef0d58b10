//! The bounds of all that clients may ask for. What is beyond is refused before anything is
//! allocated for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use divisi_inference::bounds::RequestBounds;
use divisi_inference::error::{ErrorKind, ServiceError};

/// The bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerLimits {
    /// Bytes of a request's body or message.
    pub body: usize,
    /// Bytes of the JSON of a request.
    pub json: usize,
    /// Bytes of the bodies that are held at once, of all requests together.
    pub bodies: usize,
    /// Bytes of a request's headers.
    pub header_bytes: usize,
    /// Headers of a request.
    pub headers: usize,
    /// The bounds of one request.
    pub request: RequestBounds,
    /// Connections of an address. Beyond them an idle or stalled one makes room for each newcomer.
    pub connections: usize,
    /// Calls at once on a connection of gRPC.
    pub streams: u32,
    /// Requests for inference that are under way.
    pub requests: usize,
    /// Regions of shared memory.
    pub regions: usize,
    /// Time for the headers of a request: of the first one of a connection from its beginning on, of a
    /// later one from its first byte on.
    pub header_time: Duration,
    /// Time that a connection may be idle between requests.
    pub idle_time: Duration,
    /// Time that a connection may be idle while the server ends.
    pub last_time: Duration,
    /// Time for the body of a request between two pieces of it. In all it has this time, and a second
    /// more for each [`ServerLimits::body_rate`] bytes that have come.
    pub body_time: Duration,
    /// Bytes of a body that have to come in each second once its time is over.
    pub body_rate: usize,
    /// Time without a byte after which a connection whose request has not come whole may have to make
    /// room for a newcomer: longer than networks usually pause, and short enough for one who waits.
    pub stalled_time: Duration,
    /// Time that a client may let an answer lie without reading any of it.
    pub read_time: Duration,
    /// Time for requests under way to end when the server ends.
    pub farewell: Duration,
}

impl Default for ServerLimits {
    fn default() -> Self {
        ServerLimits {
            // A tensor of 256 MiB, and what describes it.
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
    /// The same with bodies of up to `most` bytes, and with memory for four of them.
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

/// Returns the error of a request that there is no memory for now.
pub(crate) fn no_memory() -> ServiceError {
    let message = "the requests in progress use all memory allowed for requests";
    ServiceError::new(ErrorKind::TooMany, message)
}

/// A number of things that may be there at once.
#[derive(Debug)]
pub(crate) struct Allowance {
    most: usize,
    held: AtomicUsize,
}

impl Allowance {
    /// Creates the allowance of `most` things.
    pub(crate) fn of(most: usize) -> Arc<Self> {
        Arc::new(Allowance {
            most,
            held: AtomicUsize::new(0),
        })
    }

    /// Returns how many are there.
    pub(crate) fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    /// Takes nothing yet.
    pub(crate) fn share(self: &Arc<Self>) -> AllowanceShare {
        AllowanceShare {
            of: Arc::clone(self),
            held: 0,
        }
    }

    /// Takes one, or returns `None` if there is none left.
    pub(crate) fn one(self: &Arc<Self>) -> Option<AllowanceShare> {
        let mut share = self.share();
        share.take(1).then_some(share)
    }
}

/// A part of an [`Allowance`]; it goes back when this is dropped.
#[derive(Debug)]
pub(crate) struct AllowanceShare {
    of: Arc<Allowance>,
    held: usize,
}

impl AllowanceShare {
    /// Takes more or returns some, so that `all` are taken. Returns `false` if there are not as
    /// many left; then it stays as it is.
    pub(crate) fn resize(&mut self, all: usize) -> bool {
        if all >= self.held {
            return self.take(all - self.held);
        }
        self.of.held.fetch_sub(self.held - all, Ordering::Relaxed);
        self.held = all;
        true
    }

    /// Returns whether there are `more` left, without taking any.
    pub(crate) fn fits(&self, more: usize) -> bool {
        let all = self.of.held().checked_add(more);
        all.is_some_and(|all| all <= self.of.most)
    }

    /// Takes `more`. Returns `false` if there are not as many left.
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
