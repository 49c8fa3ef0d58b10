//! Notices: what the operator of a server is told beyond its answers.

use std::fmt;
use std::sync::Arc;

/// Takes the words of a notice.
type NoticeSink = Arc<dyn Fn(&str) + Send + Sync>;

/// Tells the operator, in words. Every notice is an event of `tracing`, too.
#[derive(Clone, Default)]
pub struct Notices(Option<NoticeSink>);

impl Notices {
    /// Notices that `sink` takes as well.
    pub fn to(sink: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Notices(Some(Arc::new(sink)))
    }

    /// Tells something.
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
