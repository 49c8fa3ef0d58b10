//! Trained members read digits as well in int8 as in float32.

use std::sync::Arc;

use candle_core::{Device, Tensor};
use divisi_model::ensemble::Ensemble;
use divisi_runtime::compute::{CpuKernels, CpuPrecision, Family, Lowered, NetworkOp};

use crate::common::digits;

/// The share of digits that the members read right together, by the mean of their answers.
fn accuracy(ensemble: &Ensemble, kernels: CpuKernels) -> f64 {
    let samples = ensemble.calibration.as_deref().expect("digits");
    let labels = samples.labels().expect("labels");
    let pixels: Vec<f32> = samples.values().iter().map(|v| v / 16.0).collect();
    let x = Tensor::from_vec(pixels, (samples.len(), 64), &Device::Cpu).expect("rows");
    let mut sums = vec![0.0f32; samples.len() * 10];
    for member in &ensemble.members {
        let graph = member.graph.with_softmax().expect("a softmax follows");
        let network = Lowered::with(&graph, &member.weights, kernels).expect("lowers");
        let op = NetworkOp::new(Arc::new(network), samples.len(), None).expect("memory");
        let found = x.apply_op1_no_bwd(&op).and_then(|y| y.flatten_all());
        let found: Vec<f32> = found.and_then(|y| y.to_vec1()).expect("answers");
        sums.iter_mut().zip(found).for_each(|(sum, p)| *sum += p);
    }
    let right = sums.chunks_exact(10).zip(labels).filter(|(row, label)| {
        let most = (0..10).max_by(|&a, &b| row[a].total_cmp(&row[b]));
        most == Some(**label)
    });
    right.count() as f64 / labels.len() as f64
}

#[test]
fn an_ensemble_of_trained_members_reads_digits_as_well_in_int8() {
    let ensemble = digits();
    for family in Family::available() {
        let [float, int8] = [CpuPrecision::F32, CpuPrecision::Int8]
            .map(|precision| accuracy(&ensemble, CpuKernels { family, precision }));
        assert!(float > 0.9, "{family}: {float}");
        assert!(
            int8 >= float - 0.003,
            "{family}: {int8} where float32 has {float}"
        );
    }
}
