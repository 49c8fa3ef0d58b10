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
    /// This console is alone, so it need not take the right to edit.
    #[error("this console is the only editor")]
    NobodyElse,
    /// There is no earlier setup.
    #[error("nothing to undo")]
    NothingToUndo,
    /// Nothing was undone.
    #[error("nothing to redo")]
    NothingToRedo,
    /// No search runs or is paused.
    #[error("no search is running")]
    NoSearch,
    /// No search has found a matrix.
    #[error("no matrix found by a search yet")]
    NothingFound,
    /// The session proposes no change.
    #[error("no proposed change: no worker is much slower than its profile")]
    NothingProposed,
    /// The member is the last one with a vote.
    #[error("the last voting member stays: an ensemble needs one")]
    LastVoter,
    /// Members of a pipeline do not vote.
    #[error("pipelines have no votes: their steps combine the answers")]
    NoVotes,
    /// The served models are fixed.
    #[error("the models are fixed at the start of the server")]
    ModelsFixed,
    /// No tasks are served.
    #[error("no tasks are served: start `divisi --task TASK`")]
    NoTasks,
    /// The session cannot listen to clients.
    #[error("this session cannot listen to clients")]
    NoDoor,
    /// No probation is running.
    #[error("no probation is running")]
    NoProbation,
    /// The device is real; holds its name.
    #[error("{0} is part of this machine; only simulated devices can")]
    NotSimulated(String),
    /// The device is already lost; holds its name.
    #[error("{0} is already lost")]
    LostAlready(String),
    /// The device is lost; holds its name.
    #[error("{0} is lost")]
    DeviceLost(String),
    /// The device is not lost; holds its name.
    #[error("{0} is not lost")]
    DeviceNotLost(String),
}

/// Returns the error `why` unless `so` holds.
fn unless(so: bool, why: NotNow) -> Result<(), NotNow> {
    if so { Ok(()) } else { Err(why) }
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
    unless(state.snapshot.audience.attached, NotNow::NobodyElse)?;
    unless(!state.read_only, NotNow::ReadOnly("edit"))
}

pub(super) fn can_undo(state: &ShownState<'_>) -> Result<(), NotNow> {
    unless(state.snapshot.can_undo, NotNow::NothingToUndo)
}

pub(super) fn can_redo(state: &ShownState<'_>) -> Result<(), NotNow> {
    unless(state.snapshot.can_redo, NotNow::NothingToRedo)
}

pub(super) fn searches(state: &ShownState<'_>) -> Result<(), NotNow> {
    let search = state.snapshot.search.as_ref().map(|s| &s.state);
    let goes_on = matches!(search, Some(SearchState::Running | SearchState::Paused));
    unless(goes_on, NotNow::NoSearch)
}

pub(super) fn has_found(state: &ShownState<'_>) -> Result<(), NotNow> {
    let search = state.snapshot.search.as_ref();
    let best = search.is_some_and(|s| s.progress.best.is_some());
    unless(best, NotNow::NothingFound)
}

pub(super) fn has_proposal(state: &ShownState<'_>) -> Result<(), NotNow> {
    unless(state.snapshot.proposal.is_some(), NotNow::NothingProposed)
}

pub(super) fn is_on_probation(state: &ShownState<'_>) -> Result<(), NotNow> {
    let probation = state.snapshot.probation.as_ref().map(|p| &p.state);
    let watched = probation == Some(&ProbationState::Watching);
    unless(watched, NotNow::NoProbation)
}

/// Checks that members are combined by a rule.
pub(super) fn has_rule(state: &ShownState<'_>) -> Result<(), NotNow> {
    unless(!state.snapshot.pipeline, NotNow::NoVotes)
}

/// Checks that models can be loaded and unloaded.
pub(super) fn can_load(state: &ShownState<'_>) -> Result<(), NotNow> {
    unless(state.snapshot.can_load, NotNow::ModelsFixed)
}

/// Checks that tasks are served.
pub(super) fn has_tasks(state: &ShownState<'_>) -> Result<(), NotNow> {
    unless(state.snapshot.scaling.is_some(), NotNow::NoTasks)
}

/// Checks that the session can listen to clients.
pub(super) fn has_door(state: &ShownState<'_>) -> Result<(), NotNow> {
    unless(state.snapshot.door.is_some(), NotNow::NoDoor)
}

/// Checks that another member votes besides this one.
pub(super) fn another_votes(shown: &Snapshot, member: MemberIndex) -> Result<(), NotNow> {
    let voting = &shown.combination.voting;
    let votes = voting.get(member.get()).copied().unwrap_or(false);
    let last = votes && voting.iter().filter(|v| **v).count() < 2;
    unless(!last, NotNow::LastVoter)
}

pub(super) fn can_be_lost(device: &DeviceView) -> Result<(), NotNow> {
    has_faults(device)?;
    unless(!device.lost, NotNow::LostAlready(device.name.clone()))
}

pub(super) fn can_be_slowed(device: &DeviceView) -> Result<(), NotNow> {
    has_faults(device)?;
    unless(!device.lost, NotNow::DeviceLost(device.name.clone()))
}

pub(super) fn can_come_back(device: &DeviceView) -> Result<(), NotNow> {
    if device.lost {
        return Ok(());
    }
    has_faults(device)?;
    Err(NotNow::DeviceNotLost(device.name.clone()))
}

/// Checks that the device's loss or slowness can be simulated.
fn has_faults(device: &DeviceView) -> Result<(), NotNow> {
    unless(
        device.faults_on_demand,
        NotNow::NotSimulated(device.name.clone()),
    )
}
