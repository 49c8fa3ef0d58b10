//! The requested place and settings of other models.

use std::sync::Arc;

use crate::serving::Setup;
use divisi_model::allocation::Matrix;
use divisi_model::catalogue::Catalogue;
use divisi_model::ensemble::PolicyKind;

use super::generation::Generation;

/// The requested place of other models.
pub(super) enum AskedPlace {
    /// Models that stay keep their places.
    AsBefore,
    /// The places of a matrix.
    Matrix(Matrix),
    /// The places and settings of a setup.
    Setup(Box<Setup>),
}

impl AskedPlace {
    /// Returns the requested setup of a catalogue, or `None` if its models are placed as before.
    pub(super) fn setup(&self, running: &Generation, catalogue: &Catalogue) -> Option<Setup> {
        match self {
            AskedPlace::AsBefore => None,
            AskedPlace::Matrix(matrix) => Some(Setup {
                matrix: matrix.clone(),
                precisions: catalogue.models().precisions(),
                ..own_settings(running, catalogue)
            }),
            AskedPlace::Setup(setup) => Some(Setup::clone(setup)),
        }
    }

    /// Returns the requested settings for a catalogue if they suit its models, else the settings of
    /// the models.
    pub(super) fn settings(
        &self,
        running: &Generation,
        catalogue: &Catalogue,
        asked: Option<Setup>,
    ) -> Setup {
        let asked =
            asked.filter(|setup| matches!(self, AskedPlace::Setup(_)) && suits(setup, catalogue));
        let settings = asked.unwrap_or_else(|| own_settings(running, catalogue));
        Setup {
            models: Arc::clone(catalogue.copies()),
            ..settings
        }
    }
}

fn suits(setup: &Setup, catalogue: &Catalogue) -> bool {
    let models = catalogue.models();
    setup.policy.check(&models.batch_sizes).is_ok()
        && models.check_combination(&setup.combination).is_ok()
}

/// Returns the settings of the models of a catalogue. A policy that an operator chose stays if it
/// suits them.
fn own_settings(running: &Generation, catalogue: &Catalogue) -> Setup {
    let models = catalogue.models();
    let ran = running.engine.setup();
    let is_chosen = ran.policy != running.catalogue.models().policy;
    let stays = |policy: &PolicyKind| is_chosen && policy.check(&models.batch_sizes).is_ok();
    Setup {
        policy: Some(ran.policy).filter(stays).unwrap_or(models.policy),
        combination: models.combination(),
        segment_size: models.segment_size,
        ..ran
    }
}
