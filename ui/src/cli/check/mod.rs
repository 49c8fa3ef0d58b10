//! `divisi check`: validates and describes an ensemble, a pipeline or a model repository.

mod calibrated;
mod pipeline;
mod repository;
mod samples;

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use divisi_engine::search::worst_fit;
use divisi_model::allocation::{Cell, Footprints};
use divisi_model::ensemble::{Affine, AnswerKind, Member, Normalisation, OutputKind};
use divisi_repository::Repository;
use divisi_runtime::compute::OwnScales;
use divisi_runtime::compute::gpu::Precision;
use divisi_runtime::device::{DeviceIndex, MemberIndex, format_bytes};
use divisi_runtime::network::{Probabilities, WeightsNote};
use divisi_runtime::tensor::{Lengths, TensorSpec};
use divisi_runtime::words::counted;
use divisi_server::is_empty_folder;
use serde::Serialize;

use super::args::ServingTarget;
use super::open::{OpenedEnsemble, open_unremarked};
use super::output::{DeviceRow, device_rows, matrix_table};
use super::reporting::ReportOptions;
use calibrated::CalibratedSummary;
use pipeline::PipelineSummary;
use samples::{CalibrationSummary, TextSummary};

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(super) target: ServingTarget,
    #[command(flatten)]
    report: ReportOptions,
}

#[derive(Serialize)]
struct CheckReport {
    ensemble: String,
    /// The rule, unless it is a pipeline.
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<&'static str>,
    /// Its steps, if it is a pipeline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pipeline: Option<PipelineSummary>,
    /// The number of classes, if the answers are classes.
    #[serde(skip_serializing_if = "Option::is_none")]
    classes: Option<usize>,
    /// The kind of answers.
    answers: AnswerKind,
    input: Vec<usize>,
    /// The named tensors of a sample, if it consists of named tensors.
    #[serde(skip_serializing_if = "Option::is_none")]
    tensors: Option<Vec<TensorSpec>>,
    /// The conversion of texts to samples, if samples are texts.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<TextSummary>,
    /// The lengths of samples, if they vary.
    #[serde(skip_serializing_if = "Option::is_none")]
    lengths: Option<Lengths>,
    /// The samples for benchmarks, searches and the built-in load, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    calibration: Option<CalibrationSummary>,
    synthetic: bool,
    members: Vec<MemberSummary>,
    devices: Vec<DeviceRow>,
    /// The reason for the default devices, if no device was named.
    #[serde(skip_serializing_if = "Option::is_none")]
    default: Option<String>,
    /// The precision of the GPUs, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    precision: Option<Precision>,
    /// Devices that compute in a precision other than the requested one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    remarks: Vec<String>,
    /// The matrix of worst-fit decreasing; rows are devices.
    matrix: Option<Vec<Vec<usize>>>,
    /// The reason why no matrix fits, if none does.
    problem: Option<String>,
}

#[derive(Serialize)]
struct MemberSummary {
    name: String,
    /// The input shape of its network.
    input: Vec<usize>,
    /// The factor and the offset of each value: one pair for all channels, or one for each.
    normalisation: Vec<Affine>,
    /// The changes made to the file's tensors for the network.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    weights: Vec<String>,
    parameters: u64,
    flops: u64,
    /// Bytes by batch size, on the first device.
    bytes: BTreeMap<usize, u64>,
    /// Bytes on the first device of every other kind, if there are several kinds.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    bytes_on: BTreeMap<String, BTreeMap<usize, u64>>,
    synthetic: bool,
    /// The end of its network, such as `softmax`, if it ends in probabilities.
    #[serde(skip_serializing_if = "Option::is_none")]
    ends_in: Option<&'static str>,
    /// Its precision, if it differs from the ensemble's.
    #[serde(skip_serializing_if = "Option::is_none")]
    precision: Option<String>,
    /// The int8 calibration for CPUs.
    #[serde(skip_serializing_if = "Option::is_none")]
    calibration: Option<CalibratedSummary>,
    /// The layers with scales in the file, if the file is quantised.
    #[serde(skip_serializing_if = "Option::is_none")]
    own_scales: Option<OwnScales>,
    /// The largest batch size of a lone worker on each device, or `None` if none fits.
    fits: Vec<Option<usize>>,
}

pub(crate) fn run(args: &CheckArgs) -> Result<()> {
    let path = &args.target.ensemble;
    if Repository::is_at(path) || is_empty_folder(path) {
        return repository::run(&args.target, &args.report);
    }
    let (folder, opened) = (
        args.target.selection(&[], None).files()?.folder(),
        open_unremarked(&args.target)?,
    );
    for member in &opened.ensemble.members {
        let padded = member.check_padding();
        padded.with_context(|| format!("member `{}` cannot start", member.name))?;
    }
    let footprints = Footprints::plan(&opened.ensemble, &opened.devices);
    let matrix = worst_fit(&opened.frame, &opened.devices, &footprints);
    let answers = opened.ensemble.answers;
    let pipeline = PipelineSummary::from_ensemble(&opened.ensemble);
    let rule = opened.ensemble.rule.name();
    let report = CheckReport {
        ensemble: opened.ensemble.name.clone(),
        rule: pipeline.is_none().then_some(rule),
        pipeline,
        classes: answers.is_of_classes().then(|| answers.width()),
        answers,
        input: opened.ensemble.input.shape.into(),
        tensors: opened.ensemble.tensors.clone(),
        text: TextSummary::from_ensemble(&opened.ensemble),
        lengths: opened.ensemble.lengths.clone(),
        calibration: CalibrationSummary::from_ensemble(&opened.ensemble),
        synthetic: opened.ensemble.is_synthetic(),
        members: member_rows(&opened, &footprints, folder.as_deref()),
        devices: device_rows(&opened.devices),
        default: opened.partitioning.as_ref().map(ToString::to_string),
        precision: opened.precision(),
        remarks: [opened.remarks(), opened.member_remarks()].concat(),
        matrix: matrix.as_ref().ok().map(|m| m.rows()),
        problem: matrix.as_ref().err().map(ToString::to_string),
    };
    let text = text(&report, matrix.as_ref().ok().map(matrix_table));
    args.report.write(&report, &text)?;
    match matrix {
        Ok(_) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Returns the bytes of a lone worker of a member on a device, by batch size.
fn bytes_on(
    opened: &OpenedEnsemble,
    footprints: &Footprints,
    device: DeviceIndex,
    member: MemberIndex,
) -> BTreeMap<usize, u64> {
    let cell = Cell { device, member };
    let sizes = opened.ensemble.batch_sizes.iter();
    sizes
        .map(|s| (s.get(), footprints.bytes(cell, s)))
        .collect()
}

/// Returns the first device of every kind other than device 0's. Members take other amounts of
/// memory there.
fn other_kinds(opened: &OpenedEnsemble) -> impl Iterator<Item = DeviceIndex> + '_ {
    let kind = |d: DeviceIndex| &opened.devices.get(d).kind;
    let is_first = move |d: DeviceIndex| {
        let mut before = DeviceIndex::all(d.get());
        before.all(|before| !kind(before).is_like(kind(d)))
    };
    let others = opened.devices.indices().skip(1);
    others.filter(move |d| is_first(*d))
}

/// Returns the end of a member's network if it ends in probabilities that the ensemble uses
/// unchanged, or `None` if they are computed later or never.
fn ends_in(member: &Member) -> Option<&'static str> {
    let are_made = matches!(
        member.outputs,
        OutputKind::Logits | OutputKind::LabelLogits | OutputKind::PositionLogits
    );
    let ends = member.ends_in.filter(|_| !are_made);
    ends.map(Probabilities::name)
}

fn member_rows(
    opened: &OpenedEnsemble,
    footprints: &Footprints,
    folder: Option<&Path>,
) -> Vec<MemberSummary> {
    let sizes = &opened.ensemble.batch_sizes;
    let members = MemberIndex::enumerate(&opened.ensemble.members);
    let first = DeviceIndex::new(0);
    members
        .map(|(index, member)| MemberSummary {
            name: member.name.clone(),
            input: member.input.shape.into(),
            normalisation: match &member.input.normalisation {
                Normalisation::All(affine) => vec![*affine],
                Normalisation::Each(channels) => channels.to_vec(),
            },
            weights: member
                .weights
                .notes()
                .iter()
                .map(WeightsNote::to_string)
                .collect(),
            parameters: member.graph.parameter_count(),
            flops: member.graph.flops(),
            bytes: bytes_on(opened, footprints, first, index),
            bytes_on: other_kinds(opened)
                .map(|d| {
                    let name = opened.devices.get(d).name.clone();
                    (name, bytes_on(opened, footprints, d, index))
                })
                .collect(),
            synthetic: member.weights.is_synthetic(),
            ends_in: ends_in(member),
            precision: member
                .precision
                .if_set(opened.ensemble.precision)
                .map(|own| own.on_devices(&opened.devices, opened.ensemble.precision)),
            calibration: CalibratedSummary::from_member(member, folder),
            own_scales: OwnScales::from_graph(&member.graph),
            fits: opened
                .devices
                .indices()
                .map(|d| {
                    let most = opened.devices.memory_bytes(d);
                    let cell = Cell {
                        device: d,
                        member: index,
                    };
                    let fitting = sizes.iter().filter(|s| footprints.bytes(cell, *s) <= most);
                    fitting.last().map(|s| s.get())
                })
                .collect(),
        })
        .collect()
}

fn text(report: &CheckReport, matrix: Option<String>) -> String {
    let mut text = format!(
        "{} · {} · {} · input {} · {}
",
        report.ensemble,
        counted(report.members.len(), "member"),
        combined(report),
        input(report),
        report.answers
    );
    text.extend(report.text.as_ref().map(TextSummary::line));
    if report.synthetic {
        text += "synthetic weights: answers mean nothing\n";
    }
    if let Some(lengths) = &report.lengths {
        let most = lengths.largest();
        text += &format!("lengths {lengths}; FLOPs and memory are for length {most}\n");
    }
    if let Some(pipeline) = &report.pipeline {
        text += &format!("\n{}", pipeline.table());
    }
    text += &members_table(report);
    for device in &report.devices {
        text += &format!(
            "\n{:10} {:4} {:>10}",
            device.name,
            device.kind,
            format_bytes(device.memory_bytes)
        );
        if let Some(gpu) = &device.gpu {
            text += &format!("  {}", gpu.name);
        }
    }
    if let Some(precision) = report.precision {
        text += &format!("\nGPUs compute in {precision}");
    }
    if let Some(default) = &report.default {
        text += &format!("\ndefault: {default}; --devices chooses others");
    }
    let remarks = report.remarks.iter();
    text.extend(remarks.map(|remark| format!("\n{remark}")));
    if let Some(matrix) = matrix {
        text += &format!("\n\nworst-fit decreasing\n{matrix}");
    }
    text
}

/// Returns the combination of members: a rule or steps.
fn combined(report: &CheckReport) -> String {
    let rule = report.rule.map(|rule| format!("rule {rule}"));
    let pipeline = report.pipeline.as_ref().map(PipelineSummary::words);
    rule.or(pipeline).unwrap_or_default()
}

/// Returns the shape of a sample, or the names, types and shapes of its tensors.
fn input(report: &CheckReport) -> String {
    let Some(tensors) = &report.tensors else {
        return format!("{:?}", report.input);
    };
    let each = tensors.iter().map(|spec| format!("{} {spec}", spec.name));
    each.collect::<Vec<_>>().join(", ")
}

fn members_table(report: &CheckReport) -> String {
    let mut text = format!("\n{:12} {:>11} {:>13}", "member", "parameters", "FLOPs");
    let sizes: Vec<usize> = report
        .members
        .first()
        .map_or_else(Vec::new, |m| m.bytes.keys().copied().collect());
    for size in &sizes {
        text += &format!(" {:>9}", format!("at {size}"));
    }
    for member in &report.members {
        text += &format!(
            "\n{:12} {:>11} {:>13}",
            member.name, member.parameters, member.flops
        );
        for bytes in member.bytes.values() {
            text += &format!(" {:>9}", format_bytes(*bytes));
        }
        if member.input != report.input && report.tensors.is_none() {
            text += &format!("  input {:?}", member.input);
        }
        if member.synthetic {
            text += "  synthetic weights";
        }
        if let Some(precision) = &member.precision {
            text += &format!("  {precision}");
        }
    }
    let others = report.members.first().map(|m| m.bytes_on.keys());
    for device in others.into_iter().flatten() {
        text += &format!("\n\non {device}");
        for member in &report.members {
            text += &format!("\n{:38}", member.name);
            for bytes in member.bytes_on[device].values() {
                text += &format!(" {:>9}", format_bytes(*bytes));
            }
        }
    }
    text.push('\n');
    text + &remarks(report)
}

/// The largest number of channels shown one by one.
const SHOWN: usize = 4;

/// Returns remarks on changed weights and on channels with different normalisations.
fn remarks(report: &CheckReport) -> String {
    let mut text = String::new();
    for member in &report.members {
        for note in &member.weights {
            text += &format!("\n{}: {note}", member.name);
        }
        if let Some(end) = member.ends_in {
            let name = &member.name;
            text += &format!("\n{name}: ends in {end}; its outputs are used unchanged");
        }
        if let Some(own) = &member.own_scales {
            text += &format!("\n{}: {own}", member.name);
        }
        if let Some(calibration) = &member.calibration {
            text += &format!("\n{}: {calibration}", member.name);
        }
        let channels = &member.normalisation;
        if (2..=SHOWN).contains(&channels.len()) {
            let each: Vec<String> = channels.iter().map(Affine::to_string).collect();
            text += &format!("\n{}: channels {}", member.name, each.join(", "));
        } else if channels.len() > SHOWN {
            let n = channels.len();
            text += &format!(
                "\n{}: {n} channels, each with its own normalisation",
                member.name
            );
        }
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}
