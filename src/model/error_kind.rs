//! The kinds of errors that clients see, and their HTTP and gRPC statuses.

use divisi_runtime::named::named;
use serde::{Deserialize, Serialize};

use crate::codes::Code;

named! {
    /// The reason why a call failed.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum ErrorKind {
        /// The model, version or path does not exist.
        NotFound = "not_found",
        /// The path exists with another method.
        Method = "method",
        /// It is not available now.
        Unavailable = "unavailable",
        /// A part of the protocol is not supported.
        Unsupported = "unsupported",
        /// The request is invalid.
        BadInput = "bad_input",
        /// The request exceeds a bound.
        TooLarge = "too_large",
        /// There is no room for more requests now.
        TooMany = "too_many",
        /// The answer missed the deadline.
        TimedOut = "timed_out",
        /// The client sent its request too slowly.
        Slow = "slow",
        /// The client cancelled the request.
        Cancelled = "cancelled",
        /// The state does not allow the change.
        Conflict = "conflict",
        /// The name already exists.
        Exists = "exists",
        /// A key is missing or unknown.
        Unauthenticated = "unauthenticated",
        /// The key's role does not allow the request.
        Forbidden = "forbidden",
        /// The server failed.
        Internal = "internal",
    }
}

impl ErrorKind {
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
