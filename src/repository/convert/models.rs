//! The single-network models of a written repository.

use std::collections::BTreeMap;
use std::time::Duration;

use divisi_model::ensemble::{BatchSizes, Queueing};
use divisi_runtime::reading::ReadError;
use divisi_runtime::tensor::{Signature, TensorSpec};
use divisi_runtime::words::counted;

use crate::batch::ModelRows;
use crate::config::NETWORK_PARAMETER;

use super::members::{MemberFiles, ReadMember, WeightsNetwork};
use super::own::data_files;
use super::triton_text::{ConfigText, single_numbers};
use super::written::OutFolder;

/// The models, by name.
#[derive(Default)]
pub(super) struct Models(BTreeMap<String, WrittenModel>);

/// A model with its versions.
struct WrittenModel {
    signature: Signature,
    /// The outputs that it returns, if these are not all outputs of its network.
    outputs: Option<Vec<TensorSpec>>,
    /// The names of the values of its only output.
    labels: Vec<String>,
    rows: ModelRows,
    /// The batching settings of the configuration.
    batching: String,
    versions: BTreeMap<u64, MemberFiles>,
}

/// The batching settings of a model.
#[derive(Clone, Copy)]
pub(super) struct ModelBatching<'e> {
    pub(super) sizes: &'e BatchSizes,
    pub(super) wait: Duration,
    pub(super) queueing: Option<&'e Queueing>,
}

/// The model that contains a converted member.
#[derive(Clone, Debug)]
pub(super) struct PlacedModel {
    pub(super) name: String,
    version: u64,
    names_version: bool,
}

impl Models {
    /// Adds a member as a version of a model. Returns `None` and notes the reason if the member is
    /// left out.
    pub(super) fn add(
        &mut self,
        member: &ReadMember,
        batching: &ModelBatching<'_>,
        out: &mut OutFolder,
    ) -> Option<PlacedModel> {
        let name = &member.model;
        if let Err(why) = self.added(member, batching, out) {
            out.left_out(name, why);
            return None;
        }
        Some(PlacedModel {
            name: name.clone(),
            version: member.version,
            names_version: member.names_version,
        })
    }

    fn added(
        &mut self,
        member: &ReadMember,
        batching: &ModelBatching<'_>,
        out: &mut OutFolder,
    ) -> Result<(), String> {
        let (name, version) = (&member.model, member.version);
        let files = member.files.as_ref().map_err(|why| (*why).to_owned())?;
        let known = self.0.get(name);
        if let Some(other) = known.and_then(|model| model.versions.get(&version)) {
            return match other == files {
                true => Ok(()),
                false => Err(format!(
                    "version {version} already exists with another network"
                )),
            };
        }
        if known.is_some_and(|model| model.signature != member.signature) {
            return Err(format!(
                "the tensors of version {version} differ from those of another \
                                version"
            ));
        }
        member.unsaid.iter().for_each(|what| out.unsaid(name, what));
        if matches!(files, MemberFiles::Weights { .. }) {
            let why = "Triton does not read safetensors: only Divisi can serve this model";
            out.unsaid(name, why);
        }
        let model = self.0.entry(name.clone()).or_insert_with(|| {
            let rows = files.rows(batching.sizes.largest().get());
            let (text, missing) = super::batching_text::text(batching, rows);
            missing.iter().for_each(|what| out.unsaid(name, what));
            if let Some(what) = fixed(rows) {
                out.unsaid(name, what);
            }
            WrittenModel {
                signature: member.signature.clone(),
                outputs: None,
                labels: Vec::new(),
                rows,
                batching: text,
                versions: BTreeMap::new(),
            }
        });
        model.versions.insert(version, files.clone());
        Ok(())
    }

    /// Sets the outputs that a model returns, and the names of the values of a single output.
    pub(super) fn answers(
        &mut self,
        placed: &PlacedModel,
        outputs: Vec<TensorSpec>,
        labels: Option<&[String]>,
    ) {
        if let Some(model) = self.0.get_mut(&placed.name) {
            model.outputs = Some(outputs);
        }
        self.labelled(placed, labels);
    }

    /// Sets the names of the values of a model's only output.
    pub(super) fn labelled(&mut self, placed: &PlacedModel, labels: Option<&[String]>) {
        let Some(model) = self.0.get_mut(&placed.name) else {
            return;
        };
        let outputs = model.outputs.as_ref().unwrap_or(&model.signature.outputs);
        if let ([_], Some(labels)) = (outputs.as_slice(), labels) {
            model.labels = labels.to_vec();
        }
    }

    /// Returns the rows of a request of a model.
    pub(super) fn rows(&self, placed: &PlacedModel) -> Option<ModelRows> {
        self.0.get(&placed.name).map(|model| model.rows)
    }

    /// Returns the version for a step: -1 for the highest, unless the member's name contains a
    /// version.
    pub(super) fn version(&self, placed: &PlacedModel) -> i64 {
        let model = self.0.get(&placed.name);
        let highest = model.and_then(|model| model.versions.keys().last());
        match placed.names_version || highest != Some(&placed.version) {
            true => i64::try_from(placed.version).unwrap_or(i64::MAX),
            false => -1,
        }
    }

    /// Writes the models.
    pub(super) fn write(&self, out: &mut OutFolder) -> Result<(), ReadError> {
        self.0.iter().try_for_each(|(name, model)| {
            for (version, files) in &model.versions {
                files.copy(&format!("{name}/{version}"), name, out)?;
            }
            let outputs = model.outputs.as_ref();
            let outputs = outputs.unwrap_or(&model.signature.outputs);
            for specs in [&model.signature.inputs, outputs] {
                single_numbers(name, model.rows, specs, out);
            }
            let config = model.config(name);
            if !model.labels.is_empty() {
                let labels = model.labels.join("\n") + "\n";
                out.write(&format!("{name}/{LABELS}"), &labels)?;
            }
            out.write(&format!("{name}/config.pbtxt"), &config)
        })
    }
}

/// The file of the names of values.
pub(super) const LABELS: &str = "labels.txt";

impl WrittenModel {
    fn config(&self, name: &str) -> String {
        let files = self.versions.values().next_back();
        let network = match files {
            Some(MemberFiles::Weights { network, .. }) => Some(network),
            _ => None,
        };
        let platform = match network {
            Some(_) => ["backend", "divisi"],
            None => ["platform", "onnxruntime_onnx"],
        };
        let mut config = ConfigText::new(name, platform, self.rows);
        let outputs = self.outputs.as_ref().unwrap_or(&self.signature.outputs);
        let labels = (!self.labels.is_empty()).then_some(LABELS);
        config.tensors("input", &self.signature.inputs, None);
        config.tensors("output", outputs, labels);
        config.add(&self.batching);
        if self.versions.len() > 1 {
            config.add("version_policy { all { } }\n");
        }
        match network {
            Some(WeightsNetwork::Layers(_)) => config.parameter(NETWORK_PARAMETER, LAYERS),
            Some(WeightsNetwork::Table(table)) => config.parameter(NETWORK_PARAMETER, table),
            None => {}
        }
        config.finish()
    }
}

/// Returns a note for a model whose file fixes the rows of a request, because a manifest allows any
/// number.
fn fixed(rows: ModelRows) -> Option<String> {
    match rows {
        ModelRows::UpTo(_) | ModelRows::Open => None,
        ModelRows::Exactly(rows) => Some(format!(
            "requests of other than {}: the file has a fixed batch size",
            counted(rows, "row")
        )),
        ModelRows::Absent => {
            Some("requests of several rows: the file has no batch dimension".to_owned())
        }
    }
}

/// The file of the layers of a model.
const LAYERS: &str = "network.toml";

impl MemberFiles {
    /// Copies the files of a version into its folder.
    fn copy(&self, to: &str, model: &str, out: &mut OutFolder) -> Result<(), ReadError> {
        match self {
            MemberFiles::Onnx(path) => {
                for (beside, from) in data_files(path) {
                    out.copy(&from, &format!("{to}/{beside}"))?;
                }
                out.copy(path, &format!("{to}/model.onnx"))
            }
            MemberFiles::Weights { path, network } => {
                if let WeightsNetwork::Layers(layers) = network {
                    out.copy(layers, &format!("{model}/{LAYERS}"))?;
                }
                out.copy(path, &format!("{to}/model.safetensors"))
            }
        }
    }
}
