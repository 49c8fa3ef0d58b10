//! Whole networks: lanes, rows, samples wherever they lie, graphs, weights.

use std::sync::Arc;

use divisi_runtime::compute::gpu::Precision;
use divisi_runtime::compute::{
    CpuPredictor, FootprintModel, Lowered, Predictor, host_rows, read_rows, write_rows,
};
use divisi_runtime::device::gpu::DeviceSlice;
use divisi_runtime::network::builders::{Builder, Densenet, Resnet};
use divisi_runtime::network::{Graph, Shape, Weights};

use crate::bench::{Bench, alone, apart, beside_others, gpu, program, samples, upload};
use crate::emulated::Emulated;

fn resnet() -> Graph {
    let net = Resnet {
        channels: vec![8, 16],
        blocks: vec![2, 1],
        upscale: None,
    };
    let graph = Builder::Resnet(net).build(Shape::image(3, 16, 16), 10);
    graph.expect("builds").with_softmax().expect("softmax")
}

fn on_cpu(graph: &Graph, weights: &Weights, values: &[f32]) -> Vec<f32> {
    let rows = values.len() / graph.input().elements();
    let lowered = Arc::new(Lowered::new(graph, weights).expect("lowers"));
    let mut predictor = CpuPredictor::new(lowered, rows, None).expect("predictor");
    let input = host_rows(rows, graph.input().elements()).expect("rows");
    let output = host_rows(rows, graph.output().elements()).expect("rows");
    write_rows(&input, |to| to.copy_from_slice(values)).expect("write");
    predictor.predict(rows, &input, &output).expect("predict");
    read_rows(&output, <[f32]>::to_vec).expect("read")
}

#[test]
fn families_answer_as_the_processor_does() {
    let _others = beside_others();
    let densenet = Densenet {
        growth: 6,
        blocks: vec![3, 2],
        upscale: Some(20),
    };
    let densenet = Builder::Densenet(densenet).build(Shape::image(3, 16, 16), 10);
    for graph in [resnet(), densenet.expect("builds")] {
        let weights = Weights::synthetic(&graph, 3);
        let values = samples(4, graph.input());
        let expected = on_cpu(&graph, &weights, &values);
        for (precision, most) in [(Precision::F32, 1e-4), (Precision::Bf16, 2e-2)] {
            let program = program(&graph, &weights, precision);
            let mut bench = Bench::new(&program, 4, 10);
            let found = bench.answer(4, &[upload(&gpu(), &values)]);
            assert!(apart(&expected, &found) < most, "{precision}: {found:?}");
        }
    }
}

#[test]
fn samples_are_read_wherever_they_lie_and_padding_repeats_the_last() {
    let _others = beside_others();
    let graph = resnet();
    let weights = Weights::synthetic(&graph, 3);
    let each = 4 * graph.input().elements();
    let values = samples(6, graph.input());
    let expected = Emulated::new(&graph, &weights, Precision::F32).answer(&values);
    let memory = upload(&gpu(), &values);
    let mut bench = Bench::new(&program(&graph, &weights, Precision::F32), 8, 10);
    let scattered = [(5, 1), (0, 2), (3, 1)];
    let slices: Vec<DeviceSlice> = scattered
        .iter()
        .map(|(first, count)| memory.part(first * each, count * each))
        .collect();
    let found = bench.answer(6, &slices);
    let order = [5, 0, 1, 3, 3, 3];
    let wanted: Vec<f32> = order
        .iter()
        .flat_map(|row| expected[row * 10..][..10].to_vec())
        .collect();
    assert!(apart(&wanted, &found) < 1e-5);
}

#[test]
fn the_same_rows_again_and_again_and_other_rows_between() {
    let _others = beside_others();
    let graph = resnet();
    let weights = Weights::synthetic(&graph, 3);
    let mut bench = Bench::new(&program(&graph, &weights, Precision::F32), 7, 10);
    // The second run of a number of rows may be captured as a graph, later ones replay it.
    for round in 0..5 {
        for rows in [7, 1, 4] {
            let values: Vec<f32> = samples(rows, graph.input())
                .iter()
                .map(|v| v * (1.0 - 0.1 * round as f32))
                .collect();
            let expected = Emulated::new(&graph, &weights, Precision::F32).answer(&values);
            let found = bench.answer(rows, &[upload(&gpu(), &values)]);
            assert!(
                apart(&expected, &found) < 1e-5,
                "round {round}, {rows} rows"
            );
        }
    }
}

#[test]
fn lanes_work_beside_each_other_over_one_copy_of_the_weights() {
    let _others = beside_others();
    let graph = resnet();
    let weights = Weights::synthetic(&graph, 3);
    let values = samples(4, graph.input());
    let expected = Emulated::new(&graph, &weights, Precision::F32).answer(&values);
    let memory = upload(&gpu(), &values);
    let program = program(&graph, &weights, Precision::F32);
    let mut lanes: Vec<Bench> = (0..4).map(|_| Bench::new(&program, 4, 10)).collect();
    for _ in 0..10 {
        for lane in &mut lanes {
            lane.launch(4, std::slice::from_ref(&memory));
        }
        for lane in &lanes {
            assert!(apart(&expected, &lane.wait(4)) < 1e-5);
        }
    }
}

#[test]
fn a_batch_larger_than_the_lane_and_an_empty_one_are_refused() {
    let _others = beside_others();
    let graph = resnet();
    let weights = Weights::synthetic(&graph, 3);
    let program = program(&graph, &weights, Precision::F32);
    let mut lane = program.lane(2).expect("a lane");
    let memory = upload(&gpu(), &samples(3, graph.input()));
    let large = lane.launch(3, &[memory]).expect_err("too large");
    assert!(large.to_string().contains("batch of 3"), "{large}");
    let empty = lane.launch(1, &[]).expect_err("no sample");
    assert!(empty.to_string().contains("found none"), "{empty}");
}

/// Within what the driver rounds allocations to.
fn close(counted: u64, booked: u64) -> bool {
    counted.abs_diff(booked) <= 16 << 10
}

#[test]
fn the_ledger_books_what_the_driver_counts() {
    let _nobody = alone();
    let graph = resnet();
    let weights = Weights::synthetic(&graph, 3);
    let used = || gpu().usage().expect("usage").used;
    for precision in [Precision::F32, Precision::Bf16] {
        let before = used();
        let program = program(&graph, &weights, precision);
        let of_weights = used() - before;
        // Those of an elastic worker, which take most.
        let lanes = [1, 1, 2, 4, 8].map(|rows| program.lane(rows).expect("a lane"));
        let of_lanes = used() - before - of_weights;
        let booked = FootprintModel::of_gpu(&graph, precision).at(16, 1);
        // Samples that a batch brings along are taken when the first one does.
        let staged = 4 * 16 * graph.input().elements() as u64;
        assert!(
            close(of_weights, booked.weight_bytes),
            "{precision}: {of_weights}"
        );
        assert!(
            close(of_lanes, booked.activation_bytes - staged),
            "{precision}: {of_lanes}"
        );
        drop((lanes, program));
        assert_eq!(used(), before, "{precision}");
    }
}
