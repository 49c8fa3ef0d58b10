//! The conditions under which commands can run, and the reasons why they cannot.

use divisi_runtime::device::MemberIndex;
use divisi_session::{DeviceView, ProbationState, SearchState, Snapshot};
use thiserror::Error;

/// The state that decides whether a command can run, regardless of its subject.
#[derive(Clone, Copy, Debug)]
pub struct ShownState<'a> {
    /// The session's snapshot.
    pub snapshot: &'a Snapshot,
    /// Whether all changing commands are refused.
    pub read_only: bool,
    /// Whether an incident is on the screen.
    pub has_incident: bool,
}

/// The reason why a command cannot run now.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NotNow {
    /// The console is read-only; holds the refused action.
    #[error("read-only: cannot {0}")]
    ReadOnly(&'static str),
    /// A recording cannot be changed; holds the refused action.
    #[error("this is a recording: cannot {0}")]
    Recorded(&'static str),
    /// The server is gone; holds the refused action.
    #[error("the server is gone: cannot {0} until it is back")]
    ServerGone(&'static str),
    /// Another console has the right to edit.
    #[error("cannot {title} while {editor} is editing")]
    EditedBy {
        /// The editor's name.
        editor: String,
        /// The refused action.
        title: &'static str,
    },
    /// The state does not allow it; holds the reason.
    #[error("{0}")]
    State(&'static str),
    /// The state of its device does not allow it; holds the device's name and the reason.
    #[error("{0} {1}")]
    Device(String, &'static str),
}

/// Returns the error `why` unless `so` holds.
fn unless(so: bool, why: NotNow) -> Result<(), NotNow> {
    if so { Ok(()) } else { Err(why) }
}

/// Returns an error with the reason `why` unless `so` holds.
fn needs(so: bool, why: &'static str) -> Result<(), NotNow> {
    unless(so, NotNow::State(why))
}

impl ShownState<'_> {
    /// Checks that this console may change the engine.
    ///
    /// # Errors
    /// The reason why it may not `title`.
    pub(super) fn check_rights(&self, title: &'static str) -> Result<(), NotNow> {
        unless(!self.read_only, NotNow::ReadOnly(title))?;
        let recorded = self.snapshot.playback.is_some();
        unless(!recorded, NotNow::Recorded(title))?;
        unless(!self.snapshot.audience.lost, NotNow::ServerGone(title))?;
        match self.other_editor() {
            Some(editor) => Err(NotNow::EditedBy {
                editor: editor.to_owned(),
                title,
            }),
            None => Ok(()),
        }
    }

    /// Returns the other console with the right to edit.
    fn other_editor(&self) -> Option<&str> {
        let audience = &self.snapshot.audience;
        let editor = audience.editor.as_deref();
        editor.filter(|_| audience.attached && !audience.you_edit)
    }
}

pub(super) fn may_take_editing(state: &ShownState<'_>) -> Result<(), NotNow> {
    let attached = state.snapshot.audience.attached;
    needs(attached, "this console is the only editor")?;
    unless(!state.read_only, NotNow::ReadOnly("edit"))
}

pub(super) fn has_incident(state: &ShownState<'_>) -> Result<(), NotNow> {
    needs(state.has_incident, "there is no incident")
}

pub(super) fn can_undo(state: &ShownState<'_>) -> Result<(), NotNow> {
    needs(state.snapshot.can_undo, "nothing to undo")
}

pub(super) fn can_redo(state: &ShownState<'_>) -> Result<(), NotNow> {
    needs(state.snapshot.can_redo, "nothing to redo")
}

pub(super) fn searches(state: &ShownState<'_>) -> Result<(), NotNow> {
    let search = state.snapshot.search.as_ref().map(|s| &s.state);
    let goes_on = matches!(search, Some(SearchState::Running | SearchState::Paused));
    needs(goes_on, "no search is running")
}

pub(super) fn has_found(state: &ShownState<'_>) -> Result<(), NotNow> {
    let search = state.snapshot.search.as_ref();
    let best = search.is_some_and(|s| s.progress.best.is_some());
    needs(best, "no matrix found by a search yet")
}

pub(super) fn has_proposal(state: &ShownState<'_>) -> Result<(), NotNow> {
    let proposed = state.snapshot.proposal.is_some();
    needs(
        proposed,
        "no proposed change: no worker is much slower than its profile",
    )
}

pub(super) fn is_on_probation(state: &ShownState<'_>) -> Result<(), NotNow> {
    let probation = state.snapshot.probation.as_ref().map(|p| &p.state);
    let watched = probation == Some(&ProbationState::Watching);
    needs(watched, "no probation is running")
}

/// Checks that members are combined by a rule.
pub(super) fn has_rule(state: &ShownState<'_>) -> Result<(), NotNow> {
    let why = "pipelines have no votes: their steps combine the answers";
    needs(!state.snapshot.pipeline, why)
}

/// Checks that models can be loaded and unloaded.
pub(super) fn can_load(state: &ShownState<'_>) -> Result<(), NotNow> {
    needs(
        state.snapshot.can_load,
        "the models are fixed at the start of the server",
    )
}

/// Checks that tasks are served.
pub(super) fn has_tasks(state: &ShownState<'_>) -> Result<(), NotNow> {
    let served = state.snapshot.scaling.is_some();
    needs(served, "no tasks are served: start `divisi --task TASK`")
}

/// Checks that the session can listen to clients.
pub(super) fn has_door(state: &ShownState<'_>) -> Result<(), NotNow> {
    let door = state.snapshot.door.is_some();
    needs(door, "this session cannot listen to clients")
}

/// Checks that another member votes besides this one.
pub(super) fn another_votes(shown: &Snapshot, member: MemberIndex) -> Result<(), NotNow> {
    let voting = &shown.combination.voting;
    let votes = voting.get(member.get()).copied().unwrap_or(false);
    let last = votes && voting.iter().filter(|v| **v).count() < 2;
    needs(!last, "the last voting member stays: an ensemble needs one")
}

pub(super) fn can_be_lost(device: &DeviceView) -> Result<(), NotNow> {
    has_faults(device)?;
    needs_device(!device.lost, device, "is already lost")
}

pub(super) fn can_be_slowed(device: &DeviceView) -> Result<(), NotNow> {
    has_faults(device)?;
    needs_device(!device.lost, device, "is lost")
}

pub(super) fn can_come_back(device: &DeviceView) -> Result<(), NotNow> {
    if device.lost {
        return Ok(());
    }
    has_faults(device)?;
    needs_device(false, device, "is not lost")
}

/// Checks that the device's loss or slowness can be simulated.
fn has_faults(device: &DeviceView) -> Result<(), NotNow> {
    let why = "is part of this machine; only simulated devices can";
    needs_device(device.faults_on_demand, device, why)
}

fn needs_device(so: bool, device: &DeviceView, why: &'static str) -> Result<(), NotNow> {
    unless(so, NotNow::Device(device.name.clone(), why))
}
