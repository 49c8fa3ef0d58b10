//! Every kind of step, in every precision, answers as the plan emulated in host memory.

use divisi_runtime::compute::gpu::Precision;
use divisi_runtime::network::{Conv2d, Graph, GraphBuilder, NodeId, Op, Pool, Shape, Weights};

use crate::bench::{Bench, apart, beside_others, gpu, program, samples, upload};
use crate::emulated::Emulated;

/// Rounding of sums in another order, as a share of the largest answer.
const fn most(precision: Precision) -> f32 {
    match precision {
        Precision::F32 => 1e-5,
        Precision::Tf32 => 3e-3,
        Precision::Bf16 => 2e-2,
        Precision::F16 => 4e-3,
    }
}

pub fn check(name: &str, graph: &Graph) {
    check_layers(name, graph, 1.0);
}

/// As [`check`], of networks whose layers add up `times` as much rounding as one.
pub fn check_layers(name: &str, graph: &Graph, times: f32) {
    let weights = Weights::synthetic(graph, 7);
    for precision in Precision::ALL {
        let rows = 3;
        let values = samples(rows, graph.input());
        let expected = Emulated::new(graph, &weights, precision).answer(&values);
        let program = program(graph, &weights, precision);
        let mut bench = Bench::new(&program, 5, graph.output().elements());
        let found = bench.answer(rows, &[upload(&gpu(), &values)]);
        let apart = apart(&expected, &found);
        assert!(
            apart < times * most(precision),
            "{name} in {precision}: {apart}"
        );
    }
}

fn with(input: Shape, op: Op) -> GraphBuilder {
    let mut b = GraphBuilder::new(input);
    b.add("op", op, &[NodeId::INPUT]).expect("fits");
    b
}

fn whole(name: &str, mut b: GraphBuilder) {
    if matches!(b.shape(b.last()), Shape::Image { .. }) {
        b.add("flat", Op::Flatten, &[b.last()]).expect("flatten");
    }
    check(name, &b.build().expect("graph"));
}

#[test]
fn convolutions() {
    let _others = beside_others();
    let cases = [
        ("1x1", 8, Conv2d::new(16, 1)),
        ("1x1, odd channels", 5, Conv2d::new(7, 1).biased()),
        ("1x1, strided", 8, Conv2d::new(16, 1).strided(2)),
        ("3x3", 8, Conv2d::new(16, 3).same().biased()),
        ("3x3, three channels", 3, Conv2d::new(16, 3).same()),
        ("7x7, strided", 3, Conv2d::new(16, 7).padded(3).strided(2)),
        ("1x7", 8, Conv2d::new(8, (1, 7)).same()),
        (
            "dilated",
            8,
            Conv2d {
                dilation: 2,
                ..Conv2d::new(8, 3).padded(2)
            },
        ),
        ("depthwise", 16, Conv2d::new(16, 3).same().grouped(16)),
        (
            "depthwise, strided, 5x5",
            8,
            Conv2d::new(8, 5).same().strided(2).grouped(8),
        ),
        (
            "depthwise, odd",
            7,
            Conv2d::new(7, 3).same().grouped(7).biased(),
        ),
        ("groups", 16, Conv2d::new(32, 3).same().grouped(4)),
        (
            "groups, multiplier",
            6,
            Conv2d::new(12, 3).same().grouped(6),
        ),
    ];
    for (name, channels, conv) in cases {
        whole(name, with(Shape::image(channels, 11, 9), Op::Conv2d(conv)));
    }
}

#[test]
fn ends_of_convolutions() {
    let _others = beside_others();
    let activations = [None, Some(Op::Relu), Some(Op::Relu6)];
    for (kernel, groups) in [(1, 1), (3, 1), (3, 16)] {
        for (residual, activation) in [false, true]
            .into_iter()
            .flat_map(|r| activations.map(|a| (r, a)))
        {
            let mut b = GraphBuilder::new(Shape::image(16, 7, 7));
            let x = b.add("relu", Op::Relu, &[NodeId::INPUT]).expect("relu");
            let conv = Conv2d::new(16, kernel).same().grouped(groups);
            let mut y = b.add("conv", Op::Conv2d(conv), &[x]).expect("conv");
            y = b
                .add("norm", Op::BatchNorm { eps: 1e-3 }, &[y])
                .expect("norm");
            if residual {
                y = b.add("sum", Op::Add, &[y, x]).expect("sum");
            }
            if let Some(op) = activation {
                b.add("act", op, &[y]).expect("activation");
            }
            whole(
                &format!("{kernel}x{kernel}/{groups} {residual} {activation:?}"),
                b,
            );
        }
    }
}

#[test]
fn everything_else() {
    let _others = beside_others();
    let image = Shape::image(8, 9, 7);
    let pool = Pool::new(3, 2).padded(1);
    let inside = Pool {
        count_include_pad: false,
        ..pool
    };
    let cases = [
        ("max pool", Op::MaxPool(pool)),
        ("mean pool", Op::AvgPool(pool)),
        ("mean pool inside", Op::AvgPool(inside)),
        ("global mean", Op::GlobalAvgPool),
        (
            "regions",
            Op::AdaptiveAvgPool {
                height: 4,
                width: 5,
            },
        ),
        (
            "upscale",
            Op::Upscale {
                height: 17,
                width: 12,
            },
        ),
        ("norm", Op::BatchNorm { eps: 1e-5 }),
        ("scale", Op::Scale { by: -0.7 }),
        ("flatten", Op::Flatten),
    ];
    for (name, op) in cases {
        whole(name, with(image, op));
        whole(&format!("{name}, odd"), with(Shape::image(3, 5, 5), op));
    }
    let linear = Op::Linear {
        features: 10,
        bias: true,
    };
    let mut b = with(Shape::vector(37), linear);
    b.add("softmax", Op::Softmax, &[b.last()]).expect("softmax");
    whole("linear and softmax", b);
}

#[test]
fn concatenations_in_place_and_not() {
    let _others = beside_others();
    let mut b = GraphBuilder::new(Shape::image(6, 5, 5));
    let conv = |channels| Op::Conv2d(Conv2d::new(channels, 3).same().biased());
    let x = b.add("x", conv(8), &[NodeId::INPUT]).expect("conv");
    let y = b.add("y", conv(5), &[x]).expect("conv");
    let r = b.add("r", Op::Relu, &[y]).expect("relu");
    let c = b.add("c", Op::Concat, &[x, r, y, x]).expect("concat");
    let z = b.add("z", conv(4), &[c]).expect("conv");
    b.add("d", Op::Concat, &[c, z]).expect("concat");
    whole("joined", b);
}
