//! Any bytes as a safetensors file: refused, or whole weights of the graph.

#![no_main]

use std::sync::LazyLock;

use divisi::network::{Graph, GraphBuilder, NodeId, Op, Shape, Weights};
use libfuzzer_sys::fuzz_target;

static GRAPH: LazyLock<Graph> = LazyLock::new(|| {
    let mut builder = GraphBuilder::new(Shape::vector(3));
    let linear = Op::Linear {
        features: 2,
        bias: true,
    };
    builder.add("fc", linear, &[NodeId::INPUT]).expect("fits");
    builder.build().expect("a graph")
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
    let Ok(weights) = Weights::from_safetensors(bytes, &GRAPH) else {
        return;
    };
    for parameter in GRAPH.parameters() {
        let values = weights.get(&parameter.name);
        assert_eq!(values.len(), parameter.elements());
        assert!(values.iter().all(|v| v.is_finite()));
    }
}
