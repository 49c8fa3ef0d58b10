//! `divisi network list` and `divisi network show`: the published networks, and one network's
//! layers, costs and memory. The JSON report suffices to rebuild the network with the same
//! synthetic weights.

use std::collections::BTreeMap;

use anyhow::Result;
use divisi_runtime::compute::footprint;
use divisi_runtime::device::format_bytes;
use divisi_runtime::network::builders::{Builder, Published};
use divisi_runtime::network::{Filling, Graph, Node, Op, Parameter, Shape, fillings};
use divisi_runtime::tensor::{Signature, TensorSpec};
use divisi_runtime::words::one_line;
use serde::Serialize;

use super::chosen::{ChosenNetwork, NetworkChoice, SYNTHETIC};
use super::plan::PlanReport;
use crate::cli::reporting::ReportOptions;

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct NetworkListArgs {
    #[command(flatten)]
    report: ReportOptions,
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct NetworkShowArgs {
    #[command(flatten)]
    network: NetworkChoice,
    /// Seed of synthetic weights
    #[arg(long, default_value_t = 0, value_name = "S")]
    seed: u64,
    /// Also print this processor's plan: steps, kernels and costs
    #[arg(long)]
    plan: bool,
    #[command(flatten)]
    report: ReportOptions,
}

/// A network in the list, with 1000 classes.
#[derive(Serialize)]
struct NetworkRow {
    name: &'static str,
    parameters: u64,
    flops: u64,
    weight_bytes: u64,
    input: Shape,
}

pub(crate) fn list(args: &NetworkListArgs) -> Result<()> {
    let rows: Vec<NetworkRow> = Published::all().map(row).collect::<Result<_>>()?;
    args.report.write(&rows, &list_text(&rows))
}

fn row(network: Published) -> Result<NetworkRow> {
    let input = network.input();
    let graph = Builder::Published(network).build(input, 1000)?;
    Ok(NetworkRow {
        name: network.name(),
        parameters: graph.parameter_count(),
        flops: graph.flops(),
        weight_bytes: graph.weight_bytes(),
        input,
    })
}

fn list_text(rows: &[NetworkRow]) -> String {
    let mut text = format!(
        "{:<20} {:>12} {:>8} {:>10}  input",
        "network", "parameters", "GFLOPs", "weights MB"
    );
    for row in rows {
        text += &format!(
            "\n{:<20} {:>12} {:>8.2} {:>10.1}  {}",
            row.name,
            row.parameters,
            row.flops as f64 / 1e9,
            row.weight_bytes as f64 / 1e6,
            row.input
        );
    }
    text + "\n\nGFLOPs are per sample; a multiply-add counts as two."
}

/// The batch sizes in the memory report.
const BATCHES: [usize; 4] = [1, 8, 32, 128];

#[derive(Serialize)]
struct NetworkReport<'a> {
    network: &'a str,
    input: Shape,
    output: Shape,
    layers: usize,
    parameters: u64,
    flops: u64,
    weight_bytes: u64,
    /// Planned memory of weights and activations on one thread, by batch size.
    planned_bytes: BTreeMap<usize, u64>,
    /// Whether the weights are synthetic, by the recipes in `tensors`.
    synthetic: bool,
    seed: u64,
    tensors: Vec<TensorRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<PlanReport>,
    /// Every node reads values: 0 is the input, node `i` (from 0) computes value `i + 1`.
    graph: &'a Graph,
}

/// A parameter and the recipe of its synthetic values (`divisi_runtime::network::Filling`).
#[derive(Serialize)]
struct TensorRow {
    name: String,
    shape: Vec<usize>,
    #[serde(flatten)]
    recipe: TensorRecipe,
}

#[derive(Serialize)]
#[serde(untagged)]
enum TensorRecipe {
    /// The key as text, since many JSON readers lack 64-bit numbers.
    Uniform {
        key: String,
        bound: f32,
    },
    Constant {
        constant: f32,
    },
}

pub(crate) fn show(args: &NetworkShowArgs) -> Result<()> {
    let chosen = ChosenNetwork::new(&args.network)?;
    let synthetic = !chosen.has_weights();
    let ChosenNetwork { name, graph, .. } = chosen;
    let made_up = synthetic.then(|| fillings(&graph, args.seed));
    let report = NetworkReport {
        network: &name,
        input: graph.input(),
        output: graph.output(),
        layers: graph.nodes().len(),
        parameters: graph.parameter_count(),
        flops: graph.flops(),
        weight_bytes: graph.weight_bytes(),
        planned_bytes: BATCHES.map(|batch| (batch, planned(&graph, batch))).into(),
        synthetic,
        seed: args.seed,
        tensors: made_up.into_iter().flatten().map(tensor).collect(),
        plan: args.plan.then(|| PlanReport::new(&graph)),
        graph: &graph,
    };
    args.report.write(&report, &text(&report))
}

fn planned(graph: &Graph, batch: usize) -> u64 {
    let footprint = footprint(graph, batch, 1);
    footprint.weight_bytes + footprint.activation_bytes
}

fn tensor((parameter, filling): (Parameter, Filling)) -> TensorRow {
    TensorRow {
        name: parameter.name,
        shape: parameter.shape,
        recipe: match filling {
            Filling::Constant(constant) => TensorRecipe::Constant { constant },
            Filling::Uniform { key, bound } => TensorRecipe::Uniform {
                key: key.to_string(),
                bound,
            },
        },
    }
}

fn text(report: &NetworkReport<'_>) -> String {
    let mut text = format!(
        "{} · {} to {} · {} layers · {} parameters · {:.2} GFLOPs · weights {:.1} MB\nplanned memory on one thread:",
        report.network,
        report.input,
        report.output,
        report.layers,
        report.parameters,
        report.flops as f64 / 1e9,
        report.weight_bytes as f64 / 1e6,
    );
    for (batch, bytes) in &report.planned_bytes {
        text += &format!(" {} at batch {batch},", format_bytes(*bytes));
    }
    text.pop();
    text += &match report.synthetic {
        true => format!(
            "\n{SYNTHETIC}: seed {}; trained weights are not included\n",
            report.seed
        ),
        false => "\nweights from the network's file\n".to_owned(),
    };
    text += &tensors(&report.graph.signature());
    text += &table(report.graph);
    text += &report
        .plan
        .as_ref()
        .map(PlanReport::text)
        .unwrap_or_default();
    text
}

/// Returns a line for each named tensor of a sample and an answer, unless each is a single float32
/// tensor.
fn tensors(signature: &Signature) -> String {
    let lengths = signature.lengths.as_ref();
    if lengths.is_none() && signature.takes_floats() && signature.answers_floats() {
        return String::new();
    }
    let lines = |kind: &'static str, specs: &[TensorSpec]| -> String {
        let line = |spec: &TensorSpec| format!("\n{kind} {}: {spec}", one_line(&spec.name));
        specs.iter().map(line).collect()
    };
    let lengths = lengths.map_or_else(String::new, |lengths| {
        let most = lengths.largest();
        format!("\nlengths {lengths}; figures and layers are for length {most}")
    });
    lines("takes", &signature.inputs) + &lines("answers", &signature.outputs) + &lengths + "\n"
}

fn table(graph: &Graph) -> String {
    // Names come from files and must not contain control sequences of the terminal.
    let name = |node: &Node| one_line(&node.name).into_owned();
    let widths = graph.nodes().iter().map(|n| name(n).chars().count());
    let width = widths.max().unwrap_or(0);
    let mut text = format!(
        "\n{:width$}  {:<22} {:>12} {:>12} {:>10}",
        "layer", "operation", "answer", "parameters", "MFLOPs"
    );
    for (i, node) in graph.nodes().iter().enumerate() {
        text += &format!(
            "\n{:width$}  {:<22} {:>12} {:>12} {:>10.2}",
            name(node),
            operation(node),
            node.shape.to_string(),
            graph.node_weights(i),
            graph.node_flops(i) as f64 / 1e6
        );
    }
    text
}

fn operation(node: &Node) -> String {
    match node.op {
        Op::Conv2d(c) if c.groups > 1 => {
            format!("conv {} /{}, {} groups", c.kernel, c.stride, c.groups)
        }
        Op::Conv2d(c) => format!("conv {} /{}", c.kernel, c.stride),
        Op::MaxPool(p) => format!("max-pool {} /{}", p.kernel, p.stride),
        Op::AvgPool(p) => format!("avg-pool {} /{}", p.kernel, p.stride),
        Op::BatchNorm { .. } => "batch-norm".into(),
        Op::Relu => "relu".into(),
        Op::Relu6 => "relu6".into(),
        Op::Scale { by } => format!("scale {by}"),
        Op::GlobalAvgPool => "global-avg-pool".into(),
        Op::AdaptiveAvgPool { .. } => "adaptive-avg-pool".into(),
        Op::Linear { .. } => "linear".into(),
        Op::Add => "add".into(),
        Op::Concat => format!("concat of {}", node.inputs.len()),
        Op::Flatten => "flatten".into(),
        Op::Upscale { .. } => "upscale".into(),
        Op::Softmax => "softmax".into(),
        Op::MaskedSoftmax => "masked-softmax".into(),
        Op::Mul => "mul".into(),
        Op::ChannelShuffle { groups } => format!("shuffle of {groups} groups"),
        Op::Channels { first, count } => format!("channels {first} to {}", first + count - 1),
        Op::LocalResponseNorm(norm) => format!("response-norm of {}", norm.size),
        Op::LayerNorm { .. } => "layer-norm".into(),
        Op::Activation(activation) => activation.name().into(),
        Op::Tensor(op) => op.name().into(),
    }
}
