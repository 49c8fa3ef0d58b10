//! Access to the running columns of an engine.

use std::sync::Arc;

use divisi_model::allocation::{DoesNotFit, Footprints, Matrix};
use divisi_model::catalogue::Catalogue;
use divisi_model::ensemble::MemberPrecision;
use divisi_runtime::device::Ledger;

use super::engine::Engine;

impl Engine {
    /// Returns the running matrix.
    pub fn matrix(&self) -> Matrix {
        self.columns.lock().matrix.clone()
    }

    /// Returns the precision of each member, one per column of the matrix.
    pub fn precisions(&self) -> Vec<MemberPrecision> {
        self.columns.lock().precisions.clone()
    }

    /// Returns the served catalogue with the members' current precisions.
    pub fn computed_catalogue(&self) -> Arc<Catalogue> {
        let precisions = self.precisions();
        match self.ensemble().precisions() == precisions {
            true => Arc::clone(self.catalogue()),
            false => Arc::new(self.catalogue().in_precisions(&precisions)),
        }
    }

    /// Returns the memory booked by each worker.
    pub fn footprints(&self) -> Arc<Footprints> {
        Arc::clone(&self.columns.lock().footprints)
    }

    /// Returns the ledger of a matrix that fits.
    pub fn ledger(&self, matrix: &Matrix) -> Result<Ledger, DoesNotFit> {
        self.footprints().book(matrix, &self.state.devices)
    }
}
