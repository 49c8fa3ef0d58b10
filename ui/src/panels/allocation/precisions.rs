//! The row "in" under the matrix: the precision of each member.

use divisi_model::ensemble::MemberPrecision;
use divisi_runtime::device::MemberIndex;
use divisi_session::MemberView;

use super::geometry::MatrixColumns;
use crate::look::{Painter, Role};
use crate::model::Model;
use crate::text::format;
use crate::text::status::unusual_precision;

/// Returns whether the row is needed: a member has, or will have, a precision other than the
/// default.
pub(super) fn is_shown(model: &Model) -> bool {
    let shown = &model.snapshot;
    let mut members = MemberIndex::enumerate(&shown.members);
    members.any(|(member, view)| {
        unusual_precision(view, shown).is_some() || staged(model, member, view).is_some()
    })
}

/// Returns the staged precision of a member, if it differs from the running one.
fn staged(model: &Model, member: MemberIndex, view: &MemberView) -> Option<MemberPrecision> {
    let staged = model.edit.as_ref()?.setup().precisions.get(member.get());
    staged.copied().filter(|staged| *staged != view.precision)
}

/// Draws the row.
pub(super) fn draw(inside: &mut Painter<'_>, y: u16, model: &Model, columns: MatrixColumns) {
    inside.text(0, y, "in", Role::Dim);
    for member in columns.members() {
        let Some(view) = model.snapshot.member(member) else {
            continue;
        };
        let (text, role) = match staged(model, member, view) {
            Some(staged) => (change(view.precision, staged, columns), Role::Warn),
            None => match unusual_precision(view, &model.snapshot) {
                Some(own) => (short(own), Role::Dim),
                None => ("·".to_owned(), Role::Dim),
            },
        };
        inside.text_right(columns.end(member) - 1, y, &text, role);
    }
}

/// Returns whether the row shows all staged precisions with the running ones.
pub(super) fn are_told(model: &Model, columns: MatrixColumns) -> bool {
    let mut members = MemberIndex::enumerate(&model.snapshot.members);
    members.all(|(member, view)| match staged(model, member, view) {
        Some(staged) => {
            let shown = columns.members().any(|shown| shown == member);
            shown && both(view.precision, staged, columns).is_some()
        }
        None => true,
    })
}

/// Returns both precisions, or only the new one with its sign if there is no room.
fn change(was: MemberPrecision, staged: MemberPrecision, columns: MatrixColumns) -> String {
    both(was, staged, columns).unwrap_or_else(|| format!("~{}", short(staged)))
}

/// Returns both precisions, if they fit in a column.
fn both(was: MemberPrecision, staged: MemberPrecision, columns: MatrixColumns) -> Option<String> {
    let text = format!("{}→{}", short(was), short(staged));
    (format::width(&text) < columns.cell).then_some(text)
}

/// Returns the name only. The meaning of `auto` is shown for the entry at the cursor.
fn short(precision: MemberPrecision) -> String {
    match precision.is_auto {
        true => MemberPrecision::AUTO.to_owned(),
        false => precision.to_string(),
    }
}
