//! Steps on tensors of any rank, in every precision, answer as the plan emulated in host memory.

use divisi_runtime::network::{
    Binary, Border, Dims, Graph, GraphBuilder, NodeId, Op, Reduction, Shape, TensorOp, Unary,
};

use crate::bench::beside_others;
use crate::geometry::{check, check_layers};
use crate::transformer::Transformer;

fn dims(sizes: &[usize]) -> Dims {
    Dims::new(sizes).expect("few")
}

/// A graph whose input row holds tensors of these dimensions one after another.
fn parts(inputs: &[&[usize]]) -> (GraphBuilder, Vec<NodeId>) {
    let shapes: Vec<Shape> = inputs.iter().map(|d| Shape::tensor(dims(d))).collect();
    let all = shapes.iter().map(|s| s.elements()).sum();
    let mut b = GraphBuilder::new(Shape::vector(all));
    let mut first = 0;
    let mut parts = Vec::new();
    for &shape in &shapes {
        parts.push(then(
            &mut b,
            TensorOp::Part { first, shape },
            &[NodeId::INPUT],
        ));
        first += shape.elements();
    }
    (b, parts)
}

/// Adds a layer that is named after its place.
fn then(b: &mut GraphBuilder, op: TensorOp, inputs: &[NodeId]) -> NodeId {
    let name = format!("layer{}", b.last().index());
    b.add(name, Op::Tensor(op), inputs)
        .expect("a layer that fits")
}

fn applied(op: TensorOp, inputs: &[&[usize]]) -> Graph {
    let (mut b, parts) = parts(inputs);
    then(&mut b, op, &parts);
    b.build().expect("graph")
}

#[test]
fn functions_and_moves() {
    let _others = beside_others();
    let (a, row): (&[usize], &[usize]) = (&[3, 5, 8], &[1, 8]);
    let two = |kind| TensorOp::Binary { kind };
    let border = |border| TensorOp::Pad {
        before: dims(&[0, 2, 1]),
        after: dims(&[1, 0, 3]),
        border,
    };
    let cases: Vec<(TensorOp, Vec<&[usize]>)> = vec![
        (two(Binary::Add), vec![a, row]),
        (two(Binary::Mul), vec![row, a]),
        (two(Binary::Max), vec![a, a]),
        (two(Binary::LessOrEqual), vec![a, row]),
        (TensorOp::Unary { kind: Unary::Exp }, vec![a]),
        (TensorOp::Unary { kind: Unary::Erf }, vec![a]),
        (
            TensorOp::With {
                kind: Binary::Sub,
                dims: dims(&[5, 1]),
                first: true,
            },
            vec![a],
        ),
        (TensorOp::Where, vec![a, row, a]),
        (
            TensorOp::Transpose {
                order: dims(&[2, 0, 1]),
            },
            vec![a],
        ),
        (
            TensorOp::Slice {
                axis: 1,
                start: 1,
                count: 2,
                step: 2,
            },
            vec![a],
        ),
        (TensorOp::Join { axis: 1 }, vec![a, a]),
        (border(Border::Constant(0.5)), vec![a]),
        (border(Border::Edge), vec![a]),
        (border(Border::Reflect), vec![a]),
        (TensorOp::Expand { dims: dims(a) }, vec![row]),
        (TensorOp::Row, vec![a, row]),
    ];
    for (op, inputs) in cases {
        check(&format!("{op:?}"), &applied(op, &inputs));
    }
}

#[test]
fn reductions_sums_and_lookups() {
    let _others = beside_others();
    let a: &[usize] = &[3, 70, 8];
    for kind in [Reduction::Mean, Reduction::Max, Reduction::L2] {
        for axes in [&[0][..], &[1], &[2], &[0, 2], &[1, 2]] {
            let axes = dims(axes);
            let keep = false;
            let op = TensorOp::Reduce { kind, axes, keep };
            check(&format!("{op:?}"), &applied(op, &[a]));
        }
    }
    let scan = |exclusive, reverse| TensorOp::CumSum {
        axis: 1,
        exclusive,
        reverse,
    };
    for op in [scan(false, false), scan(true, true)] {
        check(&format!("{op:?}"), &applied(op, &[&[3, 9, 4]]));
    }
    check(
        "gather",
        &applied(TensorOp::Gather { axis: 1 }, &[a, &[2, 3]]),
    );
    let take = TensorOp::Take {
        axis: 0,
        indices: dims(&[4]),
    };
    check("take", &applied(take, &[a]));
}

#[test]
fn products_of_matrices() {
    let _others = beside_others();
    let cases: [(&[usize], &[usize]); 4] = [
        (&[5, 7], &[7, 3]),
        (&[2, 3, 65, 40], &[40, 66]),
        (&[3, 9, 32], &[3, 32, 64]),
        (&[2, 1, 8, 16], &[3, 16, 8]),
    ];
    for (left, right) in cases {
        let name = format!("{left:?} x {right:?}");
        check(&name, &applied(TensorOp::MatMul, &[left, right]));
    }
}

/// Some fifteen products behind each other round that much more than one.
const LAYERS: f32 = 4.0;

#[test]
fn encoders_of_text_and_images() {
    let _others = beside_others();
    let encoder = |tokens| Transformer {
        tokens,
        width: 16,
        heads: 2,
        inner: 40,
        layers: 2,
    };
    for tokens in [5, 70] {
        // Ids beyond 256 are no bfloat16.
        let graph = encoder(tokens).text(400).expect("fits");
        check_layers(&format!("{tokens} tokens"), &graph, LAYERS);
    }
    let images = encoder(10).image(12, 4, 7).expect("fits");
    let scores = images.with_softmax().expect("softmax");
    check_layers("patches", &scores, LAYERS);
}
