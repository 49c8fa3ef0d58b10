//! Operators answer what they are defined to, at the edges of their definitions: infinities, NaN, nothing
//! to sum, nothing to look at, numbers beyond a type. Every family of kernels does, plain Candle does, and
//! so does the plan for GPUs as emulated.

mod attention;
mod casts;
mod mean_variance;
mod selections;
mod sums;
mod volumes;

use std::sync::Arc;

use candle_core::{Device, Tensor};
use divisi_runtime::compute::gpu::{self, Precision};
use divisi_runtime::compute::{Family, Lowered, NetworkOp, reference};
use divisi_runtime::onnx::{OnnxModel, OnnxNetwork};

use crate::emulated::Emulated;
use crate::made_onnx::{Attribute, MadeModel};

const NAN: f32 = f32::NAN;
const INF: f32 = f32::INFINITY;

/// A node of `x` alone that answers `y`.
fn single(kind: &str, attributes: &[(&str, Attribute<'_>)]) -> MadeModel {
    MadeModel::default().node_with(kind, &["x"], &["y"], attributes)
}

fn network(file: Vec<u8>) -> OnnxNetwork {
    let model = OnnxModel::from_bytes(file).expect("a model");
    model.network(None).expect("a network")
}

fn refused(file: Vec<u8>) -> String {
    let model = OnnxModel::from_bytes(file).expect("a model");
    model.network(None).expect_err("refused").to_string()
}

/// Returns what each way to compute a network answers to one sample, by its name.
fn everywhere(network: &OnnxNetwork, x: &[f32]) -> Vec<(String, Vec<f32>)> {
    let OnnxNetwork { graph, weights, .. } = network;
    let row = Tensor::from_vec(x.to_vec(), (1, x.len()), &Device::Cpu).expect("a row");
    let values = |y: Tensor| y.flatten_all().and_then(|y| y.to_vec1()).expect("values");
    let mut all: Vec<(String, Vec<f32>)> = Vec::new();
    for family in Family::available() {
        let lowered = Arc::new(Lowered::with(graph, weights, family).expect("lowers"));
        let op = NetworkOp::new(lowered, 1, None).expect("memory");
        let found = values(row.apply_op1_no_bwd(&op).expect("runs"));
        all.push((family.to_string(), found));
    }
    let plain = reference::run(graph, &mut reference::Fixed::new(graph, weights), &row);
    all.push(("Candle".into(), values(plain.expect("plain"))));
    if gpu::check(graph, Precision::F32).is_ok() {
        let emulated = Emulated::new(graph, weights, Precision::F32);
        all.push(("for GPUs".into(), emulated.answer(x)));
    }
    all
}

fn are_near(a: f32, b: f32) -> bool {
    a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= 1e-5 * b.abs().max(1.0)
}

/// Checks all ways to compute a file.
fn check(name: &str, file: Vec<u8>, x: &[f32], expected: &[f32]) {
    for (way, found) in everywhere(&network(file), x) {
        let same = found.len() == expected.len();
        let near = same && found.iter().zip(expected).all(|(a, b)| are_near(*a, *b));
        assert!(near, "{name}, {way}: {found:?}, not {expected:?}");
    }
}
