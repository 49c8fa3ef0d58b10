//! Whether the streams look different as time goes on.

use std::time::Duration;

use crate::layout::Panel;
use crate::model::Model;
use crate::panels;

/// Returns how long a column of the streams is while they move: some span is still in the
/// picture, which is on the screen and not held.
pub fn column_time(model: &Model) -> Option<Duration> {
    let shown = model.streams.length() + Duration::from_secs(1);
    let newest = model.timeline.newest();
    let seen = newest.is_some_and(|n| n + shown >= model.snapshot.now);
    let live = seen && model.streams.frozen.is_none() && shows_streams(model);
    live.then(|| column(model))
}

/// Returns whether the streams look different once it is `now` and spans came or did not.
pub fn differs(model: &Model, now: Duration, spans: bool) -> bool {
    if model.streams.frozen.is_some() || !shows_streams(model) {
        return false;
    }
    let at = |time: Duration| time.as_nanos() / column(model).as_nanos();
    spans || (column_time(model).is_some() && at(now) != at(model.snapshot.now))
}

/// No cell of the picture is narrower.
fn column(model: &Model) -> Duration {
    let columns = u32::from(model.area.width.max(1));
    (model.streams.length() / columns).max(Duration::from_nanos(100))
}

/// The streams are on the screen.
fn shows_streams(model: &Model) -> bool {
    let screen = panels::arrange(model.area, model);
    screen.is_some_and(|s| s.panels.iter().any(|(p, _)| *p == Panel::Streams))
}
