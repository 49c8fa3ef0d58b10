//! The origin of a trace, from the `traceparent` header of W3C's Trace Context.

use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};

/// The client's part of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceParent {
    /// The trace.
    pub trace: u128,
    /// The client's span.
    pub span: u64,
    /// Whether the trace is recorded.
    pub sampled: bool,
}

/// The server's part of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpanContext {
    /// The trace.
    pub trace: u128,
    /// The server's span.
    pub span: u64,
    /// The client's span, if there is one.
    pub parent: Option<u64>,
    /// Whether the trace is recorded.
    pub sampled: bool,
}

impl TraceParent {
    /// Parses the header, or returns `None` if it is invalid.
    pub fn parse(header: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(header).ok()?.trim();
        let mut parts = text.split('-');
        let mut field = |digits: usize| {
            let part = parts.next().filter(|part| part.len() == digits)?;
            let is_hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
            part.bytes().all(is_hex).then_some(part)
        };
        let version = u8::from_str_radix(field(2)?, 16).ok()?;
        let trace = u128::from_str_radix(field(32)?, 16).ok()?;
        let span = u64::from_str_radix(field(16)?, 16).ok()?;
        let flags = u8::from_str_radix(field(2)?, 16).ok()?;
        // Later versions may have more fields after these; the first version may not.
        let is_known = version < u8::MAX && (version > 0 || parts.next().is_none());
        let parent = TraceParent {
            trace,
            span,
            sampled: flags & 1 == 1,
        };
        Some(parent).filter(|_| is_known && trace != 0 && span != 0)
    }
}

impl SpanContext {
    /// Creates a span within another span of this server.
    pub(crate) fn within(outer: SpanContext) -> Self {
        SpanContext {
            span: random(),
            parent: Some(outer.span),
            ..outer
        }
    }

    /// Creates a span within the client's, or a span of a new trace; `ratio` of new traces are
    /// recorded.
    pub fn begin(parent: Option<TraceParent>, ratio: f64) -> Self {
        let trace = parent.map_or_else(
            || u128::from(random()) << 64 | u128::from(random()),
            |p| p.trace,
        );
        SpanContext {
            trace,
            span: random(),
            parent: parent.map(|parent| parent.span),
            sampled: parent.map_or_else(|| is_within(trace, ratio), |parent| parent.sampled),
        }
    }
}

/// Returns whether a trace is recorded with this ratio. All programs with the same ratio agree.
pub fn is_within(trace: u128, ratio: f64) -> bool {
    const HALF: f64 = (1u64 << 63) as f64;
    ratio >= 1.0 || ((trace as u64 >> 1) as f64) < ratio * HALF
}

/// Returns an unpredictable number that is not zero.
pub(crate) fn random() -> u64 {
    RandomState::new().build_hasher().finish().max(1)
}

impl fmt::Display for SpanContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flags = u8::from(self.sampled);
        write!(f, "00-{:032x}-{:016x}-{flags:02x}", self.trace, self.span)
    }
}
