//! A model as its folder describes it, before loading.

use crate::config::{ModelConfig, NamedRunner, VersionPolicy};
use crate::error::LoadFault;
use crate::folder::CONFIG;
use crate::folder::ModelFolder;
use crate::order::CircleUser;
use crate::text_format::quoted;

/// A model's folder with its configuration and versions.
pub(crate) struct DescribedModel<'r> {
    pub(crate) name: String,
    pub(crate) folder: ModelFolder<'r>,
    pub(crate) config: ModelConfig,
    /// The versions selected by its policy, ascending.
    pub(crate) versions: Vec<u64>,
    pub(crate) kind: DescribedKind,
}

/// The kinds of models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DescribedKind {
    /// A network's file.
    Network,
    /// Steps over other models.
    Ensemble,
    /// A Divisi manifest, by its file's name.
    Manifest(&'static str),
}

impl<'r> DescribedModel<'r> {
    /// The names of Divisi manifests.
    pub(crate) const MANIFESTS: [&'static str; 2] = ["ensemble.toml", "pipeline.toml"];

    /// Returns whether a folder is a model's folder.
    pub(crate) fn is_at(folder: &ModelFolder<'_>) -> bool {
        let has_config = folder.find(CONFIG).map(|found| found.is_some());
        let has_manifest = || Self::manifest(folder).map(|found| found.is_some());
        let has_versions = || folder.versions().map(|versions| !versions.is_empty());
        is_there(has_config) || is_there(has_manifest()) || is_there(has_versions())
    }

    /// Returns the Divisi manifest in a folder, or `None` if there is none.
    pub(crate) fn manifest(folder: &ModelFolder<'_>) -> Result<Option<&'static str>, LoadFault> {
        for manifest in Self::MANIFESTS {
            if folder.find(manifest)?.is_some() {
                return Ok(Some(manifest));
            }
        }
        Ok(None)
    }

    /// Reads the configuration of the model `name`. `json`, if given, replaces its file.
    pub(crate) fn read(
        folder: ModelFolder<'r>,
        name: &str,
        json: Option<&str>,
    ) -> Result<Self, LoadFault> {
        let has_config = json.is_some() || folder.find(CONFIG)?.is_some();
        let folder = match json {
            Some(_) => folder.with_other_config(),
            None => folder,
        };
        let config = match (json, has_config) {
            (Some(json), _) => ModelConfig::parse_json(&folder.display(CONFIG), json)?,
            (None, true) => ModelConfig::parse(&folder.display(CONFIG), &folder.text(CONFIG)?)?,
            (None, false) => ModelConfig::default(),
        };
        if let Some(other) = config.name.as_ref().filter(|n| !n.is_empty() && *n != name) {
            let why = format!("name: expected `{name}`, the name of its folder, found `{other}`");
            return Err(folder.wrong(config.lines.name, why));
        }
        let kind = match (Self::manifest(&folder)?, &config.steps) {
            (Some(file), _) if !has_config => DescribedKind::Manifest(file),
            (_, Some(_)) => DescribedKind::Ensemble,
            (_, None) => DescribedKind::Network,
        };
        check_kind(&folder, &config, kind)?;
        let versions = versions(&folder, &config, kind)?;
        Ok(DescribedModel {
            name: name.to_owned(),
            folder,
            config,
            versions,
            kind,
        })
    }

    /// Returns the names of the models that its steps use.
    pub(crate) fn uses(&self) -> Vec<String> {
        let steps = self.config.steps.iter().flatten();
        steps.map(|step| step.model.clone()).collect()
    }

    /// Returns the error of a step of this model that leads to a cycle.
    pub(crate) fn circle(&self, user: CircleUser) -> LoadFault {
        let mut steps = self.config.steps.iter().flatten();
        let step = steps.find(|step| step.model == user.used);
        let (used, circle) = (&user.used, user.circle.join(" → "));
        let why = format!("step `{used}`: ensembles use each other in a cycle: {circle}");
        self.folder.wrong(step.map_or(1, |step| step.line), why)
    }
}

/// Returns whether an entry exists. A link that may not be followed also counts: it belongs to a
/// model that cannot be loaded.
fn is_there(found: Result<bool, LoadFault>) -> bool {
    match found {
        Ok(is_there) => is_there,
        Err(fault) => matches!(fault, LoadFault::Link(_)),
    }
}

/// Checks that the platform and backend are `ensemble` exactly if there are steps.
fn check_kind(
    folder: &ModelFolder<'_>,
    config: &ModelConfig,
    kind: DescribedKind,
) -> Result<(), LoadFault> {
    let (ensemble, other): (Vec<_>, Vec<_>) = config.runners().partition(|r| r.name == "ensemble");
    let ensemble = ensemble.first().map(|runner| runner.line);
    let (line, why) = match (kind, ensemble, other.first()) {
        (DescribedKind::Network, Some(line), None) => {
            let why = "ensemble_scheduling: expected the steps of the ensemble, found none";
            (line, why.to_owned())
        }
        (DescribedKind::Network, Some(_), Some(other)) => (other.line, not_ensemble(other, "")),
        (DescribedKind::Ensemble, _, Some(other)) => {
            (other.line, not_ensemble(other, ", since there are steps"))
        }
        (DescribedKind::Ensemble, line, None)
            if config.inputs.is_empty() || config.outputs.is_empty() =>
        {
            let why = "expected the inputs and outputs of the ensemble, found none";
            (line.unwrap_or(1), why.to_owned())
        }
        _ => return Ok(()),
    };
    Err(folder.wrong(line, why))
}

fn not_ensemble(runner: &NamedRunner<'_>, since: &str) -> String {
    let (field, found) = (runner.field, quoted(runner.name));
    format!("{field}: expected `ensemble`{since}, found `{found}`")
}

/// Returns the served versions.
fn versions(
    folder: &ModelFolder<'_>,
    config: &ModelConfig,
    kind: DescribedKind,
) -> Result<Vec<u64>, LoadFault> {
    let mut there = match kind {
        DescribedKind::Manifest(_) => vec![1],
        DescribedKind::Network | DescribedKind::Ensemble => folder.versions()?,
    };
    if there.is_empty() && kind == DescribedKind::Ensemble {
        // Copying often drops the empty folder of a version.
        there.push(1);
    }
    let selected = config.versions.select(&there);
    if selected.is_empty() {
        let there: Vec<String> = there.iter().map(u64::to_string).collect();
        let why = match there.is_empty() {
            true => "expected a folder for each version, such as `1`, found none".to_owned(),
            false => return Err(none_selected(folder, config, &there)),
        };
        return Err(folder.failed("", &why));
    }
    Ok(selected)
}

/// Returns the error of a policy that selects no existing version.
fn none_selected(folder: &ModelFolder<'_>, config: &ModelConfig, there: &[String]) -> LoadFault {
    let there = there.join(", ");
    let mut why = format!("version_policy: expected at least one of the versions {there}");
    if let VersionPolicy::Specific(wanted) = &config.versions {
        let wanted: Vec<String> = wanted.iter().map(u64::to_string).collect();
        why += &format!(", found {}", wanted.join(", "));
    }
    folder.wrong(config.lines.version_policy, why)
}
