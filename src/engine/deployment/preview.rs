//! The columns and the memory after a change of the models, computed before it is applied.

use serde::{Deserialize, Serialize};

use divisi_model::allocation::Matrix;
use divisi_model::catalogue::{Catalogue, CatalogueEntry};
use divisi_model::ensemble::BatchSize;
use divisi_runtime::device::MemberIndex;

/// The effects of a change of the models.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CataloguePreview {
    /// Added models, with their versions.
    pub came: Vec<String>,
    /// Removed models.
    pub went: Vec<String>,
    /// Added columns of the matrix.
    pub columns_came: Vec<String>,
    /// Removed columns.
    pub columns_went: Vec<String>,
    /// Columns that stay with other places or batch sizes.
    pub moved: Vec<String>,
    /// The memory of each device.
    pub memory: Vec<MemoryChange>,
    /// The reason why the old engine has to end first, or `None` if both engines fit side by side.
    pub not_beside: Option<String>,
}

/// The memory of a device in a change of the models, in bytes. Devices that share a memory space
/// have equal values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryChange {
    /// The device.
    pub device: String,
    /// Booked now.
    pub now: u64,
    /// Booked while both engines run, or `None` if they do not fit.
    pub during: Option<u64>,
    /// Booked after the change.
    pub after: u64,
    /// The device's whole memory.
    pub bytes: u64,
}

impl CataloguePreview {
    /// Compares the models and columns of two catalogues.
    pub(super) fn between(
        old: &Catalogue,
        old_matrix: &Matrix,
        new: &Catalogue,
        new_matrix: &Matrix,
    ) -> Self {
        let predecessors = new.predecessors(old);
        let (before, after) = (old_matrix.frame(), new_matrix.frame());
        let went = MemberIndex::enumerate(&before.members)
            .filter(|(column, _)| !predecessors.contains(&Some(*column)));
        let columns = || MemberIndex::enumerate(&after.members).zip(&predecessors);
        let came = columns().filter(|(_, before)| before.is_none());
        let moved = columns().filter(|((column, _), before)| {
            before.is_some_and(|b| places(old_matrix, b) != places(new_matrix, *column))
        });
        CataloguePreview {
            came: beyond(new, old),
            went: beyond(old, new),
            columns_came: came.map(|((_, name), _)| name.clone()).collect(),
            columns_went: went.map(|(_, name)| name.clone()).collect(),
            moved: moved.map(|((_, name), _)| name.clone()).collect(),
            ..CataloguePreview::default()
        }
    }
}

/// Returns the entries of a catalogue that are missing in the other, or have another network there.
fn beyond(of: &Catalogue, other: &Catalogue) -> Vec<String> {
    let same = |a: &CatalogueEntry, b: &CatalogueEntry| {
        let (one, two) = (a.ensemble(), b.ensemble());
        a.name() == b.name() && a.version() == b.version() && std::sync::Arc::ptr_eq(one, two)
    };
    let entries = of.entries().iter();
    let beyond = entries.filter(|entry| !other.entries().iter().any(|known| same(entry, known)));
    beyond
        .map(|entry| format!("{} version {}", entry.name(), entry.version()))
        .collect()
}

/// Returns the places and batch sizes of a column.
fn places(matrix: &Matrix, column: MemberIndex) -> Vec<(&str, BatchSize)> {
    let (frame, column) = (matrix.frame(), matrix.column(column));
    let name = |device| frame.device(device).unwrap_or_default();
    let placed = column.filter_map(|(device, size)| Some((name(device), size?)));
    placed.collect()
}
