//! What commands do to the session itself: recorded, shared, played, left.

use std::path::PathBuf;
use std::time::Duration;

use divisi::session::{Command, Pace, Play, Playback};

use crate::config::HangUp;
use crate::console::commands::Id;
use crate::console::demo;
use crate::console::dialogs::{Confirm, Dialog, LeaveDialog, Then};
use crate::console::effect::Effect;
use crate::console::model::Model;

/// A step back or forward is so long at least.
const STEP: Duration = Duration::from_secs(5);
/// And such a part of the recording.
const PART: u32 = 20;
/// Slowest and fastest.
const SPEEDS: (f64, f64) = (1.0 / 64.0, 64.0);

/// Recording on and off; editing taken and let go.
pub fn act(model: &mut Model, id: Id) -> Vec<Effect> {
    let shown = &model.snapshot;
    let command = match (id, &shown.recording) {
        (Id::TakeEditing, _) => {
            let has = shown.audience.you_edit && shown.audience.editor.is_some();
            Command::TakeEditing(!has)
        }
        (_, Some(recording)) if recording.failed.is_none() => Command::StopRecording,
        _ => Command::StartRecording(file_name(&shown.ensemble)),
    };
    vec![Effect::Send(command)]
}

/// In the folder that the session runs in; where there is one, a number is added.
fn file_name(ensemble: &str) -> PathBuf {
    let plain = |c: char| if c == '/' || c.is_control() { '-' } else { c };
    let name: String = ensemble.chars().map(plain).collect();
    PathBuf::from(format!("{name}.divisi"))
}

/// Another way to play the recording.
pub fn play(model: &mut Model, id: Id) -> Vec<Effect> {
    let Some(playback) = &model.snapshot.playback else {
        return Vec::new();
    };
    vec![Effect::Send(Command::Play(played(playback, id)))]
}

fn played(playback: &Playback, id: Id) -> Play {
    let step = STEP.max(playback.length / PART);
    let (slowest, fastest) = SPEEDS;
    match id {
        Id::Slower => Play::Speed(Pace::nearest((playback.speed / 2.0).max(slowest))),
        Id::Faster => Play::Speed(Pace::nearest((playback.speed * 2.0).min(fastest))),
        Id::SeekBack => Play::Seek(playback.position.saturating_sub(step)),
        Id::SeekForward => Play::Seek(playback.position.saturating_add(step)),
        _ => Play::Pause(!playback.paused),
    }
}

/// Leaves, or asks where something would be lost: what this console serves, what is
/// staged, or a demonstration.
pub fn quit(model: &mut Model) -> Vec<Effect> {
    let question = if model.demo.is_some() {
        demo::question()
    } else if serves(model) {
        Dialog::Leave(LeaveDialog {
            may_stay: model.snapshot.audience.may_stay,
            staged: model.has_staged(),
        })
    } else if model.has_staged() {
        let text = "Staged changes are not applied. Leave without them?";
        Dialog::Confirm(Confirm::new("quit", text, Then::Quit))
    } else {
        return vec![Effect::Quit];
    };
    model.dialogs.push(question);
    Vec::new()
}

/// `Ctrl-C`: asks as `q` does, whatever lies on top, and never answers.
pub fn interrupt(model: &mut Model) -> Vec<Effect> {
    let asked = model.dialogs.last().and_then(Dialog::leaves_by);
    match asked {
        Some(key) => model.say(
            format!("Ctrl-C does not answer: {key} leaves, Esc stays"),
            true,
        ),
        None => return quit(model),
    }
    Vec::new()
}

/// The engine is this console's own: it ends with it, unless it is handed over.
fn serves(model: &Model) -> bool {
    let shown = &model.snapshot;
    !shown.audience.attached && shown.playback.is_none()
}

/// Nobody can be asked any more: the options have said what becomes of the engine.
pub fn hung_up(model: &Model) -> Vec<Effect> {
    let goes_on = model.settings.config.hang_up == HangUp::Background && serves(model);
    match goes_on {
        true => vec![Effect::Send(Command::KeepServing)],
        false => vec![Effect::Quit],
    }
}
