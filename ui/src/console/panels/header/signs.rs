//! What goes on beside serving: a probation, a recording, a playback, who else watches.

use std::time::Duration;

use divisi::session::{Probation, ProbationState, Terms};

use super::Piece;
use crate::console::model::Model;
use crate::console::theme::Role;
use crate::console::{checks, format};

/// A probation that passed is said for so long.
const SAID: Duration = Duration::from_secs(10);

/// All of them, the weightier first.
pub fn signs(model: &Model) -> Vec<Piece> {
    let signs = [playback(model), recording(model), probation(model)];
    let mut signs: Vec<Piece> = signs.into_iter().flatten().collect();
    signs.extend(checks(model));
    signs.extend(audience(model));
    signs
}

/// How the limits of a probation stand while it runs.
fn checks(model: &Model) -> Vec<Piece> {
    let watched = model.snapshot.probation.as_ref();
    let watched = watched.filter(|p| p.state == ProbationState::Watching);
    let checks = watched.into_iter().flat_map(|p| &p.checks);
    checks.map(|c| (checks::short(c), Role::Warn)).collect()
}

/// `on probation, 12 s left: p99 ≤ ×1.2`.
pub fn probation(model: &Model) -> Option<Piece> {
    let probation = model.snapshot.probation.as_ref()?;
    let ends = probation.since.saturating_add(probation.terms.lasts);
    let now = model.snapshot.now;
    match &probation.state {
        ProbationState::Watching => {
            Some((watching(probation, ends.saturating_sub(now)), Role::Warn))
        }
        ProbationState::Failed(why) => Some((format!("✗ rolled back: {why}"), Role::Bad)),
        ProbationState::Passed if now < ends.saturating_add(SAID) => {
            Some(("✓ probation passed".to_owned(), Role::Good))
        }
        ProbationState::Passed | ProbationState::Kept => None,
    }
}

fn watching(probation: &Probation, left: Duration) -> String {
    let left = format!("on probation, {:>4} left", format::seconds(left));
    // Where there is nothing to compare with, what is asked is all there is to say.
    match probation.checks.as_slice() {
        [] => format!("{left}: {}", limits(&probation.terms).join(", ")),
        _ => left,
    }
}

/// What must not get worse, in signs.
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

/// With a second digit where there is one: `×1.25`.
fn times(factor: f64) -> String {
    let text = format!("{factor:.2}");
    format!("×{}", text.trim_end_matches('0').trim_end_matches('.'))
}

fn recording(model: &Model) -> Option<Piece> {
    let recording = model.snapshot.recording.as_ref()?;
    let name = recording.path.file_name().unwrap_or_default();
    let name = format::fit_name(&name.to_string_lossy(), 24);
    Some(match &recording.failed {
        Some(why) => (format!("✗ recording ended: {why}"), Role::Bad),
        None => (
            format!("● REC {name} {:>8}", format::bytes(recording.bytes)),
            Role::Bad,
        ),
    })
}

/// `▶ 12.3 of 60.0 s ×2`.
fn playback(model: &Model) -> Option<Piece> {
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

/// Minutes and seconds of a fixed width: ` 1:02.5`.
fn clock(time: Duration) -> String {
    let tenths = time.as_millis() / 100;
    format!(
        "{:>2}:{:02}.{}",
        tenths / 600,
        tenths / 10 % 60,
        tenths % 10
    )
}

/// Who may change things where several watch, or where the engine is not ours.
fn audience(model: &Model) -> Option<Piece> {
    let audience = &model.snapshot.audience;
    if !audience.attached && audience.viewers < 2 {
        return None;
    }
    let here = if audience.attached {
        "attached · "
    } else {
        ""
    };
    let edits = match (&audience.editor, audience.you_edit) {
        (None, _) => "nobody edits".to_owned(),
        (Some(_), true) => "you edit".to_owned(),
        (Some(editor), false) => format!("{editor} edits"),
    };
    let watch = match audience.viewers {
        0 | 1 => String::new(),
        n => format!("{n} watch · "),
    };
    Some((format!("{here}{watch}{edits}"), Role::Accent))
}
