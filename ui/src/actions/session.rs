//! Actions on the session itself, which is recorded, shared, played, demonstrated and
//! left, and to the device under the cursor.

use std::path::PathBuf;
use std::time::Duration;

use divisi_runtime::device::DeviceIndex;
use divisi_runtime::words::counted;
use divisi_session::{Command, DeviceView, Pace, Play, Playback};

use super::follow_up::FollowUp;
use crate::config::HangUp;
use crate::dialogs::{Confirm, ConfirmedAction, Dialog, Form, LeaveDialog};
use crate::model::{Effect, Model};

/// A step back or forward is so long at least.
const STEP: Duration = Duration::from_secs(5);
/// And such a part of the recording.
const PART: u32 = 20;
/// Slowest and fastest.
const SPEEDS: (f64, f64) = (1.0 / 64.0, 64.0);
const LEAVE_DEMO: &str = "End the demonstration and leave the program? Esc alone ends the \
     demonstration and stays in the console.";
const LEAVE_STAGED: &str = "Staged changes are not applied. Leave without them?";

/// Stops the program until the shell continues it.
pub(super) fn suspend() -> FollowUp {
    Effect::Suspend.into()
}

/// Takes the right to edit, or lets others have it.
pub(super) fn take_editing(model: &Model) -> FollowUp {
    let audience = &model.snapshot.audience;
    let has = audience.you_edit && audience.editor.is_some();
    Command::TakeEditing(!has).into()
}

/// Lets the next policy decide which variants of tasks are loaded.
pub(super) fn next_scaling(model: &Model) -> FollowUp {
    let Some(scaling) = &model.snapshot.scaling else {
        return FollowUp::default();
    };
    let at = scaling
        .policies
        .iter()
        .position(|name| *name == scaling.policy);
    let next = at.map_or(0, |at| (at + 1) % scaling.policies.len().max(1));
    match scaling.policies.get(next) {
        Some(name) => Command::SetScalingPolicy(name.clone()).into(),
        None => FollowUp::default(),
    }
}

/// Begins to listen to clients, or asks whether to listen to nobody any more.
pub(super) fn listen(model: &Model) -> FollowUp {
    let door = model.snapshot.door.as_ref().filter(|door| door.is_open());
    let Some(door) = door else {
        return Command::Listen(true).into();
    };
    let open = door.http_connections + door.grpc_connections;
    let text = format!(
        "Listen to no client any more? {} open; requests under way are answered.",
        counted(open, "connection")
    );
    let action = ConfirmedAction::Send(Command::Listen(false));
    Dialog::Confirm(Confirm::new("close the door", text, action)).into()
}

/// Records to a new file, or ends that.
pub(super) fn record(model: &Model) -> FollowUp {
    let shown = &model.snapshot;
    let command = match &shown.recording {
        Some(recording) if recording.failed.is_none() => Command::StopRecording,
        _ => Command::StartRecording(file_name(&shown.ensemble)),
    };
    command.into()
}

/// In the folder that the session runs in; where there is one, a number is added.
fn file_name(ensemble: &str) -> PathBuf {
    let plain = |c: char| if c == '/' || c.is_control() { '-' } else { c };
    let name: String = ensemble.chars().map(plain).collect();
    PathBuf::from(format!("{name}.divisi"))
}

/// Plays the recording otherwise.
pub(super) fn play(model: &Model, other: fn(&Playback) -> Play) -> FollowUp {
    match &model.snapshot.playback {
        Some(playback) => Command::Play(other(playback)).into(),
        None => FollowUp::default(),
    }
}

/// Holds the recording, or lets it go on.
pub(super) fn pause_or_go_on(playback: &Playback) -> Play {
    Play::Pause(!playback.paused)
}

/// Half as fast.
pub(super) fn slower(playback: &Playback) -> Play {
    Play::Speed(Pace::nearest((playback.speed / 2.0).max(SPEEDS.0)))
}

/// Twice as fast.
pub(super) fn faster(playback: &Playback) -> Play {
    Play::Speed(Pace::nearest((playback.speed * 2.0).min(SPEEDS.1)))
}

/// A step back.
pub(super) fn back(playback: &Playback) -> Play {
    Play::Seek(playback.position.saturating_sub(step(playback)))
}

/// A step forward.
pub(super) fn forward(playback: &Playback) -> Play {
    Play::Seek(playback.position.saturating_add(step(playback)))
}

fn step(playback: &Playback) -> Duration {
    STEP.max(playback.length / PART)
}

/// Leaves, or asks where something would be lost: what this console serves, what is
/// staged, or a demonstration.
pub(crate) fn quit(model: &mut Model) -> FollowUp {
    if model.demo.is_some() {
        return ends("quit", LEAVE_DEMO);
    }
    if model.is_serving() {
        let leave = LeaveDialog {
            may_stay: model.snapshot.audience.may_stay,
            staged: model.has_staged(),
            hang_up: model.hang_up(),
        };
        return Dialog::Leave(leave).into();
    }
    if model.has_staged() {
        return ends("quit", LEAVE_STAGED);
    }
    Effect::Quit.into()
}

/// A question whose `y` ends the program.
fn ends(title: &'static str, text: &str) -> FollowUp {
    Dialog::Confirm(Confirm::new(title, text, ConfirmedAction::Quit)).into()
}

/// Nobody can be asked any more: the options have said what becomes of the engine.
pub(crate) fn hung_up(model: &Model) -> Vec<Effect> {
    let goes_on = model.settings.config.hang_up == HangUp::Background && model.is_serving();
    match goes_on {
        true => vec![Effect::Send(Command::KeepServing)],
        false => vec![Effect::Quit],
    }
}

/// Goes to the next scene; says so where there is none.
pub(super) fn next_scene(model: &mut Model) {
    // A presenter's next key must not mean something else of a sudden.
    match &mut model.demo {
        Some(demo) if demo.is_last() => model.say("that was the last scene: Esc leaves", false),
        Some(demo) => demo.go_to(demo.scene() + 1),
        None => {}
    }
}

/// Goes to the scene before.
pub(super) fn scene_before(model: &mut Model) {
    if let Some(demo) = &mut model.demo {
        demo.go_to(demo.scene().saturating_sub(1));
    }
}

/// Begins this scene again.
pub(super) fn scene_again(model: &mut Model) {
    if let Some(demo) = &mut model.demo {
        demo.go_to(demo.scene());
    }
}

/// Ends the demonstration; the console stays.
pub(super) fn leave_demo(model: &mut Model) {
    model.demo = None;
    model.expanded = false;
    let text = "the demonstration is over; what it set up goes on, u brings back what ran before";
    model.say(text, false);
}

fn device_at_cursor(model: &Model) -> Option<(DeviceIndex, &DeviceView)> {
    let device = model.cursor.device;
    Some((device, model.snapshot.device(device)?))
}

/// Asks whether the device is to disappear.
pub(super) fn lose_device(model: &Model) -> Option<Dialog> {
    let (device, view) = device_at_cursor(model)?;
    let name = &view.name;
    let text = format!(
        "Let {name} disappear? It is evacuated: what it was doing is done again, and \
         members that have no other worker start on other devices, as far as their \
         memory reaches."
    );
    let action = ConfirmedAction::Send(Command::LoseDevice(device));
    let confirm = Confirm::new("lose the device", text, action);
    Some(Dialog::Confirm(confirm))
}

/// Asks how many times as long the device is to take.
pub(super) fn slow_device(model: &Model) -> Option<Dialog> {
    let (device, view) = device_at_cursor(model)?;
    Some(Dialog::Form(Form::slow(device, view)))
}

/// Asks how many samples may be in execution on the device.
pub(super) fn max_inf(model: &Model) -> Option<Dialog> {
    let (device, view) = device_at_cursor(model)?;
    Some(Dialog::Form(Form::max_inf(device, view)))
}

/// Moves the cursor to the next device or the one before, round and round.
pub(super) fn step_device(model: &mut Model, step: isize) {
    let count = model.snapshot.devices.len().max(1) as isize;
    let next = (model.cursor.device.get() as isize + step).rem_euclid(count);
    model.cursor.device = DeviceIndex::new(next as usize);
    model.streams.scroll = 0;
}
