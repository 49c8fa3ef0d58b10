//! Changes to the models of a deployment from a session.

use std::sync::Arc;

use crate::{Refusal, SessionRefusal};
use divisi_engine::changes::{ChangeRefusal, Terms};
use divisi_engine::deployment::{CatalogueChange, Deployment, Handover};

use super::{LiveSession, load};

impl LiveSession {
    /// Returns the deployment whose models can be changed.
    pub(super) fn deployment(&self) -> Result<&Arc<Deployment>, Refusal> {
        let deployment = self.deployment.as_ref().map(|(deployment, _)| deployment);
        deployment.ok_or_else(|| SessionRefusal::ModelsFixed.into())
    }

    /// Returns the deployment that a change applies to. Undo works wherever models can change;
    /// other changes need a source of models.
    pub(super) fn models_to_change(
        &self,
        change: &CatalogueChange,
    ) -> Result<&Arc<Deployment>, Refusal> {
        let deployment = self.deployment()?;
        let goes_back = matches!(
            change,
            CatalogueChange::Undo | CatalogueChange::Redo | CatalogueChange::RollBack(_)
        );
        match goes_back || deployment.can_change() {
            true => Ok(deployment),
            false => Err(SessionRefusal::ModelsFixed.into()),
        }
    }

    pub(super) fn change_models(&self, change: CatalogueChange) -> Result<(), Refusal> {
        let deployment = self.models_to_change(&change)?;
        self.model_changes
            .make(deployment, (change, None), self.outcome_log())
    }

    pub(super) fn apply_models(
        &self,
        number: u64,
        handover: Handover,
        terms: Option<Terms>,
    ) -> Result<(), Refusal> {
        if let Some(terms) = &terms {
            terms.check().map_err(ChangeRefusal::Terms)?;
        }
        let deployment = self.deployment()?;
        let load = Arc::clone(&self.session.load);
        let hold = Box::new(move |held| load::hold(&load, held));
        let how = (handover, terms);
        self.model_changes
            .apply(deployment, number, how, hold, self.outcome_log())
    }

    /// Returns whether the change before the last one was a change of the models, so that there is
    /// no setup to undo.
    pub(super) fn undoes_models(&self) -> bool {
        let deployment = self.deployment.as_ref();
        let has_past = deployment.is_some_and(|(deployment, _)| deployment.can_undo());
        has_past && !self.session.changes.can_undo()
    }

    pub(super) fn redoes_models(&self) -> bool {
        let deployment = self.deployment.as_ref();
        let was_undone = deployment.is_some_and(|(deployment, _)| deployment.can_redo());
        was_undone && !self.session.changes.can_redo()
    }
}
