//! Layers that are no convolutions.

use divisi_runtime::compute::{Family, KERNELS_VARIABLE};
use divisi_runtime::network::{Conv2d, GraphBuilder, NodeId, Op, Pool, Shape};
use proptest::prelude::*;

use super::convolutions::activation;
use super::{Net, cases, check, lowered};
use crate::compute::{overhang, weights};

proptest! {
    #![proptest_config(cases(80))]

    #[test]
    fn fully_connected_layers_of_any_size(
        from in 1usize..301, hidden in 1usize..301, to in 1usize..301, bias: bool,
        activation in activation(), softmax: bool, batch in 1usize..9, threads in 0usize..4,
    ) {
        let mut net = Net::new(Shape::vector(from)).then(Op::Linear { features: hidden, bias });
        if let Some(op) = activation { net = net.then(op); }
        net = net.then(Op::Linear { features: to, bias: true });
        if softmax { net = net.then(Op::Softmax); }
        check(&net.build(), batch, threads)?;
    }

    /// Pools and resizes between convolutions, so that threads share what each reads.
    #[test]
    fn pools_between_convolutions(
        channels in 1usize..40, (height, width) in (3usize..16, 3usize..16), kernel in 1usize..4,
        stride in 1usize..4, padding in 0usize..2, count_include_pad: bool, overhang in overhang(),
        kind in 0usize..4, side in 1usize..12, batch in 1usize..6, threads in 0usize..4,
    ) {
        let pool = Pool { kernel, stride, padding, count_include_pad, overhang };
        let op = [
            Op::MaxPool(pool),
            Op::AvgPool(pool),
            Op::AdaptiveAvgPool { height: side, width: 12 - side },
            Op::Upscale { height: side, width: 2 * side },
        ][kind];
        let mut net = Net::new(Shape::image(3, height, width))
            .then(Op::Conv2d(Conv2d::new(channels, 3).padded(1)));
        let last = net.0.last();
        if net.try_add(op, &[last]).is_none() { return Ok(()) }
        let net = net.then(Op::Conv2d(Conv2d::new(channels, 1).biased()));
        check(&net.then(Op::GlobalAvgPool).build(), batch, threads)?;
    }

    /// Passes over few and many channels, of images as they come in.
    #[test]
    fn passes_over_the_channels_of_samples(
        channels in 1usize..70, (height, width) in (1usize..9, 1usize..40), kind in 0usize..4,
        activation in activation(), batch in 1usize..6, threads in 0usize..4,
    ) {
        let op = [
            Op::GlobalAvgPool,
            Op::BatchNorm { eps: 1e-5 },
            Op::LayerNorm { eps: 1e-5 },
            Op::AdaptiveAvgPool { height: 1, width: 1 },
        ][kind];
        let mut net = Net::new(Shape::image(channels, height, width)).then(op);
        if let Some(op) = activation { net = net.then(op); }
        check(&net.build(), batch, threads)?;
    }
}

#[test]
fn a_network_may_answer_with_an_image() {
    for late in [false, true] {
        let mut b = GraphBuilder::new(Shape::image(3, 4, 5));
        let conv = Conv2d::new(7, 3).same();
        let mut x = b
            .add("conv", Op::Conv2d(conv), &[NodeId::INPUT])
            .expect("conv");
        if late {
            x = b
                .add("both", Op::Concat, &[x, NodeId::INPUT])
                .expect("both");
        }
        b.add("relu", Op::Relu, &[x]).expect("relu");
        check(&b.build().expect("graph"), 3, 0).expect("as plain");
    }
}

#[test]
fn a_family_that_the_processor_lacks_is_replaced_by_the_plain_one() {
    let graph = Net::new(Shape::vector(5))
        .then(Op::Linear {
            features: 3,
            bias: true,
        })
        .build();
    for (family, name) in Family::ALL {
        let found = lowered(&graph, &weights(&graph), family).family();
        let expected = if family.is_available() {
            family
        } else {
            Family::Plain
        };
        assert_eq!(found, expected);
        assert_eq!(Family::from_name(name), Some(family));
        assert_eq!(family.to_string(), name);
    }
}

#[test]
fn the_kernels_that_the_environment_asks_for_are_used() {
    match std::env::var(KERNELS_VARIABLE) {
        Ok(name) => assert_eq!(Family::best().to_string(), name),
        Err(_) => assert_eq!(Some(Family::best()), Family::available().next()),
    }
}
