//! A change of the served models as a console shows it: planned, in progress, done or refused.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use divisi_engine::deployment::{CatalogueChange, CataloguePreview, Handover};

use super::Refusal;

/// The last requested change of the models.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelChangeView {
    /// Counted from 1 since the start of the session; never reused.
    pub number: u64,
    /// The change.
    pub change: CatalogueChange,
    /// How far the change has come.
    pub state: ModelChangeState,
}

impl ModelChangeView {
    /// Returns the reason if the change was refused or failed.
    pub fn refusal(&self) -> Option<&Refusal> {
        match &self.state {
            ModelChangeState::Refused(refusal) => Some(refusal),
            _ => None,
        }
    }

    /// Returns whether the change is being planned or made.
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
    /// The models are being read and the change planned.
    Reading,
    /// The change is planned; nothing has changed yet.
    Planned(Box<CataloguePreview>),
    /// The change is planned, and the served models already match it.
    Nothing,
    /// The change is being made.
    UnderWay(Handover),
    /// The new models serve.
    Done(ModelsChanged),
    /// The change is not possible or failed, with the reason.
    Refused(Refusal),
    /// The planned change was dropped.
    Dropped,
}

/// The outcome of a change of the models.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelsChanged {
    /// The duration of the change.
    pub took: Duration,
    /// The time without newly started requests, if the old engine had to end first.
    pub gap: Option<Duration>,
}
