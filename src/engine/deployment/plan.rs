//! The plan of a change from one setup to another. It is checked, and nothing has changed yet.
//!
//! A plan is applied whole, or refused as stale once something else runs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::serving::{Plan, Setup};
use divisi_model::catalogue::Catalogue;

use super::place::NoRoomBeside;
use super::{CatalogueChange, CataloguePreview, ReadState};

/// A planned change of the running setup. It can be applied until something else changes.
#[derive(Clone, Debug)]
pub struct ChangePlan {
    pub(super) old: Setup,
    pub(super) new: Setup,
    pub(super) work: PlanKind,
}

/// The work of a planned change.
#[derive(Clone, Debug)]
pub(super) enum PlanKind {
    /// Other workers or settings for the running models.
    Setup(Box<Plan>),
    /// Other models.
    Models(Box<ModelsPlan>),
}

/// A planned change of the models.
#[derive(Clone, Debug)]
pub(super) struct ModelsPlan {
    /// The change, or `None` if the plan is for a setup.
    pub change: Option<CatalogueChange>,
    /// The number of the generation for which the change was planned.
    pub from: u64,
    pub names: BTreeSet<String>,
    pub failures: BTreeMap<String, String>,
    /// The state of the source after the change, or `None` if no models were read.
    pub state: Option<ReadState>,
    /// The next models, or `None` if they are already served.
    pub next: Option<NextModels>,
}

/// The next models and their places.
#[derive(Clone, Debug)]
pub(super) struct NextModels {
    pub catalogue: Arc<Catalogue>,
    pub not_beside: Option<NoRoomBeside>,
    pub preview: CataloguePreview,
}

impl ChangePlan {
    /// Returns the setup that ran when the plan was made.
    pub fn old_setup(&self) -> &Setup {
        &self.old
    }

    /// Returns the setup to apply. Models that fail their warm-up leave it.
    pub fn new_setup(&self) -> &Setup {
        &self.new
    }

    /// Returns the plan for the running models, or `None` if other models are to be served.
    pub fn of_running_models(&self) -> Option<&Plan> {
        match &self.work {
            PlanKind::Setup(plan) => Some(plan),
            PlanKind::Models(_) => None,
        }
    }

    /// Returns the planned change of the models, or `None` if the plan is for a setup.
    pub fn change(&self) -> Option<&CatalogueChange> {
        match &self.work {
            PlanKind::Setup(_) => None,
            PlanKind::Models(plan) => plan.change.as_ref(),
        }
    }

    /// Returns whether the same setup is running with all its workers.
    pub fn is_empty(&self) -> bool {
        match &self.work {
            PlanKind::Setup(plan) => plan.is_empty(),
            PlanKind::Models(plan) => plan.next.is_none(),
        }
    }

    /// Returns whether the engines of old and new models fit side by side.
    pub(super) fn fits_beside(&self) -> bool {
        match &self.work {
            PlanKind::Setup(_) => true,
            PlanKind::Models(plan) => {
                let next = plan.next.as_ref();
                next.is_none_or(|next| next.not_beside.is_none())
            }
        }
    }

    /// Returns a preview of a change of the models. It is empty if the models stay.
    pub fn preview(&self) -> CataloguePreview {
        match &self.work {
            PlanKind::Setup(_) => CataloguePreview::default(),
            PlanKind::Models(plan) => {
                let next = plan.next.as_ref();
                next.map(|next| next.preview.clone()).unwrap_or_default()
            }
        }
    }
}

impl From<Plan> for ChangePlan {
    fn from(plan: Plan) -> Self {
        ChangePlan {
            old: plan.old_setup().clone(),
            new: plan.new_setup().clone(),
            work: PlanKind::Setup(Box::new(plan)),
        }
    }
}
