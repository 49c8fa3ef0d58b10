//! The errors for clients.

use std::fmt;

use divisi_model::codes::Coded;
pub use divisi_model::error_kind::ErrorKind;
use divisi_model::metrics::ErrorOutcome;
use thiserror::Error;

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

/// A refused or failed call: the kind of error, and a message for people.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{message}")]
pub struct ServiceError {
    kind: ErrorKind,
    message: String,
    /// Whether the request was accepted before it failed.
    was_accepted: bool,
}

impl ServiceError {
    /// Creates an error of a kind.
    pub fn new(kind: ErrorKind, message: impl fmt::Display) -> Self {
        let message = shortened(message.to_string());
        ServiceError {
            kind,
            message,
            was_accepted: false,
        }
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

    /// Marks the error of a request that was accepted before it failed.
    #[must_use]
    pub fn after_acceptance(self) -> Self {
        ServiceError {
            was_accepted: true,
            ..self
        }
    }

    /// Returns whether the request was refused, failed, or was cancelled by its client.
    pub fn outcome(&self) -> ErrorOutcome {
        match self.kind {
            ErrorKind::Cancelled => ErrorOutcome::Cancelled,
            ErrorKind::Internal => ErrorOutcome::Failed,
            _ if self.was_accepted => ErrorOutcome::Failed,
            _ => ErrorOutcome::Refused,
        }
    }
}
