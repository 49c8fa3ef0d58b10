//! How grave something is that an operator should read.

use serde::{Deserialize, Serialize};

/// The level of a line of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LogLevel {
    /// All is as it should be.
    Info,
    /// Something is not as it should be, and serving goes on.
    Warn,
    /// Something failed.
    Error,
}
