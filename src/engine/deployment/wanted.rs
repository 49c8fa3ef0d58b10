//! The models that a change requests, read from the source, with their places.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::serving::Setup;
use divisi_model::allocation::Matrix;
use divisi_model::catalogue::{Catalogue, CatalogueEntry, ModelCopy, NewEntry};

use super::asked::{AskedPlace, ModelsAskedFor, check_users};
use super::plan::{ChangePlan, ModelsPlan, NextModels, PlanKind};
use super::{
    CatalogueChange, CataloguePreview, Deployment, DeploymentError, Generation, ModelsRead,
    ModelsToRead, ReadAgain, ReadState, WantedNames, place, status, warmup,
};

/// The models that a change reads.
#[derive(Clone, Copy)]
pub(super) struct ModelsToPlan<'a> {
    pub change: &'a CatalogueChange,
    /// The state of an earlier read for the same change.
    pub after: Option<&'a ReadState>,
    /// The copies that stay out until they are requested by name.
    pub held: &'a [ModelCopy],
}

impl ModelsToPlan<'_> {
    /// Returns the copies that stay out: not those of a model that is loaded by name.
    fn held_off(&self) -> Vec<ModelCopy> {
        let is_loaded = |held: &&ModelCopy| match self.change {
            CatalogueChange::Load(name) => *held.name == **name,
            _ => false,
        };
        let held = self.held.iter().filter(|held| !is_loaded(held));
        held.cloned().collect()
    }
}

/// Returns the served entries of a generation.
pub(super) fn entries_of(generation: &Generation) -> Vec<NewEntry> {
    let entries = generation.catalogue.entries();
    entries.iter().map(Into::into).collect()
}

/// Returns whether a generation serves these entries, in this order.
fn is_served(running: &Generation, entries: &[NewEntry]) -> bool {
    let served = running.catalogue.entries();
    let mut both = served.iter().zip(entries);
    served.len() == entries.len()
        && both.all(|(served, entry)| {
            served.name() == entry.name && Arc::ptr_eq(served.ensemble(), &entry.ensemble)
        })
}

impl Deployment {
    /// Plans a setup: with the running models, or with models that are kept.
    ///
    /// # Errors
    /// The setup does not fit, or its models are no longer kept.
    pub(super) fn plan(&self, to: &Setup) -> Result<ChangePlan, DeploymentError> {
        let running = self.running();
        if running.serves(to) {
            return Ok(running.engine.plan(to)?.into());
        }
        let wanted = &mut self.changing.lock();
        self.plan_kept(wanted, &self.running(), to)
    }

    /// Plans a change of the models: the resulting models, columns and memory. The copies `held`
    /// stay out unless they are served or loaded by name.
    ///
    /// # Errors
    /// The change is not possible, even if the running engine ends first.
    pub(crate) fn plan_models(
        &self,
        change: &CatalogueChange,
        held: &[ModelCopy],
    ) -> Result<ChangePlan, DeploymentError> {
        let wanted = &mut self.changing.lock();
        wanted.cold.ask_again(change.model());
        let after = None;
        self.plan_change(
            wanted,
            ModelsToPlan {
                change,
                after,
                held,
            },
        )
    }

    /// Plans to serve `entries`, placed by `matrix`.
    ///
    /// # Errors
    /// The models do not form a catalogue, the matrix does not match them, or they do not fit next
    /// to the running models.
    pub(crate) fn plan_served(
        &self,
        entries: Vec<NewEntry>,
        matrix: Matrix,
    ) -> Result<ChangePlan, DeploymentError> {
        let wanted = &mut self.changing.lock();
        let running = self.running();
        if is_served(&running, &entries) {
            let setup = running.engine.setup().with_matrix(matrix);
            return Ok(running.engine.plan(&setup)?.into());
        }
        let models = ModelsAskedFor {
            names: entries.iter().map(|entry| entry.name.clone()).collect(),
            read: ModelsRead {
                entries,
                failures: wanted.failures.clone(),
                ..ModelsRead::default()
            },
        };
        self.plan_for(&running, models, AskedPlace::Matrix(matrix))
    }

    pub(super) fn plan_kept(
        &self,
        wanted: &mut WantedNames,
        running: &Generation,
        to: &Setup,
    ) -> Result<ChangePlan, DeploymentError> {
        let kept = self.archive.lock().find(&to.models).cloned();
        let kept = kept.ok_or(DeploymentError::NotKept)?;
        let models = ModelsAskedFor::again(&kept, &wanted.cold);
        let place = AskedPlace::Setup(Box::new(to.clone()));
        self.plan_for(running, models, place)
    }

    /// Plans a change under the lock.
    pub(super) fn plan_change(
        &self,
        wanted: &mut WantedNames,
        asked: ModelsToPlan<'_>,
    ) -> Result<ChangePlan, DeploymentError> {
        let running = self.running();
        let models = self.models_of(wanted, &running, asked)?;
        let mut plan = self.plan_for(&running, models, AskedPlace::AsBefore)?;
        if let PlanKind::Models(planned) = &mut plan.work {
            planned.change = Some(asked.change.clone());
        }
        Ok(plan)
    }

    fn plan_for(
        &self,
        running: &Generation,
        models: ModelsAskedFor,
        place: AskedPlace,
    ) -> Result<ChangePlan, DeploymentError> {
        let old = running.engine.setup();
        let (new, next) = match models.read.is_same(&entries_of(running)) {
            true => (old.clone(), None),
            false => {
                let (setup, next) = self.next_of(running, models.read.entries, place)?;
                (setup, Some(next))
            }
        };
        Ok(ChangePlan {
            old,
            new,
            work: PlanKind::Models(Box::new(ModelsPlan {
                change: None,
                from: running.number,
                names: models.names,
                failures: models.read.failures,
                state: models.read.state,
                next,
            })),
        })
    }

    fn models_of(
        &self,
        wanted: &WantedNames,
        running: &Generation,
        asked: ModelsToPlan<'_>,
    ) -> Result<ModelsAskedFor, DeploymentError> {
        let change = asked.change;
        if change.model().is_some() && self.source()?.is_polled() {
            return Err(DeploymentError::Polled);
        }
        let names = match change {
            CatalogueChange::Load(name) => {
                self.check_source()?;
                self.with(wanted, name)?
            }
            CatalogueChange::Unload { name, dependents } => {
                self.without(wanted, running, name, *dependents)?
            }
            CatalogueChange::Refresh => {
                self.check_source()?;
                self.source()?.names().into_iter().collect()
            }
        };
        let serving = entries_of(running);
        let read = self.read(
            wanted,
            ModelsToRead {
                names: &names,
                again: change.model().map_or(ReadAgain::All, ReadAgain::Named),
                served: &serving,
                after: asked.after,
            },
            &asked.held_off(),
        )?;
        if let CatalogueChange::Load(name) = change {
            if let Some(reason) = read.failures.get(name) {
                self.check_source()?;
                return Ok(ModelsAskedFor::refused(wanted, serving, name, reason));
            }
            check_users(wanted, running, name, &read)?;
        }
        Ok(ModelsAskedFor { names, read })
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
        held: &[ModelCopy],
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
        let is_held = |entry: &NewEntry| {
            let number = self.archive.lock().number(entry);
            number.is_some_and(|number| held.iter().any(|held| held.copy == number))
        };
        read.hold_back(is_held, serving);
        self.keep_notices(&mut read.notices);
        Ok(read)
    }

    fn next_of(
        &self,
        running: &Generation,
        entries: Vec<NewEntry>,
        place: AskedPlace,
    ) -> Result<(Setup, NextModels), DeploymentError> {
        let numbers = self.archive.lock().numbers(&entries);
        let catalogue = Catalogue::new(&self.name, entries)?.with_copies(&numbers);
        let catalogue = Arc::new(catalogue);
        let asked = place.setup(running, &catalogue);
        let placed = place::next(
            running,
            &catalogue,
            asked.as_ref(),
            &self.devices,
            self.options,
        );
        let placement = placed.map_err(|error| self.or_without(running, &catalogue, error))?;
        let (old, old_matrix) = (&running.catalogue, running.engine.matrix());
        let preview = CataloguePreview {
            memory: placement.memory,
            not_beside: placement.not_beside.as_ref().map(ToString::to_string),
            ..CataloguePreview::between(old, &old_matrix, &catalogue, &placement.matrix)
        };
        let setup = Setup {
            matrix: placement.matrix,
            precisions: placement.precisions,
            ..place.settings(running, &catalogue, asked)
        };
        let next = NextModels {
            catalogue,
            not_beside: placement.not_beside,
            preview,
        };
        Ok((setup, next))
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
