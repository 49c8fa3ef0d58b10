//! How grave something is: its sign, its word and its colour, wherever it is said.

use divisi::session::LogLevel;

/// From what is only to be known to what is to be acted on at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// To be known.
    Information,
    /// Worth a look: it may become a fault, or works less well than it could.
    Warning,
    /// Wrong now: requests are lost, or something is broken.
    Fault,
}

impl Severity {
    /// Its sign; there is a stand-in of ASCII for each.
    pub fn sign(self) -> &'static str {
        match self {
            Severity::Information => "·",
            Severity::Warning => "!",
            Severity::Fault => "✗",
        }
    }

    /// Its word, where there are no signs.
    pub fn word(self) -> &'static str {
        match self {
            Severity::Information => "info",
            Severity::Warning => "warning",
            Severity::Fault => "fault",
        }
    }
}

impl From<LogLevel> for Severity {
    fn from(level: LogLevel) -> Self {
        match level {
            LogLevel::Info => Severity::Information,
            LogLevel::Warn => Severity::Warning,
            LogLevel::Error => Severity::Fault,
        }
    }
}
