//! Over how long the latencies are that are called those of now.

use std::time::Duration;

use divisi::metrics::WINDOW;
use divisi::session::Snapshot;

/// The last ten seconds, or what passed since latencies were last forgotten where that is
/// less: at `cleared`, at the start, or when what runs began.
pub fn measured(shown: &Snapshot, cleared: Duration) -> Duration {
    let since = shown.now.saturating_sub(began(shown).max(cleared));
    let seconds = since.as_millis().div_ceil(1000).max(1);
    WINDOW.min(Duration::from_secs(seconds as u64))
}

/// When what runs began, as far as it matters to latencies: other votes forget none.
fn began(shown: &Snapshot) -> Duration {
    let ran = shown.history.iter().rev();
    let same = ran.take_while(|ran| {
        let then = &ran.setup;
        then.matrix == shown.matrix
            && then.policy == shown.policy
            && then.segment_size == shown.segment_size
    });
    same.last().map_or(Duration::ZERO, |ran| ran.from)
}
