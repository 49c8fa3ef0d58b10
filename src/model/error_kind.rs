//! The kinds of errors that clients see, and their HTTP and gRPC statuses.

use serde::{Deserialize, Serialize};

use crate::codes::Code;

/// The reason why a call failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// The model, version or path does not exist.
    NotFound,
    /// The path exists with another method.
    Method,
    /// It is not available now.
    Unavailable,
    /// A part of the protocol is not supported.
    Unsupported,
    /// The request is invalid.
    BadInput,
    /// The request exceeds a bound.
    TooLarge,
    /// There is no room for more requests now.
    TooMany,
    /// The answer missed the deadline.
    TimedOut,
    /// The client sent its request too slowly.
    Slow,
    /// The client cancelled the request.
    Cancelled,
    /// The state does not allow the change.
    Conflict,
    /// The name already exists.
    Exists,
    /// A key is missing or unknown.
    Unauthenticated,
    /// The key's role does not allow the request.
    Forbidden,
    /// The server failed.
    Internal,
}

impl ErrorKind {
    /// Every kind.
    pub const ALL: [ErrorKind; 15] = [
        ErrorKind::NotFound,
        ErrorKind::Method,
        ErrorKind::Unavailable,
        ErrorKind::Unsupported,
        ErrorKind::BadInput,
        ErrorKind::TooLarge,
        ErrorKind::TooMany,
        ErrorKind::TimedOut,
        ErrorKind::Slow,
        ErrorKind::Cancelled,
        ErrorKind::Conflict,
        ErrorKind::Exists,
        ErrorKind::Unauthenticated,
        ErrorKind::Forbidden,
        ErrorKind::Internal,
    ];

    /// Returns the kind for a code of the engine.
    pub fn of_code(code: Code) -> Self {
        let statuses = (code.http(), code.grpc());
        let mut known = ErrorKind::ALL.into_iter();
        let kind = known.find(|kind| kind.statuses() == statuses);
        kind.unwrap_or(ErrorKind::Internal)
    }

    /// Returns the HTTP and gRPC statuses.
    const fn statuses(self) -> (u16, u8) {
        match self {
            ErrorKind::Cancelled => (499, 1),
            ErrorKind::BadInput => (400, 3),
            ErrorKind::TimedOut => (504, 4),
            ErrorKind::Slow => (408, 4),
            ErrorKind::NotFound => (404, 5),
            ErrorKind::Exists => (400, 6),
            ErrorKind::Forbidden => (403, 7),
            ErrorKind::TooMany => (503, 8),
            ErrorKind::TooLarge => (413, 8),
            ErrorKind::Conflict => (409, 9),
            ErrorKind::Unsupported => (501, 12),
            ErrorKind::Method => (405, 12),
            ErrorKind::Internal => (500, 13),
            ErrorKind::Unavailable => (503, 14),
            ErrorKind::Unauthenticated => (401, 16),
        }
    }

    /// Returns the HTTP status.
    pub const fn http(self) -> u16 {
        self.statuses().0
    }

    /// Returns the gRPC status.
    pub const fn grpc(self) -> u8 {
        self.statuses().1
    }

    /// Returns its name in metrics.
    pub const fn name(self) -> &'static str {
        match self {
            ErrorKind::NotFound => "not_found",
            ErrorKind::Method => "method",
            ErrorKind::Unavailable => "unavailable",
            ErrorKind::Unsupported => "unsupported",
            ErrorKind::BadInput => "bad_input",
            ErrorKind::TooLarge => "too_large",
            ErrorKind::TooMany => "too_many",
            ErrorKind::TimedOut => "timed_out",
            ErrorKind::Slow => "slow",
            ErrorKind::Cancelled => "cancelled",
            ErrorKind::Conflict => "conflict",
            ErrorKind::Exists => "exists",
            ErrorKind::Unauthenticated => "unauthenticated",
            ErrorKind::Forbidden => "forbidden",
            ErrorKind::Internal => "internal",
        }
    }

    /// Returns the failure reason in metrics, with Triton's name.
    pub const fn reason(self) -> &'static str {
        match self {
            ErrorKind::Unavailable
            | ErrorKind::TooMany
            | ErrorKind::TooLarge
            | ErrorKind::TimedOut => "REJECTED",
            ErrorKind::Cancelled => "CANCELED",
            ErrorKind::Internal => "BACKEND",
            _ => "OTHER",
        }
    }

    /// Returns the reason in a few words.
    pub const fn words(self) -> &'static str {
        match self {
            ErrorKind::NotFound => "no such model or path",
            ErrorKind::Method => "wrong method",
            ErrorKind::Unavailable => "not ready",
            ErrorKind::Unsupported => "unsupported",
            ErrorKind::BadInput => "bad input",
            ErrorKind::TooLarge => "too large",
            ErrorKind::TooMany => "no room",
            ErrorKind::TimedOut => "deadline passed",
            ErrorKind::Slow => "slow client",
            ErrorKind::Cancelled => "client left",
            ErrorKind::Conflict => "conflict",
            ErrorKind::Exists => "already exists",
            ErrorKind::Unauthenticated => "key missing or unknown",
            ErrorKind::Forbidden => "key not permitted",
            ErrorKind::Internal => "internal error",
        }
    }

    /// Returns whether the server is the cause. Such errors count against a service objective.
    pub const fn is_servers(self) -> bool {
        self.http() >= 500 && !matches!(self, ErrorKind::Unsupported)
    }
}
