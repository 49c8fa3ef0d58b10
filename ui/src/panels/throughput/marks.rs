//! What changed and when: a letter on the time axis, and the latest in words.

use divisi::session::{Mark, MarkKind};

use crate::look::{Painter, Role};
use crate::model::Model;
use crate::text::format;

/// The sign of a kind of change.
pub fn letter(kind: MarkKind) -> &'static str {
    match kind {
        MarkKind::Reload => "R",
        MarkKind::Policy => "P",
        MarkKind::Combination => "C",
        MarkKind::Load => "L",
        MarkKind::Device => "D",
        MarkKind::Rollback => "B",
    }
}

/// Rows for the latest changes out of `room`.
pub fn legend_rows(room: u16, model: &Model) -> u16 {
    let marks = u16::try_from(model.snapshot.marks.len()).unwrap_or(u16::MAX);
    marks.min(room.div_ceil(3)).min(4)
}

/// Writes the latest changes, newest first, in `rows` rows.
pub fn legend(inside: &mut Painter<'_>, y: u16, rows: u16, model: &Model) {
    let latest = model.snapshot.marks.iter().rev();
    for (row, mark) in latest.take(usize::from(rows)).enumerate() {
        line(inside, y + row as u16, mark, model);
    }
}

fn line(inside: &mut Painter<'_>, y: u16, mark: &Mark, model: &Model) {
    let ago = model.snapshot.now.saturating_sub(mark.at);
    let ago = format!("{} ago", format::seconds(ago));
    let end = inside.width();
    inside.text_right(end, y, &ago, Role::Dim);
    let x = inside.pieces(0, y, &[(letter(mark.kind), Role::Warn), (" ", Role::Dim)]);
    let room = end.saturating_sub(x + 1 + format::width(&ago));
    inside.text(x, y, &format::fit(&mark.text, room), Role::Text);
}
