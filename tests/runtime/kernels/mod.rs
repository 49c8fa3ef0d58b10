//! The kernels of every family that this processor has answer as plain Candle does.

mod activations;
mod attention;
mod batches;
mod channels;
mod convolutions;
mod depthwise;
mod halves;
mod integers;
mod joined;
mod layers;
mod nonfinite;
mod nonfinite_tensors;
mod pairs;
mod quantized;
mod reduced;
mod rounded;
mod shared;
mod stepped;
mod tensors;
mod views;
mod winograd;

use std::sync::{Arc, LazyLock};

use candle_core::{Device, Tensor};
use divisi_runtime::compute::{Family, Lowered, NetworkOp, reference};
use divisi_runtime::device::ThreadTeam;
use divisi_runtime::network::{Graph, GraphBuilder, NodeId, Op, Shape, Weights};
use proptest::prelude::*;

use crate::compute::{samples, weights};

/// The largest error of an answer, as a share of the largest one.
const TOLERANCE: f32 = 1e-4;

/// The same in bf16, each of whose numbers is off by up to 2⁻⁸ of itself.
const BF16_TOLERANCE: f32 = 0.05;

/// Teams of one, two and three threads.
static TEAMS: LazyLock<[Arc<ThreadTeam>; 3]> = LazyLock::new(|| {
    [1, 2, 3].map(|threads| Arc::new(ThreadTeam::start(threads, || {}).expect("threads")))
});

/// The team of so many threads; none for 0.
fn team(threads: usize) -> Option<Arc<ThreadTeam>> {
    let at = threads.checked_sub(1)?;
    Some(Arc::clone(&TEAMS[at]))
}

/// `[batch, values]` of what a network takes.
fn input(graph: &Graph, batch: usize) -> Tensor {
    rows(samples(batch, graph.input()), batch)
}

fn rows(values: Vec<f32>, batch: usize) -> Tensor {
    let columns = values.len() / batch;
    Tensor::from_vec(values, (batch, columns), &Device::Cpu).expect("rows")
}

fn values(tensor: &Tensor) -> Vec<f32> {
    let flat = tensor.flatten_all().expect("flat");
    flat.to_vec1().expect("values")
}

/// Returns the answers of plain Candle.
fn plain(graph: &Graph, weights: &Weights, x: &Tensor) -> Vec<f32> {
    let mut source = reference::Fixed::new(graph, weights);
    values(&reference::run(graph, &mut source, x).expect("plain"))
}

fn lowered(graph: &Graph, weights: &Weights, family: Family) -> Arc<Lowered> {
    Arc::new(Lowered::with(graph, weights, family).expect("lowers"))
}

/// Returns the answers of the lowered network with memory for just these samples.
fn answer(network: &Arc<Lowered>, x: &Tensor, threads: usize) -> Vec<f32> {
    let batch = x.dim(0).expect("batch");
    let op = NetworkOp::new(Arc::clone(network), batch, team(threads)).expect("op");
    values(&x.apply_op1_no_bwd(&op).expect("runs"))
}

/// The absolute value of the largest of some values.
fn largest(values: &[f32]) -> f32 {
    values.iter().fold(0.0, |most, v| v.abs().max(most))
}

/// The largest difference, as a share of the largest value of `plain`; infinite where
/// either is not finite.
fn difference(plain: &[f32], found: &[f32]) -> f32 {
    difference_over(plain, found, 1e-3)
}

/// The largest difference, as a share of the largest value of `plain`, or of `least` if that is larger.
fn difference_over(plain: &[f32], found: &[f32], least: f32) -> f32 {
    assert_eq!(plain.len(), found.len(), "as many answers");
    let scale = largest(plain).max(least);
    let each = plain.iter().zip(found).map(|(a, b)| (a - b).abs() / scale);
    each.fold(0.0, |most, off| match off.is_nan() {
        true => f32::INFINITY,
        false => off.max(most),
    })
}

/// Every family answers as plain Candle does.
fn check(graph: &Graph, batch: usize, threads: usize) -> Result<(), TestCaseError> {
    check_after(graph, graph, batch, threads)
}

/// Every family answers as plain Candle does, where `sums` is the network without the activation at its
/// end: sums round by their own size, and an activation that is bounded leaves their errors and not
/// their size.
fn check_after(
    sums: &Graph,
    graph: &Graph,
    batch: usize,
    threads: usize,
) -> Result<(), TestCaseError> {
    let least = largest(&plain(sums, &weights(sums), &input(sums, batch))).max(1e-3);
    let weights = weights(graph);
    let x = input(graph, batch);
    let plain = plain(graph, &weights, &x);
    for family in Family::available() {
        let found = answer(&lowered(graph, &weights, family), &x, threads);
        let off = difference_over(&plain, &found, least);
        prop_assert!(off < TOLERANCE, "{family}: off by {off}");
        let found = answer(&reduced::lowered_bf16(graph, &weights, family), &x, threads);
        let off = difference_over(&plain, &found, least);
        prop_assert!(off < BF16_TOLERANCE, "{family} bf16: off by {off}");
    }
    Ok(())
}

/// So many cases, or fewer where the environment asks for fewer (tools that look for
/// faults in memory are slow).
fn cases(most: u32) -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES")
        .ok()
        .and_then(|n| n.parse().ok());
    ProptestConfig::with_cases(asked.unwrap_or(most).min(most))
}

/// A network under construction whose layers are named in their order.
struct Net(GraphBuilder);

impl Net {
    fn new(input: Shape) -> Self {
        Net(GraphBuilder::new(input))
    }

    /// The layer's value; none where it does not take these inputs.
    fn try_add(&mut self, op: Op, inputs: &[NodeId]) -> Option<NodeId> {
        let name = format!("layer{}", self.0.last().index());
        self.0.add(name, op, inputs).ok()
    }

    fn add(&mut self, op: Op, inputs: &[NodeId]) -> NodeId {
        self.try_add(op, inputs).expect("a layer that fits")
    }

    /// A layer over the value added last.
    fn then(mut self, op: Op) -> Self {
        let last = self.0.last();
        self.add(op, &[last]);
        self
    }

    /// The network, its answer made a row where it is an image.
    fn build(mut self) -> Graph {
        let last = self.0.last();
        if matches!(self.0.shape(last), Shape::Image { .. }) {
            self.add(Op::Flatten, &[last]);
        }
        self.0.build().expect("graph")
    }
}
