//! The contribution of each member to the ensemble, and whether it votes. Of the columns the
//! weightier come first, as many as fit.

use divisi::device::MemberIndex;
use divisi::session::{MemberContribution, MemberView};

use super::frame::headed;
use super::keys;
use crate::commands::{LOAD, VOTE};
use crate::layout::Panel;
use crate::look::{Painter, Role};
use crate::model::Model;
use crate::text::format;

/// Draws the panel.
pub(super) fn draw(painter: &mut Painter<'_>, model: &Model) {
    let mut inside = headed(painter, Panel::Members, &note(model), model);
    let members = &model.snapshot.members;
    let label = label(model, inside.width());
    let columns = fitting(model, inside.width().saturating_sub(label + SIGNS));
    heads(&mut inside, label, &columns);
    let under = u16::from(inside.height() > 3);
    let room = usize::from(inside.height().saturating_sub(1 + under));
    let shown = room.min(members.len());
    let first = (model.cursor.member.get() + 1).saturating_sub(shown.max(1));
    let rows = MemberIndex::all(members.len()).skip(first).take(shown);
    for (row, at) in rows.enumerate() {
        member(&mut inside, row as u16 + 1, at, model, label, &columns);
    }
    words(&mut inside, shown as u16 + 1, model);
}

/// Columns for the signs before a name.
const SIGNS: u16 = 3;

fn note(model: &Model) -> String {
    let weighed = model.snapshot.members.iter();
    let weighed = weighed
        .filter_map(|m| m.contribution)
        .map(|s| s.weighed)
        .max();
    let rule = model.snapshot.combination.rule.name();
    match weighed {
        Some(n) => format!("{rule} · {} answers weighed", format::grouped(n)),
        None => rule.to_owned(),
    }
}

/// Columns for names.
fn label(model: &Model, width: u16) -> u16 {
    let names = model
        .snapshot
        .members
        .iter()
        .map(|m| format::width(&m.name));
    names.max().unwrap_or(0).clamp(6, (width / 3).max(6))
}

fn heads(inside: &mut Painter<'_>, label: u16, columns: &[MemberColumn]) {
    inside.text(SIGNS, 0, "member", Role::Dim);
    let mut end = SIGNS + label;
    for column in columns {
        end += column.width;
        inside.text_right(end, 0, column.name, Role::Dim);
    }
}

fn member(
    inside: &mut Painter<'_>,
    y: u16,
    at: MemberIndex,
    model: &Model,
    label: u16,
    columns: &[MemberColumn],
) {
    let Some(view) = model.snapshot.member(at) else {
        return;
    };
    let votes = votes(model, at);
    let (sign, role) = match votes {
        true => ("✓", Role::Good),
        false => ("✗", Role::Warn),
    };
    inside.text(1, y, sign, role);
    let role = if votes { Role::Text } else { Role::Dim };
    inside.text(SIGNS, y, &format::fit_name(&view.name, label), role);
    let mut end = SIGNS + label;
    for column in columns {
        end += column.width;
        let (text, role) = (column.value)(view);
        inside.text_right(end, y, &text, role);
    }
    if model.focus == Panel::Members && model.cursor.member == at {
        inside.text(0, y, "▸", Role::Accent);
        inside.restyle(SIGNS, y, label, Role::Cursor);
    }
}

fn votes(model: &Model, member: MemberIndex) -> bool {
    let voting = &model.snapshot.combination.voting;
    voting.get(member.get()).copied().unwrap_or(true)
}

/// Under the table: what leaving the member out would change, or what is missing.
fn words(inside: &mut Painter<'_>, y: u16, model: &Model) {
    let room = inside.height().saturating_sub(y);
    let gap = u16::from(room > 1);
    let view = model.snapshot.member(model.cursor.member);
    let text = match view.filter(|v| v.contribution.is_some()) {
        Some(view) => sentence(view, votes(model, model.cursor.member)),
        None => missing(model),
    };
    let width = inside.width().saturating_sub(1);
    let lines = format::wrap(&text, width);
    let lines = lines.iter().take(usize::from(room.saturating_sub(gap)));
    let mut at = y + gap;
    for line in lines {
        inside.text(1, at, line, Role::Dim);
        at += 1;
    }
    if at + 1 < inside.height() {
        let word = match votes(model, model.cursor.member) {
            true => "take it out of the vote",
            false => "let it vote again",
        };
        keys::draw(inside, 1, at + 1, model, &[(&VOTE, word)]);
    }
}

fn missing(model: &Model) -> String {
    let weighed = model
        .snapshot
        .members
        .iter()
        .any(|m| m.contribution.is_some());
    let made_up = model.snapshot.simulated || model.snapshot.synthetic;
    match weighed {
        _ if made_up => {
            "answers of simulated devices or made-up weights say nothing of members".into()
        }
        true => "too few of its answers were weighed so far".to_owned(),
        false => format!(
            "no answers weighed yet: they are compared while requests are served · {} load",
            keys::label(model, &LOAD)
        ),
    }
}

/// Describes the contribution of the member under the cursor.
fn sentence(view: &MemberView, votes: bool) -> String {
    let contribution = view.contribution.unwrap_or_default();
    let verb = match votes {
        true => "without its vote",
        false => "with its vote",
    };
    let accuracy = contribution
        .accuracy_change
        .map_or(String::new(), |change| {
            format!(", accuracy {} points", format::points(change).trim())
        });
    format!(
        "{}: {verb} {} of answers would be another class{accuracy}; it takes {} of the \
         members' device time",
        view.name,
        format::permille(contribution.flips).trim(),
        format::permille(contribution.cost).trim(),
    )
}

type MemberText = (String, Role);

/// One column.
#[derive(Clone, Copy)]
struct MemberColumn {
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
fn fitting(model: &Model, width: u16) -> Vec<MemberColumn> {
    let known = |s: &MemberContribution| s.accuracy.is_some() || s.accuracy_change.is_some();
    let members = &model.snapshot.members;
    let labels = members
        .iter()
        .filter_map(|m| m.contribution.as_ref())
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
    let text = view.contribution.as_ref().and_then(say);
    text.map_or(("–".to_owned(), Role::Dim), |t| (t, Role::Text))
}

/// Formats the change of the ensemble's accuracy if the member stopped voting, or began to.
/// A gain is marked as a warning.
fn change(view: &MemberView) -> MemberText {
    let Some(change) = view.contribution.and_then(|s| s.accuracy_change) else {
        return ("–".to_owned(), Role::Dim);
    };
    let role = if change > 0.0005 {
        Role::Warn
    } else {
        Role::Text
    };
    (format::points(change), role)
}
