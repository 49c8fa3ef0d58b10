//! Searches of commands: signals cancel them, and their progress is shown.

use std::sync::Arc;
use std::time::Duration;

use divisi_engine::search::{Control, EvaluationError, SearchError};

use super::output::ProgressLine;
use super::signals;

/// Returns the control of a search, which SIGINT, SIGTERM or SIGHUP cancels.
pub(super) fn control() -> Arc<Control> {
    let control = Arc::new(Control::default());
    let stop = Arc::clone(&control);
    signals::on_end(move || stop.cancel());
    control
}

/// Runs `work` in its own thread and shows the progress that `far` returns. `what` names the work
/// in the error of a panic.
pub(super) fn watched<T: Send>(
    what: &'static str,
    work: impl FnOnce() -> Result<T, SearchError> + Send,
    far: impl Fn(Duration) -> String,
) -> Result<T, SearchError> {
    let panicked = || Err(SearchError::from(EvaluationError::Panicked(what)));
    ProgressLine::watch(work, far).unwrap_or_else(panicked)
}
