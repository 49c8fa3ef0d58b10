//! A change of what is served, worked out before anything changes: models read, places found, memory
//! counted.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::serving::Setup;
use divisi_model::allocation::Matrix;
use divisi_model::catalogue::{Catalogue, NewEntry};
use divisi_model::ensemble::MemberPrecision;

use super::place::NoRoomBeside;
use super::{CatalogueChange, CataloguePreview, ReadState};

/// A change that is worked out and can be applied, as long as nothing else changes.
pub struct CataloguePlan {
    /// The change.
    pub(super) change: CatalogueChange,
    /// The number of the generation that it was worked out for.
    pub(super) from: u64,
    pub(super) names: BTreeSet<String>,
    pub(super) failures: BTreeMap<String, String>,
    /// The state of the source once it is applied, where models were read.
    pub(super) state: Option<ReadState>,
    /// The models that would be served, or `None` if those are served.
    pub(super) next: Option<NextCatalogue>,
}

/// The models that would be served, and where.
pub(super) struct NextCatalogue {
    pub catalogue: Arc<Catalogue>,
    pub matrix: Matrix,
    /// The numbers that each column is computed in.
    pub precisions: Vec<MemberPrecision>,
    /// The settings of then, where it was served before.
    pub settings: Option<Box<Setup>>,
    pub not_beside: Option<NoRoomBeside>,
    pub preview: CataloguePreview,
}

impl CataloguePlan {
    /// Returns the number of the generation that it was worked out for.
    pub fn from(&self) -> u64 {
        self.from
    }

    /// Returns the change.
    pub fn change(&self) -> &CatalogueChange {
        &self.change
    }

    /// Whether the models that serve stay as they are.
    pub fn is_empty(&self) -> bool {
        self.next.is_none()
    }

    /// Returns the changes that it would make.
    pub fn preview(&self) -> CataloguePreview {
        let next = self.next.as_ref();
        next.map(|next| next.preview.clone()).unwrap_or_default()
    }
}

/// The models that were served before a change, with where they ran.
#[derive(Clone)]
pub(super) struct PastCatalogue {
    pub names: BTreeSet<String>,
    pub failures: BTreeMap<String, String>,
    pub entries: Vec<NewEntry>,
    pub setup: Setup,
}
