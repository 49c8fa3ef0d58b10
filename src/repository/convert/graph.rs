//! Converts a pipeline whose steps are models to an ensemble.

use divisi_model::ensemble::Ensemble;
use divisi_model::pipeline::{Pipeline, StepRole};
use divisi_runtime::reading::ReadError;
use divisi_runtime::tensor::TensorSpec;

use crate::batch::ModelRows;

use super::models::{LABELS, Models, PlacedModel};
use super::triton_text::{ConfigText, StepText, single_numbers};
use super::written::OutFolder;

/// Returns whether a pipeline is one model whose tensors have the names, types and dimensions of
/// its network's tensors.
pub(super) fn is_one_model(ensemble: &Ensemble, pipeline: &Pipeline) -> bool {
    let [step] = pipeline.steps() else {
        return false;
    };
    let StepRole::Model(member) = step.role else {
        return false;
    };
    let own = ensemble.members[member].graph.signature();
    let alike = |a: &TensorSpec, b: &TensorSpec| {
        a.name == b.name && a.data_type == b.data_type && a.dims == b.dims
    };
    let mut read = step.sources.iter().zip(&own.inputs);
    let mut outputs = pipeline.outputs().iter();
    read.all(|(source, own)| pipeline.tensor(source).is_some_and(|read| alike(read, own)))
        && outputs.all(|output| own.outputs.iter().any(|own| alike(&output.spec, own)))
}

/// Writes the ensemble of a pipeline. `placed` are the models of its members.
pub(super) fn write(
    ensemble: &Ensemble,
    pipeline: &Pipeline,
    models: &Models,
    placed: &[PlacedModel],
    out: &mut OutFolder,
) -> Result<(), ReadError> {
    let name = &ensemble.name;
    let rows: Option<Vec<ModelRows>> = placed.iter().map(|model| models.rows(model)).collect();
    let own = ModelRows::UpTo(ensemble.batch_sizes.largest().get());
    let rows = rows.and_then(|rows| joint(own, &rows));
    let is_said = is_said(ensemble, pipeline, out);
    let Some(rows) = rows.filter(|_| is_said) else {
        let why = match is_said {
            true => "steps: their models take different numbers of rows",
            false => "left out: Triton does not support all of its steps",
        };
        out.unsaid(name, why);
        return Ok(());
    };
    let mut config = ConfigText::new(name, ["platform", "ensemble"], rows);
    let outputs: Vec<_> = pipeline.outputs().iter().map(|o| o.spec.clone()).collect();
    let labels = ensemble.answer_names.as_ref();
    let labels = labels.filter(|_| outputs.len() == 1);
    for specs in [pipeline.inputs(), &outputs] {
        single_numbers(name, rows, specs, out);
    }
    config.tensors("input", pipeline.inputs(), None);
    config.tensors("output", &outputs, labels.map(|_| LABELS));
    config.steps(&steps(ensemble, pipeline, models, placed));
    if let Some(labels) = labels {
        out.write(&format!("{name}/{LABELS}"), &(labels.join("\n") + "\n"))?;
    }
    out.write(&format!("{name}/config.pbtxt"), &config.finish())?;
    out.folder(&format!("{name}/1"))
}

/// Returns whether Triton supports all steps. Notes the unsupported steps.
fn is_said(ensemble: &Ensemble, pipeline: &Pipeline, out: &mut OutFolder) -> bool {
    let name = &ensemble.name;
    let mut is_said = !out.has(name);
    if !is_said {
        out.unsaid(name, "name: a model has the same name");
    }
    for step in pipeline.steps() {
        let kind = match &step.role {
            StepRole::Model(_) => continue,
            StepRole::Gate(condition) => format!("when {condition}"),
            StepRole::Host(step) => step.name().to_owned(),
        };
        is_said = false;
        let (step, kind) = (&step.name, kind);
        let what = format!("step `{step}`: `{kind}` needs a Python model in Triton");
        out.unsaid(name, what);
    }
    is_said
}

/// Returns the rows of a request of a pipeline of models, or `None` if the models' rows conflict.
fn joint(own: ModelRows, models: &[ModelRows]) -> Option<ModelRows> {
    models
        .iter()
        .try_fold(own, |joint, model| match (joint, *model) {
            (ModelRows::UpTo(a), ModelRows::UpTo(b)) => Some(ModelRows::UpTo(a.min(b))),
            // A batch of this fixed size is within the limit of the other models.
            (ModelRows::UpTo(most), ModelRows::Exactly(rows))
            | (ModelRows::Exactly(rows), ModelRows::UpTo(most)) => {
                (rows <= most).then_some(ModelRows::Exactly(rows))
            }
            // The first model decides whether there is a batch.
            (ModelRows::UpTo(_), other) if joint == own => Some(other),
            (a, b) => (a == b).then_some(a),
        })
}

/// Returns the steps, each with the maps of its inputs and outputs.
fn steps(
    ensemble: &Ensemble,
    pipeline: &Pipeline,
    models: &Models,
    placed: &[PlacedModel],
) -> Vec<StepText> {
    let steps = pipeline.steps().iter().filter_map(|step| {
        let StepRole::Model(member) = step.role else {
            return None;
        };
        let signature = ensemble.members[member].graph.signature();
        let read = step.sources.iter().map(|source| {
            let tensor = pipeline.tensor(source).map(|spec| spec.name.clone());
            tensor.unwrap_or_default()
        });
        let inputs = signature.inputs.into_iter().map(|spec| spec.name).zip(read);
        let made = step.tensors.iter().map(|spec| spec.name.clone());
        let outputs = signature.outputs.into_iter().map(|spec| spec.name);
        let model = placed.get(member.get())?;
        Some(StepText {
            model: model.name.clone(),
            version: models.version(model),
            inputs: inputs.collect(),
            outputs: outputs.zip(made).collect(),
        })
    });
    steps.collect()
}
