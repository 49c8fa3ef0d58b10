//! Any text as a file of a calibration, whose network is the right one where it says `NETWORK`: refused
//! in few words, or ranges by which the network can be run in int8.

#![no_main]

use std::sync::LazyLock;

use divisi_runtime::compute::calibration::{Calibration, NetworkDigest};
use divisi_runtime::compute::{CpuKernels, CpuLowering, CpuPrecision, Family, Lowered};
use divisi_runtime::network::{Conv2d, Graph, GraphBuilder, NodeId, Op, Shape, Weights};
use divisi_fuzz::run_lowered;
use libfuzzer_sys::fuzz_target;

/// A network whose layers are multiplied as bytes, with its weights and the text of its digest.
static NETWORK: LazyLock<(Graph, Weights, String)> = LazyLock::new(|| {
    let mut builder = GraphBuilder::new(Shape::image(16, 4, 4));
    let mut last = NodeId::INPUT;
    let conv = |side| Op::Conv2d(Conv2d::new(16, side).same().biased());
    for (name, op) in [
        ("first", conv(3)),
        ("relu", Op::Relu),
        ("second", conv(1)),
        ("pool", Op::GlobalAvgPool),
        ("fc", Op::Linear { features: 4, bias: true }),
    ] {
        last = builder.add(name, op, &[last]).expect("fits");
    }
    let graph = builder.build().expect("a graph");
    let weights = Weights::synthetic(&graph, 0);
    let digest = NetworkDigest::from_network(&graph, &weights).to_string();
    (graph, weights, digest)
});

fuzz_target!(|text: &str| {
    let (graph, weights, digest) = &*NETWORK;
    let text = text.replacen("NETWORK", digest, 1);
    match Calibration::from_json(&text, graph, weights) {
        Ok(calibration) => {
            let written = calibration.to_json(graph);
            let again = Calibration::from_json(&written, graph, weights);
            assert_eq!(again.as_ref(), Ok(&calibration));
            let precision = CpuPrecision::Int8;
            let family = Family::best();
            let by = CpuLowering {
                kernels: CpuKernels { family, precision },
                calibration: Some(&calibration),
            };
            run_lowered(Lowered::with(graph, weights, by).expect("lowers"));
        }
        Err(error) => assert!(error.to_string().len() < 8192, "{error}"),
    }
});
