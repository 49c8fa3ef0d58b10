//! The running columns: their places, precisions and memory.

use std::sync::Arc;

use divisi_model::allocation::{Footprints, Matrix};
use divisi_model::ensemble::MemberPrecision;

/// The running matrix, with the precision of each column and the memory booked by its workers.
pub(super) struct RunningColumns {
    pub matrix: Matrix,
    pub precisions: Vec<MemberPrecision>,
    pub footprints: Arc<Footprints>,
}
