//! When commands can be done, and why not.

use divisi_runtime::device::MemberIndex;
use divisi_session::{DeviceView, ProbationState, SearchState, Snapshot};
use thiserror::Error;

/// The state that decides whether a command can be done, whatever its subject.
#[derive(Clone, Copy, Debug)]
pub struct ShownState<'a> {
    /// The session's snapshot.
    pub snapshot: &'a Snapshot,
    /// No command may change anything.
    pub read_only: bool,
}

/// Why a command cannot be done now.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NotNow {
    /// The console may only look; holds what it may not do.
    #[error("read-only: cannot {0}")]
    ReadOnly(&'static str),
    /// A recording cannot be changed; holds what cannot be done.
    #[error("this is a recording: cannot {0}")]
    Recorded(&'static str),
    /// Somebody else has taken editing.
    #[error("{editor} edits: cannot {title} until they let go")]
    EditedBy {
        /// Who has it.
        editor: String,
        /// The command that cannot be done.
        title: &'static str,
    },
    /// Nobody else is there, so editing need not be taken.
    #[error("nobody else can change anything here")]
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
    #[error("no search has found a matrix yet")]
    NothingFound,
    /// No worker is interfered with.
    #[error("nothing is proposed: no worker is so much slower than its profile")]
    NothingProposed,
    /// The member is the last that votes.
    #[error("the last member that votes stays: an ensemble needs one")]
    LastVoter,
    /// Members of a pipeline do not vote.
    #[error("the steps of a pipeline say how answers are combined: nobody votes")]
    NoVotes,
    /// The models that are served are fixed.
    #[error("the models are those that the server was started with")]
    ModelsFixed,
    /// No tasks are served.
    #[error("no tasks are served here: `divisi --task TASK` serves what was registered")]
    NoTasks,
    /// Nobody can listen to clients.
    #[error("there is no door to the network here")]
    NoDoor,
    /// Nothing has to prove itself.
    #[error("nothing is on probation")]
    NoProbation,
    /// The device is real; holds its name.
    #[error("{0} is part of this machine; only simulated devices can")]
    NotSimulated(String),
    /// The device is lost and cannot be lost again; holds its name.
    #[error("{0} is lost already")]
    LostAlready(String),
    /// The device is lost; holds its name.
    #[error("{0} is lost")]
    DeviceLost(String),
    /// The device is there; holds its name.
    #[error("{0} is not lost")]
    DeviceNotLost(String),
}

/// Returns `why` where it is not so.
fn unless(so: bool, why: NotNow) -> Result<(), NotNow> {
    if so { Ok(()) } else { Err(why) }
}

impl ShownState<'_> {
    /// Whether this console may change what the engine does.
    ///
    /// # Errors
    /// Why it may not `title`.
    pub(super) fn check_rights(&self, title: &'static str) -> Result<(), NotNow> {
        unless(!self.read_only, NotNow::ReadOnly(title))?;
        let recorded = self.snapshot.playback.is_some();
        unless(!recorded, NotNow::Recorded(title))?;
        match self.other_editor() {
            Some(editor) => Err(NotNow::EditedBy {
                editor: editor.to_owned(),
                title,
            }),
            None => Ok(()),
        }
    }

    /// Who may change things in our place.
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

/// Members are combined by a rule.
pub(super) fn has_rule(state: &ShownState<'_>) -> Result<(), NotNow> {
    unless(!state.snapshot.pipeline, NotNow::NoVotes)
}

/// Models can be loaded and unloaded.
pub(super) fn can_load(state: &ShownState<'_>) -> Result<(), NotNow> {
    unless(state.snapshot.can_load, NotNow::ModelsFixed)
}

/// Tasks are served.
pub(super) fn has_tasks(state: &ShownState<'_>) -> Result<(), NotNow> {
    unless(state.snapshot.scaling.is_some(), NotNow::NoTasks)
}

/// There is a door to the network.
pub(super) fn has_door(state: &ShownState<'_>) -> Result<(), NotNow> {
    unless(state.snapshot.door.is_some(), NotNow::NoDoor)
}

/// Somebody else is left to vote without the member.
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

/// An operator may let it disappear or grow slow.
fn has_faults(device: &DeviceView) -> Result<(), NotNow> {
    unless(
        device.faults_on_demand,
        NotNow::NotSimulated(device.name.clone()),
    )
}
