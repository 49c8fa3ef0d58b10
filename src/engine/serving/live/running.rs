//! The columns that an engine runs now, as others ask for them.

use std::sync::Arc;

use divisi_model::allocation::{DoesNotFit, Footprints, Matrix};
use divisi_model::catalogue::Catalogue;
use divisi_model::ensemble::MemberPrecision;
use divisi_runtime::device::Ledger;

use super::engine::Engine;

impl Engine {
    /// The matrix that runs.
    pub fn matrix(&self) -> Matrix {
        self.columns.lock().matrix.clone()
    }

    /// Returns the numbers that each member is computed in, one a column of the matrix.
    pub fn precisions(&self) -> Vec<MemberPrecision> {
        self.columns.lock().precisions.clone()
    }

    /// Returns everything that is served, with members computed in the numbers that they are now.
    pub fn computed_catalogue(&self) -> Arc<Catalogue> {
        let precisions = self.precisions();
        match self.ensemble().precisions() == precisions {
            true => Arc::clone(self.catalogue()),
            false => Arc::new(self.catalogue().in_precisions(&precisions)),
        }
    }

    /// Returns the memory that each worker books.
    pub fn footprints(&self) -> Arc<Footprints> {
        Arc::clone(&self.columns.lock().footprints)
    }

    /// The ledger of a matrix that fits.
    pub fn ledger(&self, matrix: &Matrix) -> Result<Ledger, DoesNotFit> {
        self.footprints().book(matrix, &self.state.devices)
    }
}
