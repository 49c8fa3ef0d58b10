//! The signs of other activities: a probation, a recording, a playback, and other viewers.

use std::time::Duration;

use divisi_session::{Probation, ProbationState, Terms};

use crate::commands::TAKE_EDITING;
use crate::look::Role;
use crate::model::Model;
use crate::panels::keys;
use crate::text::{Severity, checks, format};

/// Words of the header, and their role.
pub(super) type HeaderPiece = (String, Role);

/// The time for which the end of a probation is shown; the log keeps it.
const SAID: Duration = Duration::from_secs(10);

/// Returns the editing rights. They come before temporary signs.
pub(super) fn access(model: &Model) -> Vec<HeaderPiece> {
    let read_only = model.read_only;
    let read_only = read_only.then(|| ("read-only".to_owned(), Role::Warn));
    read_only.into_iter().chain(audience(model)).collect()
}

/// Returns the gravest disturbance of the host, or `None` while the host is quiet:
/// `host 10 s: others 63 % of cpu:1`.
pub(super) fn host(model: &Model) -> Option<HeaderPiece> {
    let host = model.snapshot.host.as_ref()?;
    let cause = host.disturbances().into_iter().next()?;
    let window = format::seconds(host.load.window);
    Some((format!("host {window}: {}", cause.short()), Role::Warn))
}

/// Returns the signs of all activities in `room` columns, the most important first.
pub(super) fn signs(model: &Model, room: u16) -> Vec<HeaderPiece> {
    let mut signs: Vec<HeaderPiece> = playback(model).into_iter().collect();
    let watched = [false, true].map(|brief| watched(model, brief));
    let taken =
        |pieces: &[HeaderPiece]| pieces.iter().map(|p| format::width(&p.0) + 2).sum::<u16>();
    let fits = watched.iter().find(|form| taken(form) <= room);
    signs.extend(fits.unwrap_or(&watched[1]).iter().cloned());
    signs.extend(recording(model));
    signs
}

/// Returns a probation with its limits and their values.
fn watched(model: &Model, brief: bool) -> Vec<HeaderPiece> {
    let check = if brief { checks::brief } else { checks::short };
    let watched = model.snapshot.probation.as_ref();
    let watched = watched.filter(|p| p.state == ProbationState::Watching);
    let checks = watched.into_iter().flat_map(|p| &p.checks);
    let checks = checks.map(|c| (check(c), Role::Warn));
    probation(model, brief).into_iter().chain(checks).collect()
}

/// Returns `on probation, 12 s left: p99 ≤ ×1.2`, or the outcome.
fn probation(model: &Model, brief: bool) -> Option<HeaderPiece> {
    let probation = model.snapshot.probation.as_ref()?;
    let since_end = probation
        .ended
        .map(|at| model.snapshot.now.saturating_sub(at));
    let recent = since_end.is_some_and(|time| time < SAID);
    match &probation.state {
        ProbationState::Watching if brief && !probation.checks.is_empty() => {
            let left = format::seconds(left(probation));
            Some((format!("probation {left:>4}"), Role::Warn))
        }
        ProbationState::Watching => watching(model).map(|text| (text, Role::Warn)),
        ProbationState::Failed(_) if recent => {
            let grave = Severity::Warning;
            let outcome = match probation.is_of_policy() {
                true => "a policy's change failed",
                false => "rolled back",
            };
            Some((format!("{} {outcome}", grave.sign()), Role::from(grave)))
        }
        ProbationState::Passed if recent => Some(("✓ probation passed".to_owned(), Role::Good)),
        ProbationState::Failed(_) | ProbationState::Passed | ProbationState::Kept => None,
    }
}

fn left(probation: &Probation) -> Duration {
    probation.terms.lasts.saturating_sub(probation.counted)
}

/// Returns the running probation: `on probation, 12 s left: p99 ≤ ×1.2`.
pub(crate) fn watching(model: &Model) -> Option<String> {
    let probation = model.snapshot.probation.as_ref();
    let probation = probation.filter(|p| p.state == ProbationState::Watching)?;
    let left = format::seconds(left(probation));
    let left = format!("on probation, {left:>4} left");
    // Without a comparison, only the limits can be shown.
    Some(match probation.checks.as_slice() {
        [] => format!("{left}: {}", limits(&probation.terms).join(", ")),
        _ => left,
    })
}

/// Formats the limits of a probation.
fn limits(terms: &Terms) -> Vec<String> {
    let points = |share: f64| format!("{:.1}", share * 100.0);
    let p99 = terms.p99.map(|f| format!("p99 ≤ {}", times(f)));
    let failures = terms
        .failures
        .map(|f| format!("failures ≤ +{} points", points(f)));
    let accuracy = terms
        .accuracy
        .map(|a| format!("accuracy ≥ −{} points", points(a)));
    [p99, failures, accuracy].into_iter().flatten().collect()
}

/// Formats a factor, with a second decimal if needed: `×1.25`.
fn times(factor: f64) -> String {
    let text = format!("{factor:.2}");
    format!("×{}", text.trim_end_matches('0').trim_end_matches('.'))
}

fn recording(model: &Model) -> Option<HeaderPiece> {
    let recording = model.snapshot.recording.as_ref()?;
    let name = recording.path.file_name().unwrap_or_default();
    let name = format::fit_name(&name.to_string_lossy(), 24);
    Some(match &recording.failed {
        Some(why) => (format!("✗ recording ended: {why}"), Role::Bad),
        None => (
            format!("● REC {name} {:>8}", format::bytes(recording.bytes)),
            // A running recording is normal.
            Role::Accent,
        ),
    })
}

/// Returns `▶ 12.3 of 60.0 s ×2`.
fn playback(model: &Model) -> Option<HeaderPiece> {
    let played = model.snapshot.playback.as_ref()?;
    let sign = if played.paused { "‖" } else { "▶" };
    let text = format!(
        "{sign} {} / {} {}",
        clock(played.position),
        clock(played.length),
        times(played.speed)
    );
    Some((text, Role::Accent))
}

/// Formats minutes and seconds with a fixed width: ` 1:02.5`.
fn clock(time: Duration) -> String {
    let tenths = time.as_millis() / 100;
    format!(
        "{:>2}:{:02}.{}",
        tenths / 600,
        tenths / 10 % 60,
        tenths % 10
    )
}

/// Returns the editor, if there are several viewers or the engine belongs to a server.
fn audience(model: &Model) -> Option<HeaderPiece> {
    let audience = &model.snapshot.audience;
    if audience.lost {
        let text = "attaches again when the server is back".to_owned();
        return Some((text, Role::Warn));
    }
    if !audience.attached && audience.viewers < 2 {
        return None;
    }
    let here = if audience.attached {
        "attached · "
    } else {
        ""
    };
    let edits = match (&audience.editor, audience.you_edit) {
        (None, _) => nobody_edits(model),
        (Some(_), true) => "you edit".to_owned(),
        (Some(editor), false) => format!("{editor} edits"),
    };
    let watch = match audience.viewers {
        0 | 1 => String::new(),
        n => format!("{n} viewers · "),
    };
    Some((format!("{here}{watch}{edits}"), Role::Accent))
}

/// Returns that there is no editor, with the key to become one.
fn nobody_edits(model: &Model) -> String {
    let key = keys::label(model, &TAKE_EDITING);
    let may = model.snapshot.audience.attached && !model.read_only && !key.is_empty();
    match may {
        true => format!("no editor, {key} edits"),
        false => "no editor".to_owned(),
    }
}
