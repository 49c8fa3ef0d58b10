//! The errors for clients, and their HTTP and gRPC statuses.

use std::fmt;

use divisi_model::codes::{Code, Coded};
use thiserror::Error;

/// The reason why a call failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
}

/// The maximum length of an error message in bytes, and of each text of a record. Both may contain
/// client data.
const MOST_WORDS: usize = 1024;

/// Returns a text from a client, truncated if it is long.
pub fn shortened(mut text: String) -> String {
    if text.len() > MOST_WORDS {
        text.truncate(text.floor_char_boundary(MOST_WORDS));
        text.push('…');
        text.shrink_to_fit();
    }
    text
}

/// A failed call: the kind of error, and a message for people.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{message}")]
pub struct ServiceError {
    kind: ErrorKind,
    message: String,
}

impl ServiceError {
    /// Creates an error of a kind.
    pub fn new(kind: ErrorKind, message: impl fmt::Display) -> Self {
        let message = shortened(message.to_string());
        ServiceError { kind, message }
    }

    /// Creates the error of an invalid request.
    pub fn bad(message: impl fmt::Display) -> Self {
        ServiceError::new(ErrorKind::BadInput, message)
    }

    /// Creates the error of an unsupported part of the protocol.
    pub fn unsupported(message: impl fmt::Display) -> Self {
        ServiceError::new(ErrorKind::Unsupported, message)
    }

    /// Creates the error for a refusal or failure of the engine.
    pub fn coded(error: &(impl Coded + fmt::Display)) -> Self {
        ServiceError::new(ErrorKind::of_code(error.code()), error)
    }

    /// Returns its kind.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
}
