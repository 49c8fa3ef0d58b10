//! A change of the models that are served as a console shows it: planned, under way, made or refused.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use divisi_engine::deployment::{CatalogueChange, CataloguePreview, Handover};

use super::Refusal;

/// The last change of the models that somebody asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelChangeView {
    /// Counted from 1 since the start of the session; never reused.
    pub number: u64,
    /// The change.
    pub change: CatalogueChange,
    /// How far it has come.
    pub state: ModelChangeState,
}

impl ModelChangeView {
    /// Returns why it was refused or failed, if it was.
    pub fn refusal(&self) -> Option<&Refusal> {
        match &self.state {
            ModelChangeState::Refused(refusal) => Some(refusal),
            _ => None,
        }
    }

    /// Whether it is being worked out or made.
    pub fn is_under_way(&self) -> bool {
        let state = &self.state;
        matches!(
            state,
            ModelChangeState::Reading | ModelChangeState::UnderWay(_)
        )
    }
}

/// How far a change of the models has come.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ModelChangeState {
    /// The models are read, and it is worked out what would change.
    Reading,
    /// It was worked out; nothing has changed yet.
    Planned(Box<CataloguePreview>),
    /// It was worked out: what is asked for is what serves.
    Nothing,
    /// It is being made.
    UnderWay(Handover),
    /// The new models serve.
    Done(ModelsChanged),
    /// It cannot be made, or failed; says why.
    Refused(Refusal),
    /// It was worked out and dropped.
    Dropped,
}

/// How a change of the models went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelsChanged {
    /// The time that it took.
    pub took: Duration,
    /// The time in which no request was begun, where the old engine had to end first.
    pub gap: Option<Duration>,
}
