//! The models that a change requests, read from the source, with their places.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::serving::Setup;
use divisi_model::catalogue::{Catalogue, CatalogueEntry, NewEntry};

use super::place::Placement;
use super::plan::{NextCatalogue, PastCatalogue};
use super::{
    CatalogueChange, CataloguePlan, CataloguePreview, ColdModels, Deployment, DeploymentError,
    Generation, ModelsRead, ModelsToRead, ReadAgain, ReadState, WantedNames, place, status, warmup,
};

/// The requested models of a change.
struct ModelsAskedFor {
    names: BTreeSet<String>,
    read: ModelsRead,
    /// The setup of the models when they ran before.
    setup: Option<Box<Setup>>,
}

impl ModelsAskedFor {
    /// Requests the previous models, without those that last failed their warm-up.
    fn again(past: &PastCatalogue, cold: &ColdModels) -> Self {
        let mut read = ModelsRead {
            entries: past.entries.clone(),
            failures: past.failures.clone(),
            ..ModelsRead::default()
        };
        warmup::refuse(&mut read, cold.failed_among(&past.entries));
        ModelsAskedFor {
            names: past.names.clone(),
            read,
            setup: Some(Box::new(past.setup.clone())),
        }
    }

    /// Requests the served models, and records why the model called `name` cannot be loaded.
    fn refused(wanted: &WantedNames, serving: Vec<NewEntry>, name: &str, reason: &str) -> Self {
        let mut failures = wanted.failures.clone();
        failures.insert(name.to_owned(), reason.to_owned());
        ModelsAskedFor {
            names: wanted.names.clone(),
            read: ModelsRead {
                entries: serving,
                failures,
                ..ModelsRead::default()
            },
            setup: None,
        }
    }
}

/// Returns the served entries of a generation.
pub(super) fn entries_of(generation: &Generation) -> Vec<NewEntry> {
    let entries = generation.catalogue.entries();
    entries.iter().map(Into::into).collect()
}

/// Checks that the served users of the loaded model can be served with it, or keep using versions
/// of it that stay.
fn check_users(
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

impl Deployment {
    /// Plans a change under the lock. `after` is the state of an earlier read for the same change.
    pub(super) fn plan_for(
        &self,
        wanted: &WantedNames,
        change: CatalogueChange,
        after: Option<&ReadState>,
    ) -> Result<CataloguePlan, DeploymentError> {
        let running = self.running();
        let models = self.models_of(wanted, &running, (&change, after))?;
        let next = match models.read.is_same(&entries_of(&running)) {
            true => None,
            false => Some(self.next_of(&running, models.read.entries, models.setup)?),
        };
        Ok(CataloguePlan {
            change,
            from: running.number,
            names: models.names,
            failures: models.read.failures,
            state: models.read.state,
            next,
        })
    }

    fn models_of(
        &self,
        wanted: &WantedNames,
        running: &Generation,
        (change, after): (&CatalogueChange, Option<&ReadState>),
    ) -> Result<ModelsAskedFor, DeploymentError> {
        let names = match change {
            CatalogueChange::Undo | CatalogueChange::RollBack(_) => {
                let before = wanted.past.to_undo().ok_or(DeploymentError::NoUndo)?;
                return Ok(ModelsAskedFor::again(before, &wanted.cold));
            }
            CatalogueChange::Redo => {
                let after = wanted.past.to_redo().ok_or(DeploymentError::NoRedo)?;
                return Ok(ModelsAskedFor::again(after, &wanted.cold));
            }
            CatalogueChange::Load(_) | CatalogueChange::Unload { .. }
                if self.source()?.is_polled() =>
            {
                return Err(DeploymentError::Polled);
            }
            CatalogueChange::Load(name) => {
                self.check_source()?;
                self.with(wanted, name)?
            }
            CatalogueChange::Unload { name, dependents } => {
                self.without(wanted, running, name, *dependents)?
            }
            // Only [`Deployment::serve`] has the models for this change.
            CatalogueChange::Scale => return Err(DeploymentError::Fixed),
            CatalogueChange::Refresh => {
                self.check_source()?;
                self.source()?.names().into_iter().collect()
            }
        };
        let again = change.model().map_or(ReadAgain::All, ReadAgain::Named);
        let serving = entries_of(running);
        let read = self.read(
            wanted,
            ModelsToRead {
                names: &names,
                again,
                served: &serving,
                after,
            },
        )?;
        if let CatalogueChange::Load(name) = change {
            if let Some(reason) = read.failures.get(name) {
                self.check_source()?;
                return Ok(ModelsAskedFor::refused(wanted, serving, name, reason));
            }
            check_users(wanted, running, name, &read)?;
        }
        Ok(ModelsAskedFor {
            names,
            read,
            setup: None,
        })
    }

    /// Checks that the models can be read now. Only then does a missing name or an unreadable file
    /// say anything about a model.
    pub(super) fn check_source(&self) -> Result<(), DeploymentError> {
        let checked = self.source()?.check();
        checked.map_err(DeploymentError::Unreadable)
    }

    fn with(&self, wanted: &WantedNames, name: &str) -> Result<BTreeSet<String>, DeploymentError> {
        if !self.source()?.names().iter().any(|known| known == name) {
            return Err(DeploymentError::Unknown(name.to_owned()));
        }
        let mut names = wanted.names.clone();
        names.insert(name.to_owned());
        Ok(names)
    }

    fn without(
        &self,
        wanted: &WantedNames,
        running: &Generation,
        name: &str,
        dependents: bool,
    ) -> Result<BTreeSet<String>, DeploymentError> {
        self.source()?;
        let is_served = || running.catalogue.find(name, None).is_some();
        if !wanted.names.contains(name) && !wanted.failures.contains_key(name) && !is_served() {
            return Err(DeploymentError::Unknown(name.to_owned()));
        }
        let users = status::users_of(&running.catalogue, name);
        if let (false, Some(by)) = (dependents, users.first()) {
            return Err(DeploymentError::used(name, by));
        }
        let mut names = wanted.names.clone();
        if !dependents {
            // Models that were loaded only as its parts stay.
            names.extend(status::parts_of(&running.catalogue, name));
        }
        names.remove(name);
        names.retain(|other| !users.contains(other));
        Ok(names)
    }

    fn read(
        &self,
        wanted: &WantedNames,
        asked: ModelsToRead<'_>,
    ) -> Result<ModelsRead, DeploymentError> {
        let serving = asked.served;
        let source = self.source()?;
        let mut read = source.read(asked);
        let there = source.names();
        let mut failures = wanted.failures.clone();
        failures.retain(|name, _| there.contains(name));
        read.keep_failures(&failures, asked.again, serving);
        let cold = wanted.cold.failed_among(&read.entries);
        warmup::refuse(&mut read, cold);
        read.keep_served(asked.names, serving);
        wanted.taken_back.hold_back(&mut read.entries, serving);
        self.keep_notices(&mut read.notices);
        Ok(read)
    }

    pub(super) fn next_of(
        &self,
        running: &Generation,
        entries: Vec<NewEntry>,
        setup: Option<Box<Setup>>,
    ) -> Result<NextCatalogue, DeploymentError> {
        let catalogue = Arc::new(Catalogue::new(&self.name, entries)?);
        let wanted = setup.as_deref();
        let placed = place::next(running, &catalogue, wanted, &self.devices, self.options);
        let placement = placed.map_err(|error| self.or_without(running, &catalogue, error))?;
        let Placement {
            matrix,
            precisions,
            not_beside,
            memory,
        } = placement;
        let old = (&*running.catalogue, &running.engine.matrix());
        let preview = CataloguePreview {
            memory,
            not_beside: not_beside.as_ref().map(ToString::to_string),
            ..CataloguePreview::between(old, (&catalogue, &matrix))
        };
        Ok(NextCatalogue {
            catalogue,
            matrix,
            precisions,
            settings: setup,
            not_beside,
            preview,
        })
    }

    /// Adds to an error of placement the served models that would have to be unloaded.
    fn or_without(
        &self,
        running: &Generation,
        catalogue: &Catalogue,
        error: DeploymentError,
    ) -> DeploymentError {
        let DeploymentError::Placement(reason) = error else {
            return error;
        };
        let served = running.catalogue.entries().iter();
        let mut names: Vec<&str> = served.map(|entry| entry.name()).collect();
        names.dedup();
        let would_fit = |name: &&str| self.fits_without(running, catalogue, name);
        let would: Vec<&str> = names.into_iter().filter(would_fit).collect();
        match would.as_slice() {
            [] => DeploymentError::Placement(reason),
            would => DeploymentError::Alone {
                reason: Box::new(reason),
                would: would.join("`, or `"),
            },
        }
    }

    fn fits_without(&self, running: &Generation, catalogue: &Catalogue, name: &str) -> bool {
        let users = status::users_of(&running.catalogue, name);
        let stays = |entry: &&CatalogueEntry| {
            entry.name() != name && !users.iter().any(|user| user == entry.name())
        };
        let entries = catalogue.entries().iter().filter(stays);
        let Ok(smaller) = Catalogue::new(&self.name, entries.map(Into::into).collect()) else {
            return false;
        };
        place::next(running, &smaller, None, &self.devices, self.options).is_ok()
    }
}
