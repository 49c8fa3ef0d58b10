//! Any bytes as a file of weights: refused in few words, or whole weights of the graph.

#![no_main]

use std::sync::LazyLock;

use divisi_runtime::network::{
    Graph, GraphBuilder, Naming, NodeId, Op, ParameterRole, Pattern, Shape, Weights, WeightsError,
};
use libfuzzer_sys::fuzz_target;

static GRAPH: LazyLock<Graph> = LazyLock::new(|| {
    let mut builder = GraphBuilder::new(Shape::vector(3));
    let linear = Op::Linear {
        features: 2,
        bias: true,
    };
    let fc = builder.add("fc", linear, &[NodeId::INPUT]).expect("fits");
    builder.add("bn", Op::BatchNorm { eps: 1e-5 }, &[fc]).expect("fits");
    builder.build().expect("a graph")
});

/// What a manifest may say of names.
static NAMING: LazyLock<Naming> = LazyLock::new(|| Naming {
    prefix: Some("net.".into()),
    rename: [("head".into(), "fc".into()), ("n".into(), "bn".into())].into(),
    ignore: vec![Pattern::new("*.total_*"), Pattern::new("x*")],
});

fuzz_target!(|bytes: &[u8]| {
    check(bytes);
    if let Some(file) = with_true_length(bytes) {
        check(&file);
    }
});

/// Two bytes say how long the header is, the rest is a file without its length: what is
/// behind the length is reached more often so.
fn with_true_length(bytes: &[u8]) -> Option<Vec<u8>> {
    let (length, rest) = bytes.split_first_chunk::<2>()?;
    let length = usize::from(u16::from_le_bytes(*length)).min(rest.len());
    let mut file = (length as u64).to_le_bytes().to_vec();
    file.extend(rest);
    Some(file)
}

fn check(bytes: &[u8]) {
    whole(Weights::from_safetensors(bytes, &GRAPH));
    whole(Weights::from_safetensors_as(bytes, &GRAPH, &NAMING));
}

fn whole(read: Result<Weights, WeightsError>) {
    let weights = match read {
        Ok(weights) => weights,
        // Errors quote names of the file, a handful of each kind and not all of them.
        Err(error) => return assert!(error.to_string().len() < 32_768),
    };
    assert!(weights.notes().iter().all(|n| n.to_string().len() < 8192));
    for parameter in GRAPH.parameters() {
        let values = weights.get(&parameter.name);
        assert_eq!(values.len(), parameter.elements());
        assert!(values.iter().all(|v| v.is_finite()));
        let variance = parameter.role == ParameterRole::RunningVariance;
        assert!(!variance || values.iter().all(|v| *v >= 0.0));
    }
}
