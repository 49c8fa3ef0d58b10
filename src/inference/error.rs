//! The errors that clients are told, and their statuses of HTTP and gRPC.

use std::fmt;

use divisi_model::codes::{Code, Coded};
use thiserror::Error;

/// Why a call is not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// There is no such model, version or path.
    NotFound,
    /// The path is there, with another method.
    Method,
    /// It cannot be served now.
    Unavailable,
    /// It is part of the protocol and not served.
    Unsupported,
    /// The request is wrong.
    BadInput,
    /// The request is larger than a bound.
    TooLarge,
    /// There is no room for more requests now.
    TooMany,
    /// The answer did not come in time.
    TimedOut,
    /// The client took too long to send its request.
    Slow,
    /// The client gave the request up.
    Cancelled,
    /// Something else has to change first.
    Conflict,
    /// Something of that name is there already.
    Exists,
    /// A key is missing or unknown.
    Unauthenticated,
    /// The key does not allow it.
    Forbidden,
    /// A fault of the server.
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

    /// Returns the kind of a refusal or failure of the engine.
    pub fn of_code(code: Code) -> Self {
        let statuses = (code.http(), code.grpc());
        let mut known = ErrorKind::ALL.into_iter();
        let kind = known.find(|kind| kind.statuses() == statuses);
        kind.unwrap_or(ErrorKind::Internal)
    }

    /// The statuses of HTTP and of gRPC.
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

    /// Returns the status of HTTP.
    pub const fn http(self) -> u16 {
        self.statuses().0
    }

    /// Returns the status of gRPC.
    pub const fn grpc(self) -> u8 {
        self.statuses().1
    }

    /// Returns its name, under which refusals are counted.
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

    /// Returns the reason under which failures are counted, as Triton names it.
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

/// The bytes of an error's words, and of each text of a record; what clients send may be part of them.
const MOST_WORDS: usize = 1024;

/// Returns a text that may come from a client, cut where it is long.
pub fn shortened(mut text: String) -> String {
    if text.len() > MOST_WORDS {
        text.truncate(text.floor_char_boundary(MOST_WORDS));
        text.push('…');
        text.shrink_to_fit();
    }
    text
}

/// A call is not answered: what kind of error it is, and the words for people.
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

    /// Creates the error of a request that is wrong.
    pub fn bad(message: impl fmt::Display) -> Self {
        ServiceError::new(ErrorKind::BadInput, message)
    }

    /// Creates the error of a part of the protocol that is not served.
    pub fn unsupported(message: impl fmt::Display) -> Self {
        ServiceError::new(ErrorKind::Unsupported, message)
    }

    /// Creates the error of a refusal or failure of the engine, by its code.
    pub fn coded(error: &(impl Coded + fmt::Display)) -> Self {
        ServiceError::new(ErrorKind::of_code(error.code()), error)
    }

    /// Returns its kind.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
}
