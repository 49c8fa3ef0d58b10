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
use super::output::{DeviceRow, device_rows};
use super::reporting::{Report, ReportOptions};
use super::tables::{ReportedMatrix, matrix_table, tensors_in_words};
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
    matrix: Option<ReportedMatrix>,
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
        matrix: matrix.as_ref().ok().cloned().map(ReportedMatrix),
        problem: matrix.as_ref().err().map(ToString::to_string),
    };
    args.report.write(&report)?;
    matrix.map(drop).map_err(Into::into)
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

impl Report for CheckReport {
    fn text(&self) -> String {
        let head = format!(
            "{} · {} · {} · input {} · {}\n",
            self.ensemble,
            counted(self.members.len(), "member"),
            combined(self),
            input(self),
            self.answers
        );
        let synthetic = "synthetic weights: answers mean nothing\n";
        let lengths = self.lengths.iter().map(|lengths| {
            let most = lengths.largest();
            format!("lengths {lengths}; FLOPs and memory are for length {most}\n")
        });
        let steps = self.pipeline.iter().map(|p| format!("\n{}", p.table()));
        let matrix = self.matrix.as_ref().map(|matrix| matrix_table(&matrix.0));
        let mut text = head;
        text.extend(self.text.as_ref().map(TextSummary::line));
        text.extend(self.synthetic.then_some(synthetic));
        text.extend(lengths.chain(steps));
        text += &members_table(self);
        text.extend(self.devices.iter().map(device_line));
        let precision = self.precision.iter();
        text.extend(precision.map(|precision| format!("\nGPUs compute in {precision}")));
        let default = self.default.iter();
        text.extend(default.map(|why| format!("\ndefault: {why}; --devices chooses others")));
        text.extend(self.remarks.iter().map(|remark| format!("\n{remark}")));
        text.extend(matrix.map(|matrix| format!("\n\nworst-fit decreasing\n{matrix}")));
        text
    }
}

/// Returns a device on its own line.
fn device_line(device: &DeviceRow) -> String {
    let gpu = device.gpu.as_ref().map(|gpu| format!("  {}", gpu.name));
    format!(
        "\n{:10} {:4} {:>10}{}",
        device.name,
        device.kind,
        format_bytes(device.memory_bytes),
        gpu.unwrap_or_default()
    )
}

/// Returns the combination of members: a rule or steps.
fn combined(report: &CheckReport) -> String {
    let rule = report.rule.map(|rule| format!("rule {rule}"));
    let pipeline = report.pipeline.as_ref().map(PipelineSummary::words);
    rule.or(pipeline).unwrap_or_default()
}

/// Returns the shape of a sample, or the names, types and shapes of its tensors.
fn input(report: &CheckReport) -> String {
    match &report.tensors {
        Some(tensors) => tensors_in_words(tensors),
        None => format!("{:?}", report.input),
    }
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

/// Returns remarks on the members, each on its own line.
fn remarks(report: &CheckReport) -> String {
    let remarks = report.members.iter().flat_map(MemberSummary::remarks);
    let text: String = remarks.collect();
    match text.is_empty() {
        true => text,
        false => text + "\n",
    }
}

impl MemberSummary {
    /// Returns remarks on changed weights, quantisation and channels with different normalisations.
    fn remarks(&self) -> impl Iterator<Item = String> {
        let ends = |end| format!("ends in {end}; its outputs are used unchanged");
        let notes = self.weights.iter().cloned().chain(self.ends_in.map(ends));
        let own = self.own_scales.as_ref().map(ToString::to_string);
        let calibration = self.calibration.as_ref().map(ToString::to_string);
        let remarks = notes.chain(own).chain(calibration).chain(self.channels());
        remarks.map(|remark| format!("\n{}: {remark}", self.name))
    }

    fn channels(&self) -> Option<String> {
        let each = self.normalisation.iter().map(Affine::to_string);
        match self.normalisation.len() {
            0 | 1 => None,
            2..=SHOWN => Some(format!("channels {}", each.collect::<Vec<_>>().join(", "))),
            n => Some(format!("{n} channels, each with its own normalisation")),
        }
    }
}
