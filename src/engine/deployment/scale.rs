//! Models that a program decides on, which knows their places.

use crate::serving::Setup;
use divisi_model::allocation::Matrix;
use divisi_model::catalogue::{Catalogue, NewEntry};

use super::{CatalogueChange, CataloguePlan, Deployment, DeploymentError, Handover};

impl Deployment {
    /// Serves these models by this matrix from now on, whatever was served before: requests that come
    /// from one moment on go to them, those under way end as they began. Returns `false` if that is
    /// what is served.
    ///
    /// # Errors
    /// The models are no catalogue, the matrix is not of them, or they do not fit beside those that run,
    /// which go on.
    pub fn serve(&self, entries: Vec<NewEntry>, matrix: Matrix) -> Result<bool, DeploymentError> {
        let mut wanted = self.changing.lock();
        let running = self.running();
        let catalogue = Catalogue::new(&self.name, entries.clone())?;
        let names = entries.iter().map(|entry| entry.name.clone()).collect();
        let same = running.catalogue.entries().iter().map(|e| e.name());
        if running.engine.matrix() == matrix && same.eq(entries.iter().map(|e| &*e.name)) {
            return Ok(false);
        }
        let setup = Setup {
            precisions: catalogue.models().precisions(),
            matrix,
            ..running.engine.setup()
        };
        let mut next = self.next_of(&running, entries, Some(Box::new(setup)))?;
        // Settings are those of the models: other columns vote.
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
