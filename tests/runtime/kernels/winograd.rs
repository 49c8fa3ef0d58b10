//! Convolutions large enough for Winograd's algorithm.

use divisi_runtime::compute::footprint;
use divisi_runtime::network::{Conv2d, NodeId, Op, Shape, Sides};
use proptest::prelude::*;

use super::convolutions::activation;
use super::{Net, cases, check_after};

/// Kernels that the algorithm is there for, with the sides of images on which it wins.
const WINS: [((usize, usize), usize); 6] = [
    ((3, 3), 6),
    ((3, 3), 28),
    ((5, 5), 16),
    ((1, 7), 18),
    ((7, 1), 18),
    ((1, 3), 24),
];

#[test]
fn kernels_of_stride_1_are_transformed() {
    for (kernel, side) in WINS {
        let conv = Conv2d::new(64, kernel).same();
        let graph = Net::new(Shape::image(64, side, side)).then(Op::Conv2d(conv));
        let filters = 4 * 64 * 64 * conv.kernel.area() as u64;
        // Transformed, a filter has more values than taps.
        let weights = footprint(&graph.build(), 1, 1).weight_bytes;
        assert!(weights > filters * 11 / 10, "{kernel:?}: {weights} bytes");
    }
}

proptest! {
    #![proptest_config(cases(250))]

    #[test]
    fn transformed_convolutions_answer_as_plain_candle(
        at in 0..WINS.len(), from in 16usize..100, to in 16usize..100,
        (height, width) in (1usize..31, 1usize..31), padding in (0usize..4, 0usize..4),
        bias: bool, norm: bool, residual: bool, activation in activation(),
        batch in 1usize..4, threads in 0usize..4,
    ) {
        let conv = Conv2d { padding: Sides::from(padding), bias, ..Conv2d::new(to, WINS[at].0) };
        let network = |activation: Option<Op>| {
            let mut net = Net::new(Shape::image(from, height, width));
            let twin = match residual {
                true => Some(net.try_add(Op::Conv2d(conv), &[NodeId::INPUT])?),
                false => None,
            };
            let mut x = net.try_add(Op::Conv2d(conv), &[NodeId::INPUT])?;
            if norm { x = net.add(Op::BatchNorm { eps: 1e-3 }, &[x]); }
            if let Some(twin) = twin { x = net.add(Op::Add, &[twin, x]); }
            if let Some(op) = activation { net.add(op, &[x]); }
            Some(net.build())
        };
        let (Some(sums), Some(graph)) = (network(None), network(activation)) else { return Ok(()) };
        check_after(&sums, &graph, batch, threads)?;
    }
}
