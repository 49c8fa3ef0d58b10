//! Each member's contribution to the ensemble, and its vote. The most important columns are shown,
//! as far as there is room.

use divisi_model::ensemble::AnswerKind;
use divisi_runtime::device::MemberIndex;
use divisi_session::{MemberContribution, MemberView};

use super::body::{PanelBody, PanelNews, height_for};
use super::frame::{finding, headed, note_with_windows};
use super::member_columns::{MemberColumn, fitting};
use super::{columns, keys};
use crate::commands::{LOAD, VOTE};
use crate::layout::Panel;
use crate::look::{Painter, Role};
use crate::model::{MemberSigns, Model};
use crate::text::format;

/// The panel.
pub(super) static PANEL: PanelBody = PanelBody {
    height: |model, _| height_for(model.snapshot.members.len() + 7, 6),
    least_width: |_| 40,
    news,
    ..PanelBody::new(draw)
};

/// Returns the number of members. A pipeline's steps say more than its members.
fn news(model: &Model) -> PanelNews {
    let shown = &model.snapshot;
    let count = shown.members.len().to_string();
    match shown.pipeline || shown.members.is_empty() {
        true => PanelNews::quiet(count),
        false => PanelNews::open(count),
    }
}

/// Draws the panel.
fn draw(painter: &mut Painter<'_>, model: &Model) {
    let windows = "p99 of 10 s, path since the start";
    let note = note_with_windows(Panel::Members, note(model), windows, painter.width());
    let mut inside = headed(painter, Panel::Members, &note, model);
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
    draw_slowest(painter, model);
}

/// Names the member with the highest 99th percentile.
fn draw_slowest(painter: &mut Painter<'_>, model: &Model) {
    let members = MemberIndex::enumerate(&model.snapshot.members);
    let slow = members.map(|(at, member)| (at, member, &member.latency.now.summary));
    let slow = slow.filter(|(_, _, latency)| latency.is_enough_for(0.99));
    let Some((at, member, latency)) = slow.max_by_key(|slow| slow.2.p99) else {
        return;
    };
    let name = format!("{} {}", model.signs.letter(at), member.name);
    let figure = format!(", p99 {} ms (10 s)", format::millis(latency.p99));
    let pieces = [
        ("slowest: ", Role::Dim),
        (&name[..], MemberSigns::hue(at)),
        (&figure, Role::Dim),
    ];
    finding(painter, &pieces, model);
}

/// The width of the signs before a name.
const SIGNS: u16 = 3;

fn note(model: &Model) -> String {
    let weighed = model.snapshot.members.iter();
    let weighed = weighed
        .filter_map(|m| m.contribution)
        .map(|s| s.weighed)
        .max();
    let rule = match model.snapshot.pipeline {
        true => "pipeline",
        false => model.snapshot.combination.rule.name(),
    };
    match weighed {
        Some(n) => format!("{rule} · {} answers compared", format::grouped(n)),
        None => rule.to_owned(),
    }
}

/// Returns the width of names.
fn label(model: &Model, width: u16) -> u16 {
    let names = model
        .snapshot
        .members
        .iter()
        .map(|m| format::width(&m.name) + 2);
    names.max().unwrap_or(0).clamp(6, (width / 3).max(6))
}

fn heads(inside: &mut Painter<'_>, label: u16, columns: &[&MemberColumn]) {
    inside.text(SIGNS, 0, "member", Role::Dim);
    columns::heads(inside, SIGNS + label, columns);
}

fn member(
    inside: &mut Painter<'_>,
    y: u16,
    at: MemberIndex,
    model: &Model,
    label: u16,
    columns: &[&MemberColumn],
) {
    let Some(view) = model.snapshot.member(at) else {
        return;
    };
    let votes = votes(model, at);
    let (sign, role) = match (model.snapshot.pipeline, votes) {
        (true, _) => (" ", Role::Text),
        (false, true) => ("✓", Role::Good),
        (false, false) => ("✗", Role::Warn),
    };
    inside.text(1, y, sign, role);
    let hue = MemberSigns::hue(at);
    let role = if votes { hue } else { Role::Dim };
    inside.text(
        SIGNS,
        y,
        model.signs.letter(at).encode_utf8(&mut [0; 4]),
        hue,
    );
    let name = format::fit_name(&view.name, label.saturating_sub(2));
    inside.text(SIGNS + 2, y, &name, role);
    columns::figures(inside, SIGNS + label, y, columns, view, &model.snapshot);
    if model.focus == Panel::Members && model.cursor.member == at {
        inside.text(0, y, "▸", Role::Accent);
        inside.restyle(SIGNS, y, label, Role::Cursor);
    }
}

fn votes(model: &Model, member: MemberIndex) -> bool {
    let voting = &model.snapshot.combination.voting;
    voting.get(member.get()).copied().unwrap_or(true)
}

/// Draws, below the table, the effect of leaving the member out, or the missing data.
fn words(inside: &mut Painter<'_>, y: u16, model: &Model) {
    let room = inside.height().saturating_sub(y);
    let gap = u16::from(room > 1);
    let view = model.snapshot.member(model.cursor.member);
    let text = match view.filter(|v| v.contribution.is_some()) {
        Some(view) => sentence(
            view,
            votes(model, model.cursor.member),
            model.snapshot.answers,
        ),
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
    if at + 1 < inside.height() && !model.snapshot.pipeline {
        let word = match votes(model, model.cursor.member) {
            true => "removes its vote",
            false => "restores its vote",
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
    if model.snapshot.pipeline {
        return "steps combine the answers of a pipeline: its members have no weight".into();
    }
    let made_up = model.snapshot.simulated || model.snapshot.synthetic;
    match weighed {
        _ if made_up => "no comparison: simulated devices or synthetic weights".into(),
        true => "too few of its answers compared yet".to_owned(),
        false => format!(
            "no answers compared yet: serving requests compares them · {} load",
            keys::label(model, &LOAD)
        ),
    }
}

/// Describes the contribution of the member at the cursor.
fn sentence(view: &MemberView, votes: bool, answers: AnswerKind) -> String {
    let contribution = view.contribution.unwrap_or_default();
    let verb = match votes {
        true => "without its vote",
        false => "with its vote",
    };
    let changed = contribution.quality.zip(contribution.quality_change);
    let changed = changed.map_or(String::new(), |(quality, change)| {
        let change = format::quality_change(quality.measure, change);
        let unit = match quality.measure.is_share() {
            true => " points",
            false => "",
        };
        format!(", {} {}{unit}", quality.measure.name(), change.trim())
    });
    format!(
        "{}: {verb} {}{changed}; it uses {} of the members' device time",
        view.name,
        other_answers(&contribution, answers),
        format::permille(contribution.cost).trim(),
    )
}

/// Describes the answers without the member, or with it if it does not vote.
fn other_answers(contribution: &MemberContribution, answers: AnswerKind) -> String {
    let share = |share: f64| format::permille(share).trim().to_owned();
    match (answers, contribution.flips) {
        (AnswerKind::Labels { .. }, Some(flips)) => {
            format!("{} of answers would change labels", share(flips))
        }
        (AnswerKind::Masks { .. }, Some(flips)) => {
            format!("{} of pixels would change class", share(flips))
        }
        (AnswerKind::Tokens { .. }, Some(flips)) => {
            format!("{} of tokens would change class", share(flips))
        }
        (_, Some(flips)) => format!("{} of answers would change class", share(flips)),
        (_, None) => match contribution.otherwise {
            Some(value) => {
                let measure = contribution.agreement.measure;
                let text = measure.format_value(value);
                format!(
                    "answers would differ: {} {text} to the current ones",
                    measure.name()
                )
            }
            None => "no answers would remain".to_owned(),
        },
    }
}
