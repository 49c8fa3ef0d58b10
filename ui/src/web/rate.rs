//! The bound on messages of a browser: a bucket of tokens that refills with time.

use std::time::Duration;

/// A bucket of tokens: `most` at once, `per_second` on average.
#[derive(Clone, Debug)]
pub(super) struct TokenBucket {
    most: f64,
    per_second: f64,
    left: f64,
    /// The time of the last refill.
    at: Duration,
}

impl TokenBucket {
    /// Creates a full bucket.
    pub(super) fn new(most: u32, per_second: u32) -> Self {
        TokenBucket {
            most: most.into(),
            per_second: per_second.into(),
            left: most.into(),
            at: Duration::ZERO,
        }
    }

    /// Takes tokens at the time `now`. Returns false if there are too few.
    pub(super) fn take(&mut self, tokens: usize, now: Duration) -> bool {
        let passed = now.saturating_sub(self.at).as_secs_f64();
        self.at = now;
        self.left = (self.left + passed * self.per_second).min(self.most);
        self.left -= tokens as f64;
        self.left >= 0.0
    }
}

/// The bounds on a browser's messages.
#[derive(Clone, Debug)]
pub(super) struct MessageRate {
    messages: TokenBucket,
    bytes: TokenBucket,
}

impl MessageRate {
    /// Creates the bounds: a held key, a dragged mouse and an answer to each frame fit well.
    pub(super) fn new() -> Self {
        MessageRate {
            messages: TokenBucket::new(500, 250),
            bytes: TokenBucket::new(256 << 10, 64 << 10),
        }
    }

    /// Counts a message. Returns false if there are too many, or too many bytes.
    pub(super) fn admit(&mut self, bytes: usize, now: Duration) -> bool {
        self.messages.take(1, now) & self.bytes.take(bytes, now)
    }
}
