//! What commands do to the session itself: recorded, shared, played, left.

use std::path::PathBuf;
use std::time::Duration;

use divisi::session::{Command, Pace, Play, Playback};

use crate::console::commands::Id;
use crate::console::dialogs::{Dialog, Leave};
use crate::console::effect::Effect;
use crate::console::layout;
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

/// Leaves, or asks what becomes of the engine where it can go on without the console.
pub fn leave(model: &mut Model) -> Vec<Effect> {
    let seen = layout::arrange(model.area, model).is_some();
    if !model.snapshot.audience.may_stay || !seen {
        return vec![Effect::Quit];
    }
    model.dialogs.push(Dialog::Leave(Leave));
    Vec::new()
}
