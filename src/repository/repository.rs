//! A repository: lists and loads its models.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use divisi_model::ensemble::MemberPrecision;
use divisi_runtime::reading::ReadError;

use crate::config::ModelConfig;
use crate::described::{DescribedKind, DescribedModel};
use crate::error::LoadFault;
use crate::folder::{CONFIG, Root};
use crate::loaded::{LoadFailure, LoadReport, LoadedModel, with_users};
use crate::model::{ModelFormat, file_of};
use crate::order::{Uses, order};
use crate::overrides::Overrides;
use crate::versions::{KnownModels, load_versions};

/// A model repository.
#[derive(Clone, Debug)]
pub struct Repository {
    root: Root,
    precision: Option<MemberPrecision>,
}

/// The models to load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WantedModels<'n> {
    /// All models.
    All,
    /// The models of these names and the models of their steps. Loaded ensembles that use one of
    /// them are loaded again.
    Named(&'n [String]),
}

impl Repository {
    /// Opens the repository in a folder.
    ///
    /// # Errors
    /// The path cannot be read, or is not a folder.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        let root = Root::open(path)?;
        Ok(Repository {
            root,
            precision: None,
        })
    }

    /// Sets the precision of all models. `None` keeps the precisions of their files.
    #[must_use]
    pub fn computed_in(self, precision: Option<MemberPrecision>) -> Self {
        Repository { precision, ..self }
    }

    /// Returns whether the folder at `path` is a repository and not an ensemble: it has no
    /// manifest, but a folder with a configuration, a version or a manifest.
    pub fn is_at(path: &Path) -> bool {
        let Ok(root) = Root::open(path) else {
            return false;
        };
        let has_manifest = DescribedModel::MANIFESTS
            .iter()
            .any(|m| path.join(m).exists());
        let names = root.names().unwrap_or_default();
        let is_model = |name: &String| root.model(name).is_ok_and(|f| DescribedModel::is_at(&f));
        !has_manifest && names.iter().any(is_model)
    }

    /// Returns the repository and the name of a model from the path of the model's folder, or `None`
    /// if the path is not a model's folder.
    pub fn of_model(path: &Path) -> Option<(Self, String)> {
        let path = std::path::absolute(path).ok()?;
        let name = path.file_name()?.to_str()?.to_owned();
        let repository = Repository::open(path.parent()?).ok()?;
        let folder = repository.root.model(&name);
        let is_model = folder.is_ok_and(|folder| DescribedModel::is_at(&folder));
        is_model.then_some((repository, name))
    }

    /// Returns the file from which a model can be read by itself: its Divisi manifest, or the ONNX
    /// file of its highest served version.
    ///
    /// # Errors
    /// There is no such model, its configuration is wrong, or it is not one network in an ONNX file.
    pub fn file_of(&self, name: &str) -> Result<PathBuf, LoadFault> {
        let model = DescribedModel::read(self.root.model(name)?, name, None)?;
        let (folder, highest) = (&model.folder, model.versions.last());
        let (file, found) = match model.kind {
            DescribedKind::Manifest(file) => return folder.inside(file),
            DescribedKind::Ensemble => (CONFIG.to_owned(), "steps over other models"),
            DescribedKind::Network => {
                let version = highest.copied().unwrap_or(1);
                match file_of(folder, &model.config, version)? {
                    (ModelFormat::Onnx, file) => return folder.inside(&file),
                    (ModelFormat::Safetensors, file) => (file, "weights"),
                }
            }
        };
        let why = format!("expected an ONNX file or a Divisi manifest, found {found}");
        Err(folder.failed(&file, &why))
    }

    /// Returns its folder.
    pub fn path(&self) -> &Path {
        self.root.path()
    }

    /// Returns the names of its models, in order.
    ///
    /// # Errors
    /// The folder cannot be read, or has too many folders.
    pub fn names(&self) -> Result<Vec<String>, ReadError> {
        self.root.names()
    }

    /// Loads models. Ensemble steps use models from `loaded`, the previously loaded models, unless
    /// these are loaded again.
    ///
    /// # Errors
    /// The folder cannot be read. Errors of single models are in the report.
    pub fn load(
        &self,
        wanted: WantedModels<'_>,
        loaded: &[Arc<LoadedModel>],
    ) -> Result<LoadReport, ReadError> {
        self.load_with(wanted, loaded, &Overrides::new())
    }

    /// Loads models, some of them overridden.
    ///
    /// # Errors
    /// As for [`Repository::load`].
    pub(crate) fn load_with(
        &self,
        wanted: WantedModels<'_>,
        loaded: &[Arc<LoadedModel>],
        overrides: &Overrides,
    ) -> Result<LoadReport, ReadError> {
        let names = with_brought(self.names()?, overrides);
        let mut report = LoadReport::default();
        let described = self.described(wanted, &names, overrides, loaded, &mut report);
        let uses = described.iter();
        let uses: Uses = uses
            .map(|(name, model)| (name.clone(), model.uses()))
            .collect();
        let order = order(&uses);
        let circles = order.circles.into_iter().filter_map(|user| {
            Some(LoadFailure {
                name: user.name.clone(),
                version: None,
                fault: described.get(&user.name)?.circle(user),
            })
        });
        report.failures.extend(circles);
        let mut known = KnownModels::new(loaded, described.keys(), self.precision);
        for fault in &report.failures {
            known.failed(&fault.name, &fault.fault);
        }
        for model in order.ordered.iter().filter_map(|name| described.get(name)) {
            load_versions(model, &mut known, &mut report);
        }
        note_delays(&mut report.models);
        Ok(report)
    }

    /// Reads the configurations of the wanted models and of the models that they use.
    fn described<'r>(
        &'r self,
        wanted: WantedModels<'_>,
        names: &[String],
        overrides: &'r Overrides,
        loaded: &[Arc<LoadedModel>],
        report: &mut LoadReport,
    ) -> BTreeMap<String, DescribedModel<'r>> {
        let mut left: BTreeSet<String> = match wanted {
            WantedModels::All => names.iter().cloned().collect(),
            WantedModels::Named(named) => with_users(named, loaded),
        };
        let mut described = BTreeMap::new();
        let mut seen = BTreeSet::new();
        while let Some(name) = left.pop_first() {
            seen.insert(name.clone());
            match self.describe(&name, names, overrides) {
                Ok(model) => {
                    let is_there = |name: &String| loaded.iter().any(|m| m.name == *name);
                    let used = model.uses().into_iter();
                    let used = used.filter(|n| !seen.contains(n) && !is_there(n));
                    left.extend(used.filter(|name| names.contains(name)));
                    described.insert(name, model);
                }
                Err(fault) => report.failures.push(LoadFailure {
                    name,
                    version: None,
                    fault,
                }),
            }
        }
        described
    }

    fn describe<'r>(
        &'r self,
        name: &str,
        names: &[String],
        overrides: &'r Overrides,
    ) -> Result<DescribedModel<'r>, LoadFault> {
        if !names.iter().any(|known| known == name) {
            return Err(LoadFault::Unknown {
                name: name.to_owned(),
                known: names.iter().take(SHOWN).cloned().collect(),
            });
        }
        let by = overrides.get(name);
        let files = by.and_then(|by| by.files.as_ref());
        let root = files.map_or(&self.root, |files| &files.root);
        let json = by.and_then(|by| by.config.as_deref());
        DescribedModel::read(root.model(name)?, name, json)
    }

    /// Returns the Divisi manifest in a model's folder, or `None` if there is none.
    ///
    /// # Errors
    /// There is no such folder, or a link leads out of the repository.
    pub(crate) fn manifest(&self, name: &str) -> Result<Option<PathBuf>, LoadFault> {
        let folder = self.root.model(name)?;
        let manifest = DescribedModel::manifest(&folder)?;
        manifest.map(|file| folder.inside(file)).transpose()
    }

    /// Returns the configuration of a model, without loading it.
    ///
    /// # Errors
    /// There is no such model, or its configuration is wrong.
    pub fn config(&self, name: &str) -> Result<ModelConfig, LoadFault> {
        let names = self.names().unwrap_or_default();
        let none = Overrides::new();
        Ok(self.describe(name, &names, &none)?.config)
    }
}

/// Adds the names of models whose files came with a load request.
pub(crate) fn with_brought(mut names: Vec<String>, overrides: &Overrides) -> Vec<String> {
    let brought = overrides.iter().filter(|(_, by)| by.files.is_some());
    let new = brought.filter(|(name, _)| !names.contains(name));
    let new: Vec<String> = new.map(|(name, _)| name.clone()).collect();
    names.extend(new);
    names.sort_unstable();
    names
}

/// Notes models whose delays do not apply. One policy applies to all models, and another model's
/// policy has no delay.
fn note_delays(models: &mut [Arc<LoadedModel>]) {
    let mut own = models.iter().filter(|model| model.uses.is_empty());
    if own.all(|model| model.ensemble.policy.is_delay()) {
        return;
    }
    for model in models.iter_mut() {
        let policy = model.ensemble.policy;
        if model.uses.is_empty() && policy.is_delay() && policy.wait() > Duration::ZERO {
            let field = "dynamic_batching.max_queue_delay_microseconds";
            Arc::make_mut(model).not_honoured.push(field.into());
        }
    }
}

/// The maximum number of names in an error.
const SHOWN: usize = 16;
