//! Convolutions of any geometry, with all that is fused into them.

use divisi_runtime::network::{Activation, Conv2d, Graph, NodeId, Op, Shape, Sides};
use proptest::prelude::*;

use super::activations::ALL;
use super::{Net, cases, check, check_after};

/// Multiplications of a case, so that all cases together take seconds.
const MOST_WORK: usize = 10_000_000;

/// Input channels, output channels and groups: whole vectors and panels of all families,
/// parts of them, several.
fn channels() -> impl Strategy<Value = (usize, usize, usize)> {
    let width = prop::sample::select(vec![2usize, 4, 8, 16, 32]);
    prop_oneof![
        3 => (1usize..81, 1usize..81).prop_map(|(from, to)| (from, to, 1)),
        2 => (1usize..81).prop_map(|all| (all, all, all)),
        1 => (1usize..20, 2usize..4).prop_map(|(from, by)| (from, by * from, from)),
        2 => (width.clone(), 2usize..6).prop_map(|(w, groups)| (w * groups, w * groups, groups)),
        1 => (width, 2usize..4, 1usize..24).prop_map(|(w, groups, to)| (w * groups, to * groups, groups)),
    ]
}

fn kernel() -> impl Strategy<Value = Sides> {
    let known = [
        (1, 1),
        (3, 3),
        (5, 5),
        (7, 7),
        (1, 7),
        (7, 1),
        (3, 1),
        (2, 2),
    ];
    let any = (1usize..8, 1usize..8);
    prop_oneof![3 => prop::sample::select(known.to_vec()), 1 => any].prop_map(Sides::from)
}

/// Mostly little; also more than half of any kernel.
fn padding() -> impl Strategy<Value = Sides> {
    prop_oneof![3 => (0usize..4, 0usize..4), 1 => (0usize..9, 0usize..9)].prop_map(Sides::from)
}

/// Mostly 1.
fn step() -> impl Strategy<Value = usize> {
    prop::sample::select(vec![1usize, 1, 1, 2, 3])
}

fn image() -> impl Strategy<Value = (usize, usize)> {
    prop_oneof![1 => Just((1, 1)), 9 => (1usize..14, 1usize..14)]
}

/// The operations that follow a convolution and become part of it.
#[derive(Clone, Debug)]
struct Ends {
    norm: bool,
    residual: Residual,
    activation: Option<Op>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Residual {
    None,
    /// The network's input, where it has the shape.
    Input,
    /// Another convolution's answer.
    Twin,
}

pub(super) fn activation() -> impl Strategy<Value = Option<Op>> {
    let others = ALL.into_iter().map(|activation| Some(Op::from(activation)));
    prop_oneof![
        2 => prop::sample::select(vec![None, Some(Op::Relu), Some(Op::Relu6)]),
        1 => prop::sample::select(others.collect::<Vec<_>>()),
    ]
}

fn ends() -> impl Strategy<Value = Ends> {
    let residual = prop::sample::select(vec![Residual::None, Residual::Input, Residual::Twin]);
    (any::<bool>(), residual, activation()).prop_map(|(norm, residual, activation)| Ends {
        norm,
        residual,
        activation,
    })
}

/// The network; none where the kernel does not fit into the image. `late` puts a step
/// before the convolution, so that it does not read the samples themselves.
fn network(input: Shape, conv: Conv2d, late: bool, ends: &Ends) -> Option<Graph> {
    let mut net = Net::new(input);
    let mut from = NodeId::INPUT;
    if late {
        from = net.add(Op::Scale { by: 1.25 }, &[from]);
    }
    let twin = match ends.residual {
        Residual::Twin => Some(net.try_add(Op::Conv2d(conv), &[from])?),
        _ => None,
    };
    let mut x = net.try_add(Op::Conv2d(conv), &[from])?;
    if ends.norm {
        x = net.add(Op::BatchNorm { eps: 1e-3 }, &[x]);
    }
    let same = ends.residual == Residual::Input && net.0.shape(x) == input;
    if let Some(other) = twin.or(same.then_some(NodeId::INPUT)) {
        x = net.add(Op::Add, &[other, x]);
    }
    if let Some(op) = ends.activation {
        net.add(op, &[x]);
    }
    Some(net.build())
}

/// As many samples as are wanted and not too many to multiply.
fn affordable(graph: &Graph, batch: usize) -> Option<usize> {
    let most = 2 * MOST_WORK / (graph.flops() as usize).max(1);
    (most > 0).then_some(batch.min(most))
}

proptest! {
    #![proptest_config(cases(1000))]

    #[test]
    fn convolutions_of_any_geometry_answer_as_plain_candle(
        (from, to, groups) in channels(), (height, width) in image(), kernel in kernel(),
        padding in padding(), stride in step(), dilation in step(), bias: bool, late: bool,
        ends in ends(), batch in 1usize..6, threads in 0usize..4,
    ) {
        let conv = Conv2d { channels: to, kernel, stride, padding, dilation, groups, bias };
        let graph = network(Shape::image(from, height, width), conv, late, &ends);
        let Some(graph) = graph else { return Ok(()) };
        let Some(batch) = affordable(&graph, batch) else { return Ok(()) };
        let ends = Ends { activation: None, ..ends };
        let sums = network(Shape::image(from, height, width), conv, late, &ends);
        check_after(&sums.expect("a part of it"), &graph, batch, threads)?;
    }
}

#[test]
fn errors_of_channels_that_are_nearly_alike_stay_a_small_share_of_their_sums() {
    // The channels of these samples are a shift of each other, and transformed points, which sum them,
    // are larger than what is left of them.
    let conv = Conv2d::new(12, 5).padded((2, 3));
    let network = |activation| {
        let ends = Ends {
            norm: false,
            residual: Residual::None,
            activation,
        };
        network(Shape::image(65, 3, 11), conv, true, &ends).expect("fits")
    };
    let saturated = network(Some(Op::from(Activation::Tanh)));
    check_after(&network(None), &saturated, 3, 0).expect("as plain");
}

#[test]
fn rows_of_padding_without_columns_are_zeros() {
    // A line of the kernel is one run of floats, also where all of it lies outside.
    for (stride, padding, groups) in [(2, (1, 0), 1), (1, (2, 0), 1), (2, (1, 0), 2)] {
        let conv = Conv2d {
            stride,
            padding: padding.into(),
            groups,
            ..Conv2d::new(16, 3)
        };
        let graph = Net::new(Shape::image(32, 9, 9))
            .then(Op::Conv2d(conv))
            .build();
        check(&graph, 2, 0).expect("as plain");
    }
}

#[test]
fn images_smaller_than_the_kernel_are_padding_for_the_most_part() {
    for channels in [1, 3, 16, 40] {
        for kernel in [3, 5, 7] {
            let conv = Conv2d::new(24, kernel).padded(kernel - 1).biased();
            for (height, width) in [(1, 1), (1, 2), (2, 1)] {
                let graph = Net::new(Shape::image(channels, height, width)).then(Op::Conv2d(conv));
                check(&graph.build(), 3, 2).expect("as plain");
            }
        }
    }
}

#[test]
fn depthwise_lines_of_any_length_answer_as_plain_candle() {
    // Tiles end with the line, however few of its outputs are left.
    for kernel in [3, 5, 7] {
        for width in 1..=18 {
            let conv = Conv2d {
                groups: 21,
                ..Conv2d::new(21, kernel).padded(kernel / 2).biased()
            };
            let graph = Net::new(Shape::image(21, 3, width)).then(Op::Conv2d(conv));
            check(&graph.build(), 2, 2).expect("as plain");
        }
    }
}
