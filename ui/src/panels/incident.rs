//! The current incidents: the problem, its causes, the last change before it, and the commands that
//! help with their keys.

use std::time::Duration;

use divisi_session::{Mark, MarkKind};

use super::body::{PanelBody, PanelNews, height_for};
use super::frame::headed;
use super::keys;
use crate::commands::{ACKNOWLEDGE, DISMISS};
use crate::incident::{OpenIncident, Remedy};
use crate::layout::Panel;
use crate::look::{Painter, Role};
use crate::model::Model;
use crate::text::{format, objective};

/// A line of the panel: pieces of text.
type IncidentLine = Vec<(String, Role)>;

/// The time before an incident within which a change may have caused it.
const BEFORE: Duration = Duration::from_secs(600);

/// The time after an incident within which the engine reacts by a reload.
const AT_ONCE: Duration = Duration::from_secs(1);

/// The number of further incidents with a line of their own.
const MORE: usize = 3;

/// The panel.
pub(super) static PANEL: PanelBody = PanelBody {
    height: |model, all| {
        let rows = lines(model, model.area.width.saturating_sub(4)).len() + 2;
        let (least, most) = height_for(rows, 3);
        (most.min(all / 2).max(least), most)
    },
    news,
    ..PanelBody::new(draw)
};

/// Returns the number of incidents. Hidden ones have no room.
fn news(model: &Model) -> PanelNews {
    match (model.incidents.shown().count(), model.incidents.dismissed()) {
        (0, 0) => PanelNews::quiet("none"),
        (0, hidden) => PanelNews::quiet(format!("{hidden} dismissed")),
        (count, _) => PanelNews::open(count.to_string()),
    }
}

/// Draws the panel.
fn draw(painter: &mut Painter<'_>, model: &Model) {
    let mut inside = headed(painter, Panel::Incident, &note(model), model);
    let lines = lines(model, inside.width());
    if lines.is_empty() {
        inside.text(0, 0, "no incident", Role::Dim);
    }
    let room = usize::from(inside.height());
    // The remedies, which are last, stay if not all lines fit.
    let cut = lines.len().saturating_sub(room);
    let kept = lines.iter().enumerate();
    let kept = kept.filter(|(at, _)| *at == 0 || *at > cut);
    for (y, (_, line)) in kept.enumerate() {
        inside.line(0, y as u16, line);
    }
}

/// Returns the keys of the panel itself.
fn note(model: &Model) -> String {
    if model.incidents.shown().next().is_none() {
        return String::new();
    }
    match model.incidents.shown().all(OpenIncident::is_acknowledged) {
        true => format!(
            "acknowledged · {}",
            keys::words(model, &[(&DISMISS, "dismiss")])
        ),
        false => keys::words(
            model,
            &[(&ACKNOWLEDGE, "acknowledge"), (&DISMISS, "dismiss")],
        ),
    }
}

fn lines(model: &Model, width: u16) -> Vec<IncidentLine> {
    let mut shown = model.incidents.shown();
    let Some(first) = shown.next() else {
        return Vec::new();
    };
    let mut lines = headline(first, model, width);
    let causes = first.incident.causes.iter();
    lines.extend(causes.map(|cause| plain(cause, Role::Text, width)));
    lines.extend(change_before(first, model).map(|text| plain(&text, Role::Text, width)));
    let set = objective(&model.snapshot).map(|text| format!("objective {text}"));
    lines.extend(set.map(|text| plain(&text, Role::Dim, width)));
    for other in shown.take(MORE) {
        let sign = other.incident.severity.sign();
        let text = format!("also: {sign} {}", other.incident.text);
        lines.push(plain(&text, Role::from(other.incident.severity), width));
    }
    lines.extend(remedies(&first.incident.remedies, model, width));
    lines
}

fn plain(text: &str, role: Role, width: u16) -> IncidentLine {
    vec![(format::fit(text, width), role)]
}

/// Returns the sentence, and the time for which it has been true.
fn headline(open: &OpenIncident, model: &Model, width: u16) -> Vec<IncidentLine> {
    let incident = &open.incident;
    let lasted = model.snapshot.now.saturating_sub(open.since);
    let since = format!("  for {}", format::seconds(lasted));
    let text = format!("{} {}", incident.severity.sign(), incident.text);
    let role = Role::from(incident.severity);
    let room = width.saturating_sub(format::width(&since));
    let texts = format::wrap(&text, room).into_iter();
    let mut lines: Vec<IncidentLine> = texts.map(|text| vec![(text, role)]).collect();
    if let Some(first) = lines.first_mut() {
        first.push((since, Role::Dim));
    }
    lines
}

/// Returns the last change before the incident.
fn change_before(open: &OpenIncident, model: &Model) -> Option<String> {
    let marks = model.snapshot.marks.iter().rev();
    // A reload at the same time is the engine's answer to the incident.
    let answers = |mark: &Mark| mark.kind == MarkKind::Reload && mark.at + AT_ONCE >= open.since;
    let before = |mark: &&Mark| {
        let recent = mark.at <= open.since && mark.at + BEFORE >= open.since;
        recent && !answers(mark)
    };
    let mark = marks.into_iter().find(before)?;
    let gap = format::seconds(open.since.saturating_sub(mark.at));
    let kind = match mark.kind {
        MarkKind::Load => "load ",
        MarkKind::Policy => "policy ",
        _ => "",
    };
    Some(format!("last change, {gap} before: {kind}{}", mark.text))
}

/// Returns the possible remedies with their keys, wrapped.
fn remedies(remedies: &[Remedy], model: &Model, width: u16) -> Vec<IncidentLine> {
    let mut lines: Vec<IncidentLine> = Vec::new();
    let mut taken = width;
    for remedy in remedies {
        let Some(key) = keys::possible(model, remedy.command) else {
            continue;
        };
        let needed = format::width(&key) + 1 + format::width(&remedy.words) + 3;
        if taken + needed > width || lines.is_empty() {
            lines.push(Vec::new());
            taken = 0;
        }
        taken += needed;
        if let Some(line) = lines.last_mut() {
            line.push((key, Role::Accent));
            line.push((format!(" {}   ", remedy.words), Role::Text));
        }
    }
    lines
}
