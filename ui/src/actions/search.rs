//! The search: begun, held, ended, its best matrix applied.

use divisi::session::{Command, SearchState};

use super::follow_up::FollowUp;
use super::{requests, stage};
use crate::dialogs::{Dialog, Form};
use crate::model::Model;

/// Asks which search to begin.
pub fn begin() -> FollowUp {
    Dialog::Form(Form::search()).into()
}

/// Holds the search, or lets it go on.
pub fn pause(model: &Model) -> FollowUp {
    let state = model.snapshot.search.as_ref().map(|s| &s.state);
    let command = match state {
        Some(SearchState::Paused) => Command::ResumeSearch,
        _ => Command::PauseSearch,
    };
    command.into()
}

/// Compares the best matrix that was found with what runs.
pub fn apply_best(model: &mut Model) -> FollowUp {
    let Some(best) = requests::best(&model.snapshot).cloned() else {
        return FollowUp::default();
    };
    if best == model.snapshot.matrix {
        model.say("the best matrix found is running already", false);
        return FollowUp::default();
    }
    // The matrix that is compared, not a better one found meanwhile.
    stage::ask_matrix(model, "apply the best found", best)
}

/// Compares the change that relieves an interfered worker with what runs.
pub fn apply_proposal(model: &mut Model) -> FollowUp {
    let Some(proposal) = &model.snapshot.proposal else {
        return FollowUp::default();
    };
    // The matrix that is compared: another may be proposed meanwhile.
    let matrix = proposal.matrix.clone();
    stage::ask_matrix(model, "apply the proposed move", matrix)
}
