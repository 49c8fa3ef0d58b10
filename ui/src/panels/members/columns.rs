//! The columns of the table: the weightier first, as many as fit.

use divisi::session::{MemberContribution, MemberView};

use crate::look::Role;
use crate::model::Model;
use crate::text::format;

type MemberText = (String, Role);

/// One column.
#[derive(Clone, Copy)]
pub(super) struct MemberColumn {
    /// Its head.
    pub name: &'static str,
    /// Columns of the screen that it takes, with the gap before it.
    pub width: u16,
    /// The function that returns the text for a member.
    pub value: fn(&MemberView) -> MemberText,
    /// Only where labels are known.
    labels: bool,
    /// Its place where not all fit, from 0.
    rank: u8,
}

const fn column(
    name: &'static str,
    width: u16,
    rank: u8,
    value: fn(&MemberView) -> MemberText,
) -> MemberColumn {
    MemberColumn {
        name,
        width,
        value,
        labels: false,
        rank,
    }
}

const fn labelled(mut column: MemberColumn) -> MemberColumn {
    column.labels = true;
    column
}

/// In the order of the screen.
static ALL: [MemberColumn; 8] = [
    column("agree", 8, 0, |m| {
        of(m, |s| Some(format::permille(s.agreement)))
    }),
    labelled(column("accuracy", 10, 3, |m| {
        of(m, |s| s.accuracy.map(format::permille))
    })),
    column("distance", 10, 5, |m| {
        of(m, |s| s.disagreement.map(format::permille))
    }),
    column("entropy", 9, 6, |m| {
        of(m, |s| s.entropy.map(format::permille))
    }),
    column("cost", 8, 1, |m| of(m, |s| Some(format::permille(s.cost)))),
    column("flips", 8, 2, |m| {
        of(m, |s| Some(format::permille(s.flips)))
    }),
    labelled(column("± points", 10, 4, change)),
    column("smp/s", 8, 7, |m| {
        (format::short(m.samples_per_s), Role::Text)
    }),
];

/// Those that fit in `width`, in the order of the screen.
pub(super) fn fitting(model: &Model, width: u16) -> Vec<MemberColumn> {
    let known = |s: &MemberContribution| s.accuracy.is_some() || s.accuracy_change.is_some();
    let members = &model.snapshot.members;
    let labels = members
        .iter()
        .filter_map(|m| m.standing.as_ref())
        .any(known);
    let offered = |c: &&MemberColumn| labels || !c.labels;
    let mut ranked: Vec<&MemberColumn> = ALL.iter().filter(offered).collect();
    ranked.sort_by_key(|c| c.rank);
    let mut left = width;
    let fits = |c: &&MemberColumn| {
        let fits = c.width <= left;
        left = if fits { left - c.width } else { 0 };
        fits
    };
    let kept: Vec<&str> = ranked.into_iter().filter(fits).map(|c| c.name).collect();
    let shown = |c: &MemberColumn| kept.contains(&c.name) && (labels || !c.labels);
    ALL.into_iter().filter(shown).collect()
}

/// A dash where nothing is known.
fn of(view: &MemberView, say: fn(&MemberContribution) -> Option<String>) -> MemberText {
    let text = view.standing.as_ref().and_then(say);
    text.map_or(("–".to_owned(), Role::Dim), |t| (t, Role::Text))
}

/// Formats the change of the ensemble's accuracy if the member stopped voting, or began to.
/// A gain is marked as a warning.
fn change(view: &MemberView) -> MemberText {
    let Some(change) = view.standing.and_then(|s| s.accuracy_change) else {
        return ("–".to_owned(), Role::Dim);
    };
    let role = if change > 0.0005 {
        Role::Warn
    } else {
        Role::Text
    };
    (format::points(change), role)
}
