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
use crate::cli::reporting::{Report, ReportOptions};
use crate::cli::tables::{figures, lines};

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
    let rows = Published::all().map(row).collect::<Result<Vec<_>>>()?;
    args.report.write(&rows)
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

impl Report for Vec<NetworkRow> {
    fn text(&self) -> String {
        let mut text = format!(
            "{:<20} {:>12} {:>8} {:>10}  input",
            "network", "parameters", "GFLOPs", "weights MB"
        );
        text.extend(self.iter().map(|row| {
            let (flops, bytes) = (row.flops as f64 / 1e9, row.weight_bytes as f64 / 1e6);
            let (name, parameters, input) = (row.name, row.parameters, row.input);
            format!("\n{name:<20} {parameters:>12} {flops:>8.2} {bytes:>10.1}  {input}")
        }));
        text + "\n\nGFLOPs are per sample; a multiply-add counts as two."
    }
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
    let tensors = made_up.into_iter().flatten();
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
        tensors: tensors.map(|(of, filling)| tensor(of, filling)).collect(),
        plan: args.plan.then(|| PlanReport::new(&graph)),
        graph: &graph,
    };
    args.report.write(&report)
}

fn planned(graph: &Graph, batch: usize) -> u64 {
    let footprint = footprint(graph, batch, 1);
    footprint.weight_bytes + footprint.activation_bytes
}

fn tensor(parameter: Parameter, filling: Filling) -> TensorRow {
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

impl Report for NetworkReport<'_> {
    fn text(&self) -> String {
        let head = format!(
            "{} · {} to {} · {} layers · {} parameters · {:.2} GFLOPs · weights {:.1} MB",
            self.network,
            self.input,
            self.output,
            self.layers,
            self.parameters,
            self.flops as f64 / 1e9,
            self.weight_bytes as f64 / 1e6,
        );
        let planned = self.planned_bytes.iter();
        let planned =
            planned.map(|(batch, bytes)| format!("{} at batch {batch}", format_bytes(*bytes)));
        let planned = planned.collect::<Vec<_>>().join(", ");
        let weights = match self.synthetic {
            true => {
                let seed = self.seed;
                format!("{SYNTHETIC}: seed {seed}; trained weights are not included\n")
            }
            false => "weights from the network's file\n".to_owned(),
        };
        let parts = [
            Some(head),
            Some(format!("planned memory on one thread: {planned}")),
            Some(weights),
            tensors(&self.graph.signature()),
            Some(table(self.graph)),
            self.plan.as_ref().map(|plan| format!("\n{}", plan.text())),
        ];
        lines(parts)
    }
}

/// Returns a line for each named tensor of a sample and an answer, or `None` if each is a single
/// float32 tensor.
fn tensors(signature: &Signature) -> Option<String> {
    let lengths = signature.lengths.as_ref();
    if lengths.is_none() && signature.takes_floats() && signature.answers_floats() {
        return None;
    }
    let line = |kind: &str, spec: &TensorSpec| format!("{kind} {}: {spec}\n", one_line(&spec.name));
    let inputs = signature.inputs.iter().map(|spec| line("takes", spec));
    let outputs = signature.outputs.iter().map(|spec| line("answers", spec));
    let lengths = lengths.map(|lengths| {
        let most = lengths.largest();
        format!("lengths {lengths}; figures and layers are for length {most}\n")
    });
    Some(inputs.chain(outputs).chain(lengths).collect())
}

fn table(graph: &Graph) -> String {
    let head = ["layer", "operation", "answer", "parameters", "MFLOPs"];
    let rows = graph.nodes().iter().enumerate().map(|(at, node)| {
        [
            // Names come from files and must not contain control sequences of the terminal.
            one_line(&node.name).into_owned(),
            operation(node),
            node.shape.to_string(),
            graph.node_weights(at).to_string(),
            format!("{:.2}", graph.node_flops(at) as f64 / 1e6),
        ]
    });
    figures(2, &head, rows)
}

fn operation(node: &Node) -> String {
    match node.op {
        Op::Conv2d(c) if c.groups > 1 => {
            format!("conv {} /{}, {} groups", c.kernel, c.stride, c.groups)
        }
        Op::Conv2d(c) => format!("conv {} /{}", c.kernel, c.stride),
        Op::MaxPool(p) => format!("max-pool {} /{}", p.kernel, p.stride),
        Op::AvgPool(p) => format!("avg-pool {} /{}", p.kernel, p.stride),
        Op::Scale { by } => format!("scale {by}"),
        Op::Concat => format!("concat of {}", node.inputs.len()),
        Op::ChannelShuffle { groups } => format!("shuffle of {groups} groups"),
        Op::Channels { first, count } => format!("channels {first} to {}", first + count - 1),
        Op::LocalResponseNorm(norm) => format!("response-norm of {}", norm.size),
        Op::Activation(activation) => activation.name().into(),
        Op::Tensor(op) => op.name().into(),
        op => named_in_files(op),
    }
}

/// Returns the name of an operation in files of layers.
fn named_in_files(op: Op) -> String {
    let fields = serde_json::to_value(op).unwrap_or_default();
    fields["op"].as_str().unwrap_or_default().to_owned()
}
