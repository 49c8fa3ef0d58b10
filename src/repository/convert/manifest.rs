//! Writes the text of a pipeline's manifest.

use std::fmt::Write;

use divisi_model::ensemble::{BatchSizes, Ensemble, PolicyKind};
use divisi_model::pipeline::{StepSpec, WorkSpec};
use divisi_runtime::tensor::{Dimension, Signature, TensorSpec};

use crate::loaded::PipelinePart;

use super::queueing;

/// A member in a manifest.
pub(super) struct ManifestMember {
    /// Its name.
    pub(super) name: String,
    /// Its network as a table.
    pub(super) network: toml::Table,
    /// Its weights file.
    pub(super) weights: Option<String>,
    /// The shape of a sample, if the network does not define it.
    pub(super) shape: Option<Vec<usize>>,
    /// The tensors of its network, with the network's names.
    pub(super) signature: Signature,
}

/// Returns the manifest of a model.
pub(super) fn text(ensemble: &Ensemble, part: &PipelinePart, members: &[ManifestMember]) -> String {
    let mut text = format!("name = {}\n", quoted(&ensemble.name));
    let answers = match &ensemble.answer_names {
        None => ensemble.answer_width().to_string(),
        Some(names) => listed(names),
    };
    let outputs: Vec<String> = part.outputs.iter().map(|spec| spec.name.clone()).collect();
    line(
        &mut text,
        format_args!("answers = {{ values = {answers} }}"),
    );
    line(&mut text, format_args!("outputs = {}", listed(&outputs)));
    for (field, value) in batching(ensemble) {
        line(&mut text, format_args!("{field} = {value}"));
    }
    for spec in &part.inputs {
        line(
            &mut text,
            format_args!("\n[[input.tensors]]\nname = {}", quoted(&spec.name)),
        );
        line(
            &mut text,
            format_args!("datatype = \"{}\"\nshape = {}", spec.data_type, dims(spec)),
        );
    }
    members.iter().for_each(|member| member.write(&mut text));
    part.steps
        .iter()
        .for_each(|spec| step(&mut text, spec, members));
    text
}

/// Returns the batching fields of a manifest that differ from their defaults.
pub(super) fn batching(ensemble: &Ensemble) -> Vec<(&'static str, toml::Value)> {
    let mut fields = Vec::new();
    if ensemble.batch_sizes != BatchSizes::default() {
        let sizes: Vec<i64> = ensemble.batch_sizes.clone().into();
        fields.push(("batch_sizes", sizes.into()));
    }
    if let PolicyKind::OptWait { wait } = ensemble.policy {
        let wait = wait.get().as_secs_f64() * 1e3;
        let kind = toml::Value::String("opt-wait".into());
        let policy = [("kind", kind), ("wait_ms", wait.into())];
        let policy = policy.map(|(field, value)| (field.to_owned(), value));
        fields.push(("policy", toml::Table::from_iter(policy).into()));
    }
    if let Some(queue) = &ensemble.queueing {
        fields.push(("queue", queueing::table(queue).into()));
    }
    fields
}

impl ManifestMember {
    fn write(&self, text: &mut String) {
        let network = toml::Value::Table(self.network.clone());
        line(
            text,
            format_args!("\n[[members]]\nname = {}", quoted(&self.name)),
        );
        line(text, format_args!("network = {network}"));
        if let Some(weights) = &self.weights {
            line(text, format_args!("weights = {}", quoted(weights)));
        }
        if let Some(shape) = &self.shape {
            line(text, format_args!("input = {{ shape = {shape:?} }}"));
        }
    }
}

fn step(text: &mut String, spec: &StepSpec, members: &[ManifestMember]) {
    // A repository has no steps of the host.
    let WorkSpec::Model {
        member,
        signature,
        inputs,
        outputs,
    } = &spec.work
    else {
        return;
    };
    let Some(model) = members.get(member.get()) else {
        return;
    };
    line(
        text,
        format_args!("\n[[steps]]\nname = {}", quoted(&spec.name)),
    );
    line(text, format_args!("model = {}", quoted(&model.name)));
    let own = &model.signature;
    for (field, map, [known, own]) in [
        ("inputs", inputs, [&signature.inputs, &own.inputs]),
        ("outputs", outputs, [&signature.outputs, &own.outputs]),
    ] {
        let table = toml::Value::Table(renamed(map, known, own));
        line(text, format_args!("{field} = {table}"));
    }
}

/// Returns a map keyed by the network's own names for its tensors.
fn renamed(map: &[(String, String)], known: &[TensorSpec], own: &[TensorSpec]) -> toml::Table {
    let pairs = map.iter().filter_map(|(name, tensor)| {
        let at = known.iter().position(|spec| spec.name == *name)?;
        Some((own.get(at)?.name.clone(), quoted(tensor)))
    });
    pairs.collect()
}

/// Adds a line. Writing to a string cannot fail.
pub(super) fn line(text: &mut String, written: std::fmt::Arguments<'_>) {
    let _ = writeln!(text, "{written}");
}

fn quoted(text: &str) -> toml::Value {
    toml::Value::String(text.to_owned())
}

fn listed(names: &[String]) -> String {
    let names = names.iter().map(|name| quoted(name).to_string());
    format!("[{}]", names.collect::<Vec<_>>().join(", "))
}

fn dims(spec: &TensorSpec) -> String {
    let dims: Vec<i64> = spec
        .dims
        .iter()
        .map(|dim: &Dimension| i64::from(*dim))
        .collect();
    format!("{dims:?}")
}
