//! Models that a program manages together with their places.

use std::sync::Arc;

use crate::serving::Setup;
use divisi_model::allocation::Matrix;
use divisi_model::catalogue::{Catalogue, NewEntry};

use super::{CatalogueChange, CataloguePlan, Deployment, DeploymentError, Handover};

impl Deployment {
    /// Replaces the served models by `entries`, placed by `matrix`. New requests go to the new
    /// models; requests under way finish with the old ones. Returns `false` if these models already
    /// run with this matrix.
    ///
    /// # Errors
    /// The models do not form a catalogue, the matrix does not match them, or they do not fit next
    /// to the running models. The running models stay.
    pub fn serve(&self, entries: Vec<NewEntry>, matrix: Matrix) -> Result<bool, DeploymentError> {
        let mut wanted = self.changing.lock();
        let running = self.running();
        let catalogue = Catalogue::new(&self.name, entries.clone())?;
        let names = entries.iter().map(|entry| entry.name.clone()).collect();
        let served = running.catalogue.entries();
        let is_same = served.len() == entries.len()
            && served.iter().zip(&entries).all(|(served, entry)| {
                served.name() == entry.name && Arc::ptr_eq(served.ensemble(), &entry.ensemble)
            });
        if is_same && running.engine.matrix() == matrix {
            return Ok(false);
        }
        let setup = Setup {
            precisions: catalogue.models().precisions(),
            matrix,
            ..running.engine.setup()
        };
        let mut next = self.next_of(&running, entries, Some(Box::new(setup)))?;
        // The settings are those of the models, because other columns vote.
        next.settings = None;
        let plan = CataloguePlan {
            change: CatalogueChange::Scale,
            from: running.number,
            names,
            failures: wanted.failures.clone(),
            state: None,
            next: Some(next),
        };
        self.apply_to(&mut wanted, plan, Handover::Beside)?;
        Ok(true)
    }
}
