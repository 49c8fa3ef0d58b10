//! Actions on the session: recording, editing rights, playback, demonstration and quitting; and on
//! the device at the cursor.

use std::path::PathBuf;
use std::time::Duration;

use divisi_runtime::device::DeviceIndex;
use divisi_runtime::words::counted;
use divisi_session::{Command, DeviceView, Pace, Play, Playback};

use super::follow_up::FollowUp;
use crate::config::HangUp;
use crate::dialogs::{Confirm, ConfirmedAction, Dialog, Form, LeaveDialog};
use crate::model::{Effect, Model};

/// The minimum length of a seek.
const STEP: Duration = Duration::from_secs(5);
/// The fraction of the recording that a seek covers.
const PART: u32 = 20;
/// The slowest and the fastest playback.
const SPEEDS: (f64, f64) = (1.0 / 64.0, 64.0);
const LEAVE_DEMO: &str = "End the demonstration and quit? Esc alone ends the demonstration and \
     stays in the console.";
const LEAVE_STAGED: &str = "Staged changes are not applied. Quit without them?";

/// Takes or releases the right to edit.
pub(super) fn take_editing(model: &Model) -> FollowUp {
    let audience = &model.snapshot.audience;
    let has = audience.you_edit && audience.editor.is_some();
    Command::TakeEditing(!has).into()
}

/// Switches to the next policy for loading variants of tasks.
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

/// Starts listening to clients, or asks whether to stop.
pub(super) fn listen(model: &Model) -> FollowUp {
    let door = model.snapshot.door.as_ref().filter(|door| door.is_open());
    let Some(door) = door else {
        return Command::Listen(true).into();
    };
    let open = door.http_connections + door.grpc_connections;
    let text = format!(
        "Stop accepting connections? {} open; requests in progress are answered.",
        counted(open, "connection")
    );
    let action = ConfirmedAction::Send(Command::Listen(false));
    Dialog::Confirm(Confirm::new("stop listening", text, action)).into()
}

/// Starts or stops recording to a new file.
pub(super) fn record(model: &Model) -> FollowUp {
    let shown = &model.snapshot;
    let command = match &shown.recording {
        Some(recording) if recording.failed.is_none() => Command::StopRecording,
        _ => Command::StartRecording(file_name(&shown.ensemble)),
    };
    command.into()
}

/// Returns a file in the session's working folder, with a number if the name is taken.
fn file_name(ensemble: &str) -> PathBuf {
    let plain = |c: char| if c == '/' || c.is_control() { '-' } else { c };
    let name: String = ensemble.chars().map(plain).collect();
    PathBuf::from(format!("{name}.divisi"))
}

/// Changes the playback of the recording.
pub(super) fn play(model: &Model, other: fn(&Playback) -> Play) -> FollowUp {
    match &model.snapshot.playback {
        Some(playback) => Command::Play(other(playback)).into(),
        None => FollowUp::default(),
    }
}

/// Pauses or resumes the recording.
pub(super) fn pause_or_go_on(playback: &Playback) -> Play {
    Play::Pause(!playback.paused)
}

/// Halves the speed.
pub(super) fn slower(playback: &Playback) -> Play {
    Play::Speed(Pace::nearest((playback.speed / 2.0).max(SPEEDS.0)))
}

/// Doubles the speed.
pub(super) fn faster(playback: &Playback) -> Play {
    Play::Speed(Pace::nearest((playback.speed * 2.0).min(SPEEDS.1)))
}

/// Seeks backward.
pub(super) fn back(playback: &Playback) -> Play {
    Play::Seek(playback.position.saturating_sub(step(playback)))
}

/// Seeks forward.
pub(super) fn forward(playback: &Playback) -> Play {
    Play::Seek(playback.position.saturating_add(step(playback)))
}

fn step(playback: &Playback) -> Duration {
    STEP.max(playback.length / PART)
}

/// Quits. Asks first if something would be lost: the server of this console, staged changes or a
/// demonstration.
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

/// Returns a question that `y` answers by ending the program.
fn ends(title: &'static str, text: &str) -> FollowUp {
    Dialog::Confirm(Confirm::new(title, text, ConfirmedAction::Quit)).into()
}

/// Handles the loss of the terminal: no question is possible, so the options decide about the
/// engine.
pub(crate) fn hung_up(model: &Model) -> Vec<Effect> {
    let goes_on = model.settings.config.hang_up == HangUp::Background && model.is_serving();
    match goes_on {
        true => vec![Effect::Send(Command::KeepServing)],
        false => vec![Effect::Quit],
    }
}

/// Goes to the next scene, or reports that this is the last one.
pub(super) fn next_scene(model: &mut Model) {
    // The next-scene key must not get another meaning after the last scene.
    match &mut model.demo {
        Some(demo) if demo.is_last() => model.say("this is the last scene: Esc leaves", false),
        Some(demo) => demo.go_to(demo.scene() + 1),
        None => {}
    }
}

/// Goes to the previous scene.
pub(super) fn scene_before(model: &mut Model) {
    if let Some(demo) = &mut model.demo {
        demo.go_to(demo.scene().saturating_sub(1));
    }
}

/// Restarts this scene.
pub(super) fn scene_again(model: &mut Model) {
    if let Some(demo) = &mut model.demo {
        demo.go_to(demo.scene());
    }
}

/// Ends the demonstration and keeps the console.
pub(super) fn leave_demo(model: &mut Model) {
    model.demo = None;
    model.expanded = false;
    let text = "demonstration ended; its setup still runs, u undoes it";
    model.say(text, false);
}

fn device_at_cursor(model: &Model) -> Option<(DeviceIndex, &DeviceView)> {
    let device = model.cursor.device;
    Some((device, model.snapshot.device(device)?))
}

/// Asks whether to simulate the loss of the device.
pub(super) fn lose_device(model: &Model) -> Option<Dialog> {
    let (device, view) = device_at_cursor(model)?;
    let name = &view.name;
    let text = format!(
        "Simulate the loss of {name}? Its batches run again elsewhere. Members without another \
         worker start on other devices, if their memory suffices."
    );
    let action = ConfirmedAction::Send(Command::LoseDevice(device));
    let confirm = Confirm::new("lose the device", text, action);
    Some(Dialog::Confirm(confirm))
}

/// Asks for a factor to slow the device down.
pub(super) fn slow_device(model: &Model) -> Option<Dialog> {
    let (device, view) = device_at_cursor(model)?;
    Some(Dialog::Form(Form::slow(device, view)))
}

/// Asks for a limit of samples in execution on the device.
pub(super) fn max_inf(model: &Model) -> Option<Dialog> {
    let (device, view) = device_at_cursor(model)?;
    Some(Dialog::Form(Form::max_inf(device, view)))
}

/// Moves the cursor by `step` devices, cyclically.
pub(super) fn step_device(model: &mut Model, step: isize) {
    let count = model.snapshot.devices.len().max(1) as isize;
    let next = (model.cursor.device.get() as isize + step).rem_euclid(count);
    model.cursor.device = DeviceIndex::new(next as usize);
    model.streams.scroll = 0;
}
