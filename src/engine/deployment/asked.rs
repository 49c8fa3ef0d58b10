//! The requested models of a change, with their place and settings.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::serving::Setup;
use divisi_model::allocation::Matrix;
use divisi_model::catalogue::{Catalogue, NewEntry};
use divisi_model::ensemble::PolicyKind;

use super::archive::KeptModels;
use super::generation::Generation;
use super::{ColdModels, DeploymentError, ModelsRead, WantedNames, status, warmup};

/// The requested models of a change.
pub(super) struct ModelsAskedFor {
    pub names: BTreeSet<String>,
    pub read: ModelsRead,
}

impl ModelsAskedFor {
    /// Requests kept models, without those that last failed their warm-up.
    pub(super) fn again(kept: &KeptModels, cold: &ColdModels) -> Self {
        let mut read = ModelsRead {
            entries: kept.entries.clone(),
            failures: kept.failures.clone(),
            ..ModelsRead::default()
        };
        warmup::refuse(&mut read, cold.failed_among(&kept.entries));
        ModelsAskedFor {
            names: kept.names.clone(),
            read,
        }
    }

    /// Requests the served models, and records why the model called `name` cannot be loaded.
    pub(super) fn refused(
        wanted: &WantedNames,
        serving: Vec<NewEntry>,
        name: &str,
        reason: &str,
    ) -> Self {
        let mut failures = wanted.failures.clone();
        failures.insert(name.to_owned(), reason.to_owned());
        ModelsAskedFor {
            names: wanted.names.clone(),
            read: ModelsRead {
                entries: serving,
                failures,
                ..ModelsRead::default()
            },
        }
    }
}

/// Checks that the served users of the loaded model can be served with it, or keep using versions
/// of it that stay.
pub(super) fn check_users(
    wanted: &WantedNames,
    running: &Generation,
    name: &str,
    read: &ModelsRead,
) -> Result<(), DeploymentError> {
    let lost = status::versions_lost(&running.catalogue, name, &read.entries);
    let is_broken = |user: &String| {
        // A user that already failed for the same reason is served as before. This load only takes
        // away its parts.
        wanted.failures.get(user) != read.failures.get(user)
            || status::is_part_of_any(&lost, &running.catalogue, user)
    };
    let users = status::users_of(&running.catalogue, name).into_iter();
    let mut broken = users.filter(is_broken);
    match broken.find_map(|user| Some((read.failures.get(&user)?.clone(), user))) {
        None => Ok(()),
        Some((reason, by)) => Err(DeploymentError::Breaks {
            name: name.to_owned(),
            by,
            reason,
        }),
    }
}

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
