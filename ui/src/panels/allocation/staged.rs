//! Under a matrix that is being edited: what is staged would bring.

use divisi::allocation::Difference;

use super::columns::MatrixColumns;
use super::words;
use crate::look::{Painter, Role};
use crate::model::Model;
use crate::panels::what_if;
use crate::panels::what_if::StyledLine;
use crate::text::format;
use crate::view::SetupEdit;

/// In the title: how many changes are staged.
pub(super) fn note(model: &Model, edit: &SetupEdit) -> String {
    let difference = Difference::between(&model.snapshot.matrix, edit.staged());
    let (now, then) = (&model.snapshot, edit.setup());
    let settings = [
        now.policy != then.policy,
        now.combination != then.combination,
        now.segment_size != then.segment_size,
    ];
    let settings = settings.into_iter().filter(|differs| *differs).count();
    format!(
        "EDITING · {} staged",
        difference.changed().count() + settings
    )
}

/// Draws it, with the queues and rates of members where there is room for both.
pub(super) fn draw(
    inside: &mut Painter<'_>,
    mut y: u16,
    model: &Model,
    edit: &SetupEdit,
    columns: MatrixColumns,
) {
    let width = inside.width().saturating_sub(1);
    let lines = lines(model, edit, width);
    let room = inside.height().saturating_sub(y);
    if room >= lines.len() as u16 + 2 {
        words::member_rows(inside, y, model, columns);
        y += 2;
    }
    if inside.height().saturating_sub(y) > lines.len() as u16 {
        y += 1;
    }
    for (i, line) in lines.iter().enumerate() {
        let mut x = 0;
        for (text, role) in line {
            let text = format::fit(text, width.saturating_sub(x));
            x = inside.text(x, y + i as u16, &text, *role);
        }
    }
}

fn lines(model: &Model, edit: &SetupEdit, width: u16) -> Vec<StyledLine> {
    let mut lines: Vec<StyledLine> = marked(edit).into_iter().collect();
    match edit.preview() {
        None => lines.push(vec![("comparing …".to_owned(), Role::Dim)]),
        Some(Err(why)) => {
            let wrapped = format::wrap(&format!("✗ cannot be applied: {why}"), width);
            lines.extend(wrapped.into_iter().map(|l| vec![(l, Role::Bad)]));
        }
        Some(Ok(preview)) => lines.extend(what_if::brief(preview, model, width)),
    }
    let sizes = &model.snapshot.matrix.frame().batch_sizes;
    let text = format!("0 or {sizes} · + start  − stop  ~ resize");
    lines.push(vec![(text, Role::Dim)]);
    lines
}

/// The worker that was taken and waits to be put.
fn marked(edit: &SetupEdit) -> Option<StyledLine> {
    let mark = edit.mark()?;
    let frame = edit.staged().frame();
    let member = frame.members.get(mark.from.member)?;
    let device = frame.devices.get(mark.from.device)?;
    let word = if mark.moves { "move" } else { "copy" };
    let text = format!(
        "› {word} {member} {} of {device}: go to a device, Enter puts it there",
        mark.size
    );
    Some(vec![(text, Role::Accent)])
}
