//! Networks with tensors on GPUs, by their plan as emulated: indices are exact in every precision,
//! and what has no kernel is refused by name.

use divisi_runtime::compute::ComputeError;
use divisi_runtime::compute::gpu::{self, Precision};
use divisi_runtime::network::{
    Binary, Dims, Graph, GraphBuilder, NodeId, Op, Shape, TensorOp, Unary, Weights,
};
use divisi_runtime::onnx::OnnxModel;
use divisi_runtime::tensor::{Lengths, TensorValue};

use crate::emulated::Emulated;

fn dims(sizes: &[usize]) -> Dims {
    Dims::new(sizes).expect("few")
}

/// Rows of a table of `rows`, that come from the input by way of `before`.
fn looked_up(rows: usize, before: &[TensorOp]) -> Graph {
    let mut b = GraphBuilder::new(Shape::vector(3));
    let mut x = NodeId::INPUT;
    for (at, op) in before.iter().enumerate() {
        x = b
            .add(format!("before{at}"), Op::Tensor(*op), &[x])
            .expect("fits");
    }
    let features = 1;
    let table = TensorOp::Embedding { rows, features };
    b.add("table", Op::Tensor(table), &[x]).expect("fits");
    b.build().expect("graph")
}

/// Weights whose tables tell a row from its neighbours by numbers that every precision has.
fn numbered(graph: &Graph) -> Weights {
    let all = Weights::synthetic(graph, 1);
    let values = all.iter().map(|(name, values)| {
        let numbers = (0..values.len()).map(|i| (i % 251) as f32);
        (name.to_owned(), numbers.collect())
    });
    Weights::from_values(values.collect(), graph).expect("same shapes")
}

#[test]
fn indices_are_exact_in_every_precision() {
    let kept = [
        TensorOp::Unary { kind: Unary::Abs },
        TensorOp::View {
            shape: Shape::Tensor(dims(&[3, 1])),
        },
        TensorOp::Transpose {
            order: dims(&[1, 0]),
        },
        TensorOp::Unary { kind: Unary::Floor },
    ];
    let ids = [257.0, 30_521.0, 511.0];
    for before in [&kept[..0], &kept] {
        let graph = looked_up(30_522, before);
        let weights = numbered(&graph);
        for precision in Precision::ALL {
            let found = Emulated::new(&graph, &weights, precision).answer(&ids);
            let expected = ids.map(|id| (id as usize % 251) as f32);
            assert_eq!(found, expected, "{precision} behind {before:?}");
        }
    }
}

#[test]
fn indices_may_be_sums_of_values_that_are_exact() {
    let sums = TensorOp::CumSum {
        axis: 0,
        exclusive: false,
        reverse: false,
    };
    let graph = looked_up(1000, &[sums]);
    let weights = numbered(&graph);
    let found = Emulated::new(&graph, &weights, Precision::Bf16).answer(&[200.0, 101.0, 3.0]);
    assert_eq!(found, [200.0, 50.0, 53.0]);
}

#[test]
fn what_has_no_kernel_is_refused_by_name() {
    let backwards = TensorOp::Slice {
        axis: 0,
        start: 63,
        count: 64,
        step: -1,
    };
    let mut b = GraphBuilder::new(Shape::vector(64));
    let input = NodeId::INPUT;
    let x = b
        .add("backwards", Op::Tensor(backwards), &[input])
        .expect("fits");
    let sum = TensorOp::Binary { kind: Binary::Add };
    b.add("sum", Op::Tensor(sum), &[x, input]).expect("fits");
    let graph = b.build().expect("graph");
    match gpu::check(&graph, Precision::F32) {
        Err(ComputeError::NotOnGpu { layers }) => assert_eq!(layers, ["backwards"]),
        other => panic!("expected a refusal, found {other:?}"),
    }
}

/// Ids that are computed by a layer would have to be exact where its weights are not.
#[test]
fn indices_that_a_layer_computes_are_refused_where_they_would_be_rounded() {
    let mut b = GraphBuilder::new(Shape::vector(3));
    let linear = Op::Linear {
        features: 3,
        bias: true,
    };
    let x = b.add("ids", linear, &[NodeId::INPUT]).expect("fits");
    let table = TensorOp::Embedding {
        rows: 9,
        features: 2,
    };
    b.add("table", Op::Tensor(table), &[x]).expect("fits");
    let graph = b.build().expect("graph");
    assert!(gpu::check(&graph, Precision::F32).is_ok());
    match gpu::check(&graph, Precision::Bf16) {
        Err(ComputeError::NotOnGpu { layers }) => assert!(layers.contains(&"ids".to_owned())),
        other => panic!("expected a refusal, found {other:?}"),
    }
}

#[test]
fn samples_run_at_the_largest_length_where_a_mask_hides_what_is_padded() {
    let model = || {
        let file = include_bytes!("onnx_files/lengths.onnx");
        OnnxModel::from_bytes(file.to_vec()).expect("decodes")
    };
    let varying = |lengths: Lengths| {
        let open = model().open_lengths().expect("open");
        model().varying(&open, lengths).expect("varies").0
    };
    let unmasked = varying(Lengths::exact(16).expect("lengths"));
    let refused = gpu::check(&unmasked.graph, Precision::F32).expect_err("no mask");
    assert!(matches!(refused, ComputeError::LengthsOnGpu), "{refused}");
    let masked = Lengths::padded(vec![8, 16], "attention_mask".into()).expect("lengths");
    let largest = varying(masked);
    gpu::check(&largest.graph, Precision::F32).expect("a mask");
    let open = model().open_lengths().expect("open");
    let short = model().network_at(&open, 5).expect("a length");
    let tensors: Vec<(String, TensorValue)> = largest
        .graph
        .signature()
        .inputs
        .iter()
        .map(|spec| {
            let ones = TensorValue::of_floats(spec.data_type, vec![1, 5], &[1.0; 5]);
            (spec.name.clone(), ones.expect("integers"))
        })
        .collect();
    let answers = [&largest, &short].map(|network| {
        let signature = network.graph.signature();
        let (row, _) = signature.rows(&tensors).expect("fits");
        let emulated = Emulated::new(&network.graph, &network.weights, Precision::F32);
        let answers = signature
            .answers_at(&emulated.answer(&row), 1, 5)
            .expect("whole");
        let floats = answers
            .iter()
            .map(|(_, value)| value.floats().expect("floats"));
        floats.collect::<Vec<_>>().concat()
    });
    let pairs = answers[0].iter().zip(&answers[1]);
    let apart = pairs.fold(0.0f32, |most, (a, b)| most.max((a - b).abs()));
    assert_eq!(answers[0].len(), answers[1].len());
    assert!(apart < 1e-4, "{apart}");
}
