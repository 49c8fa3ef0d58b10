//! The columns that run: where, in which numbers, and how much memory they take.

use std::sync::Arc;

use divisi_model::allocation::{Footprints, Matrix};
use divisi_model::ensemble::MemberPrecision;

/// The matrix that runs, with the numbers that each column is computed in and the memory that its
/// workers book.
pub(super) struct RunningColumns {
    pub matrix: Matrix,
    pub precisions: Vec<MemberPrecision>,
    pub footprints: Arc<Footprints>,
}
