//! The seek bar of a recording: the position, and the changes up to it.

use std::time::Duration;

use divisi_session::{Mark, Playback};

use crate::look::{Painter, Role};
use crate::model::Model;

/// The columns left and right of the bar.
const SIDES: u16 = 2;

/// Draws the bar.
pub(crate) fn draw(painter: &mut Painter<'_>, model: &Model) {
    let Some(playback) = &model.snapshot.playback else {
        return;
    };
    let width = bar_width(painter.width());
    let at = column(playback.position, playback, width);
    painter.run(SIDES, 0, at, "━", Role::Accent);
    painter.run(SIDES + at, 0, width - at, "─", Role::Dim);
    for mark in &model.snapshot.marks {
        if let Some(position) = position(mark, model, playback) {
            painter.sign(
                SIDES + column(position, playback, width),
                0,
                "▲",
                Role::Warn,
            );
        }
    }
    painter.sign(SIDES + at, 0, "●", Role::Focus);
}

/// Returns the position at a column of a bar on a screen of a width.
pub(crate) fn position_at(playback: &Playback, width: u16, x: u16) -> Duration {
    let last = bar_width(width).saturating_sub(1).max(1);
    let column = x.saturating_sub(SIDES).min(last);
    playback.length.mul_f64(f64::from(column) / f64::from(last))
}

fn bar_width(width: u16) -> u16 {
    width.saturating_sub(2 * SIDES)
}

fn column(position: Duration, playback: &Playback, width: u16) -> u16 {
    let length = playback.length.as_secs_f64().max(f64::MIN_POSITIVE);
    let share = (position.as_secs_f64() / length).clamp(0.0, 1.0);
    (share * f64::from(width.saturating_sub(1))).round() as u16
}

/// Returns the position of a change, or `None` if it was before the recording.
fn position(mark: &Mark, model: &Model, playback: &Playback) -> Option<Duration> {
    let began = model.snapshot.now.checked_sub(playback.position)?;
    mark.at.checked_sub(began)
}
