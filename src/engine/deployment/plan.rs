//! The plan of a change of the models: models read, places found, memory counted, nothing changed
//! yet.
//!
//! A plan is applied whole, or refused as stale once another generation runs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::serving::Setup;
use divisi_model::allocation::Matrix;
use divisi_model::catalogue::{Catalogue, NewEntry};
use divisi_model::ensemble::MemberPrecision;

use super::place::NoRoomBeside;
use super::{CatalogueChange, CataloguePreview, ReadState};

/// A planned change. It can be applied until something else changes.
pub struct CataloguePlan {
    /// The change.
    pub(super) change: CatalogueChange,
    /// The number of the generation for which the change was planned.
    pub(super) from: u64,
    pub(super) names: BTreeSet<String>,
    pub(super) failures: BTreeMap<String, String>,
    /// The state of the source after the change, or `None` if no models were read.
    pub(super) state: Option<ReadState>,
    /// The next models, or `None` if they are already served.
    pub(super) next: Option<NextCatalogue>,
}

/// The next models and their places.
pub(super) struct NextCatalogue {
    pub catalogue: Arc<Catalogue>,
    pub matrix: Matrix,
    /// The precision of each column.
    pub precisions: Vec<MemberPrecision>,
    /// The earlier settings of the models, or `None` if they were not served before.
    pub settings: Option<Box<Setup>>,
    pub not_beside: Option<NoRoomBeside>,
    pub preview: CataloguePreview,
}

impl CataloguePlan {
    /// Returns the number of the generation for which the change was planned.
    pub fn from_generation(&self) -> u64 {
        self.from
    }

    /// Returns the change.
    pub fn change(&self) -> &CatalogueChange {
        &self.change
    }

    /// Returns whether the served models stay unchanged.
    pub fn is_empty(&self) -> bool {
        self.next.is_none()
    }

    /// Returns a preview of the change.
    pub fn preview(&self) -> CataloguePreview {
        let next = self.next.as_ref();
        next.map(|next| next.preview.clone()).unwrap_or_default()
    }
}

/// The models before a change, with their setup.
#[derive(Clone)]
pub(super) struct PastCatalogue {
    pub names: BTreeSet<String>,
    pub failures: BTreeMap<String, String>,
    pub entries: Vec<NewEntry>,
    pub setup: Setup,
}
