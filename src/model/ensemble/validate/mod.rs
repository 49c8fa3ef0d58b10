//! Validates a manifest and returns an ensemble that can be served.

mod answers;
mod boxes;
mod calibration;
mod defaults;
mod images;
mod input;
mod members;
mod network_file;
mod networks;
mod steps;
mod tensor_names;
mod tensors;
mod text;

use std::num::NonZeroU32;
use std::sync::Arc;

use crate::ensemble::MemberPrecision;
use crate::pipeline::Pipeline;
use divisi_runtime::compute::gpu::Precision;
use divisi_runtime::reading::ReadError;
use divisi_runtime::words;

use super::batch_sizes::BatchSizes;
use super::batching::{DEFAULT_WAIT, PolicyError, PolicyKind, Wait};
use super::files::Files;
use super::manifest::{CalibrationTable, EnsembleError, Manifest, ManifestSource, PolicyTable};
use super::queue_table;
use super::samples::Samples;
use super::{AnswerKind, DEFAULT_SEGMENT, Ensemble, InterfaceNames, Member, RuleKind, SampleForm};
use input::SampleInput;

impl Ensemble {
    /// Reads and checks the manifest in `files`.
    ///
    /// # Errors
    /// The first error in the files, with its place.
    pub fn read(files: &Files) -> Result<Self, EnsembleError> {
        let text = files.read_text(files.manifest())?;
        let source = ManifestSource {
            files,
            file: files.manifest(),
            text: &text,
        };
        let manifest: Manifest = toml::from_str(&text)
            .map_err(|e| EnsembleError::toml(files.display(source.file), &text, &e))?;
        ensemble(&source, manifest)
    }
}

fn ensemble(source: &ManifestSource<'_>, manifest: Manifest) -> Result<Ensemble, EnsembleError> {
    source.check_name(0, "name", &manifest.name)?;
    let (answers, answer_names) = answers::answers(source, &manifest)?;
    let default_segment = toml::Spanned::new(0..0, DEFAULT_SEGMENT as i64);
    let segment = manifest.segment_size.as_ref().unwrap_or(&default_segment);
    let batch_sizes = match &manifest.batch_sizes {
        None => BatchSizes::default(),
        Some(sizes) => BatchSizes::new(sizes.get_ref())
            .map_err(|why| source.wrong(sizes.span().start, format!("batch_sizes: {why}")))?,
    };
    let sample = input::ensemble(source, &manifest)?;
    let models = members::members(source, &manifest, &sample, answers)?;
    let pipeline = steps::pipeline(source, &manifest, &sample, &models)?;
    let members: Vec<Arc<Member>> = models.into_iter().map(|(member, _)| member).collect();
    if pipeline.is_none() {
        text::check_tables(source, &manifest, &sample, &members)?;
    }
    check_width(source, &manifest, pipeline.as_deref(), answers)?;
    let sample = match &pipeline {
        None => sample.narrowed(&members),
        Some(pipeline) => sample.of_pipeline(pipeline),
    };
    let row_check = sample.row_check(&members);
    let SampleInput {
        input,
        tensors,
        text,
        lengths,
        ..
    } = sample;
    let own_names = tensor_names::tensor_names(source, &manifest, answers)?;
    let tensor_names = match &pipeline {
        None => own_names.or(InterfaceNames::from_files(&members)),
        Some(_) => own_names,
    };
    let layout = manifest.input.layout;
    let image_fit = images::fit(source, &manifest.input, input.shape)?;
    let rule = manifest
        .rule
        .as_ref()
        .map_or_else(|| RuleKind::usual(answers), |r| *r.get_ref());
    let rule_at = manifest.rule.as_ref().map_or(0, |r| r.span().start);
    let form = SampleForm {
        layout,
        image_fit,
        tensors: tensors.as_deref(),
        text: text.as_ref(),
        lengths: lengths.as_ref(),
        check: Some(&row_check),
        ..SampleForm::new(input.shape).answers(answers, answer_names.as_deref())
    };
    let ensemble = Ensemble {
        segment_size: source.count("segment_size", segment, 1 << 20)?,
        policy: policy(source, &manifest, &batch_sizes)?,
        queueing: queue_table::queueing(source, manifest.queue.as_ref())?,
        calibration: calibration(source, &manifest, &form)?,
        precision: precision(source, &manifest)?.on_gpus(Precision::default()),
        name: manifest.name,
        rule,
        pipeline,
        apart: false,
        devices: manifest.devices,
        members,
        input,
        tensors: tensors.clone(),
        text: text.clone(),
        lengths: lengths.clone(),
        row_check: row_check.clone(),
        layout,
        image_fit,
        answers,
        batch_sizes,
        answer_names: answer_names.clone(),
        tensor_names,
    };
    outputs(source, rule_at, &ensemble)?;
    Ok(ensemble)
}

/// Checks that a pipeline returns the number of values that the answers have.
fn check_width(
    source: &ManifestSource<'_>,
    manifest: &Manifest,
    pipeline: Option<&Pipeline>,
    answers: AnswerKind,
) -> Result<(), EnsembleError> {
    let at = manifest.outputs.as_ref().map_or(0, |o| o.span().start);
    match pipeline.map(Pipeline::width) {
        Some(_)
            if matches!(
                answers,
                AnswerKind::Values {
                    normalise: true,
                    ..
                }
            ) =>
        {
            let why = "answers.normalise: not valid in a pipeline";
            Err(source.wrong(at, why))
        }
        Some(found) if found != answers.width() => Err(source.wrong(
            at,
            format!("outputs: expected {answers} per sample, found {found} values"),
        )),
        _ => Ok(()),
    }
}

/// Checks that the rule and the temperatures match the answers and the members' outputs.
fn outputs(
    source: &ManifestSource<'_>,
    at: usize,
    ensemble: &Ensemble,
) -> Result<(), EnsembleError> {
    let suits = ensemble.check_combination(&ensemble.combination());
    suits.map_err(|why| source.wrong(at, why.to_string()))
}

/// Reads the default precision of members.
fn precision(
    source: &ManifestSource<'_>,
    manifest: &Manifest,
) -> Result<MemberPrecision, EnsembleError> {
    let Some(written) = &manifest.precision else {
        return Ok(MemberPrecision::default());
    };
    let parsed = written.get_ref().parse();
    parsed.map_err(|why| source.wrong(written.span().start, format!("precision: {why}")))
}

fn policy(
    source: &ManifestSource<'_>,
    manifest: &Manifest,
    sizes: &BatchSizes,
) -> Result<PolicyKind, EnsembleError> {
    let Some(spanned) = &manifest.policy else {
        return Ok(PolicyKind::NoWait);
    };
    let wrong = |why: String| source.wrong(spanned.span().start, why);
    let table = spanned.get_ref();
    let wait = match table.wait_ms {
        None => DEFAULT_WAIT,
        Some(ms) => Wait::from_millis(ms).map_err(|_| {
            let found = words::number(ms);
            wrong(format!(
                "policy.wait_ms: expected 0 to 60000, found {found}"
            ))
        })?,
    };
    let kind = |why: PolicyError| wrong(format!("policy.kind: {why}"));
    let named = PolicyKind::from_name(&table.kind, wait).map_err(kind)?;
    let policy = with_max_inf(named, table, wrong)?;
    policy.check(sizes).map_err(kind)?;
    Ok(policy)
}

/// Adds the limit of `elastic`, if set.
fn with_max_inf(
    kind: PolicyKind,
    table: &PolicyTable,
    wrong: impl Fn(String) -> EnsembleError,
) -> Result<PolicyKind, EnsembleError> {
    let Some(found) = table.max_inf else {
        return Ok(kind);
    };
    let number = u32::try_from(found).ok().and_then(NonZeroU32::new);
    match (kind, number) {
        (PolicyKind::Elastic { .. }, Some(_)) => Ok(PolicyKind::Elastic { max_inf: number }),
        (PolicyKind::Elastic { .. }, None) => Err(wrong(format!(
            "policy.max_inf: expected a number of samples above 0, found {found}"
        ))),
        _ => Err(wrong(format!(
            "policy.max_inf: not valid for policy `{}`",
            kind.name()
        ))),
    }
}

/// The maximum number of values of synthetic samples: half a gibibyte.
const MOST_VALUES: usize = 1 << 27;

/// Reads or generates the calibration samples, if the manifest has any.
fn calibration(
    source: &ManifestSource<'_>,
    manifest: &Manifest,
    form: &SampleForm<'_>,
) -> Result<Option<Arc<Samples>>, EnsembleError> {
    let Some(spanned) = &manifest.calibration else {
        return Ok(None);
    };
    let table = spanned.get_ref();
    let wrong = |why: &str| Err(source.wrong(spanned.span().start, format!("calibration{why}")));
    let samples = match (&table.file, &table.synthetic) {
        (Some(file), None) => read_samples(source, table, file, form)?,
        (None, Some(_)) if table.skip.is_some() => {
            return wrong(".skip: only valid with `file`, not with synthetic samples");
        }
        (None, Some(_)) if table.labels.is_some() => {
            return wrong(".labels: only valid with `file`; synthetic samples have no labels");
        }
        (None, Some(rows)) => made_up(source, rows, form)?,
        (Some(_), Some(_)) => return wrong(": expected `file` or `synthetic`, found both"),
        (None, None) => {
            return wrong(
                ": expected `file` (samples) or `synthetic` (the number to generate), found \
                 neither",
            );
        }
    };
    Ok(Some(Arc::new(samples)))
}

/// Reads samples with their labels, without the rows to skip.
fn read_samples(
    source: &ManifestSource<'_>,
    table: &CalibrationTable,
    file: &str,
    form: &SampleForm<'_>,
) -> Result<Samples, EnsembleError> {
    let of = |name: &str, e: ReadError| source.files.wrong(name, e);
    let folder = |name: &String| source.files.path(name).filter(|path| path.is_dir());
    if let Some(labels) = table.labels.as_ref().filter(|name| folder(name).is_none()) {
        Samples::check_labels_name(labels).map_err(|e| of(labels, e))?;
    }
    let samples = match source.files.path(file) {
        Some(path) => Samples::read(&path, form),
        None => match source.files.embedded_folder(file).as_slice() {
            [] => Samples::parse(file, source.files.read(file)?, form),
            images => Samples::of_images(images, form),
        },
    };
    let mut samples = samples.map_err(|e| of(file, e))?;
    if let Some(labels) = &table.labels {
        let targeted = match folder(labels) {
            Some(path) => samples.targeted_by_file(&path, form),
            None => samples.targeted_by(labels, source.files.read(labels)?, form),
        };
        samples = targeted.map_err(|e| of(labels, e))?;
    }
    let skip = table.skip.unwrap_or(0);
    samples.skip(skip).map_err(|e| of(file, e))
}

fn made_up(
    source: &ManifestSource<'_>,
    rows: &toml::Spanned<i64>,
    form: &SampleForm<'_>,
) -> Result<Samples, EnsembleError> {
    let width = form.shape.elements();
    let most = (MOST_VALUES / width).max(1);
    let n = source.count("calibration.synthetic", rows, most as i64)?;
    let made = match form.signature() {
        None => Samples::synthetic(n, width),
        Some(tensors) => Samples::synthetic_tensors(&tensors, n),
    };
    made.map_err(|e| source.wrong(rows.span().start, format!("calibration.synthetic: {e}")))
}
