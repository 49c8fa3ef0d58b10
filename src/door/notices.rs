//! Notices for the operator of a server.

use std::fmt;
use std::sync::Arc;

/// Receives the text of a notice.
type NoticeSink = Arc<dyn Fn(&str) + Send + Sync>;

/// Sends notices to the operator. Every notice is also an event of `tracing`.
#[derive(Clone, Default)]
pub struct Notices(Option<NoticeSink>);

impl Notices {
    /// Creates notices that are also passed to `sink`.
    pub fn to(sink: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Notices(Some(Arc::new(sink)))
    }

    /// Sends a notice.
    pub(crate) fn say(&self, words: &str) {
        tracing::warn!("{words}");
        if let Some(sink) = &self.0 {
            sink(words);
        }
    }
}

impl fmt::Debug for Notices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Notices")
    }
}
