//! Products, sums with a row, shuffles, slices and norms across the channels of each pixel.

use divisi_runtime::network::file::LayersFile;
use divisi_runtime::network::{Activation, Conv2d, NodeId, Op, ResponseNorm, Shape};
use proptest::prelude::*;

use super::activations::ALL;
use super::{Net, cases, check};
use crate::compute::largest_difference;

/// As plain Candle, on the kernels of every family and on the plan for GPUs as emulated.
fn check_everywhere(net: Net, batch: usize, threads: usize) -> Result<(), TestCaseError> {
    let graph = net.build();
    check(&graph, batch, threads)?;
    let off = largest_difference(&graph, batch);
    prop_assert!(off < 1e-4, "the plan for GPUs: off by {off}");
    Ok(())
}

proptest! {
    #![proptest_config(cases(60))]

    /// The blocks of EfficientNet, MobileNet v3 and RegNetY: an image times a gate for each of
    /// its channels.
    #[test]
    fn images_times_a_gate_for_each_channel(
        channels in 1usize..70, (height, width) in (1usize..9, 1usize..9), inner in 1usize..20,
        sum: bool, swapped: bool, pixel: bool, spied: bool, activations in prop::collection::vec(0..ALL.len(), 3),
        batch in 1usize..4, threads in 0usize..4,
    ) {
        let [first, gate, last] = [0, 1, 2].map(|i| Op::from(ALL[activations[i]]));
        let mut net = Net::new(Shape::image(4, height, width))
            .then(Op::Conv2d(Conv2d::new(channels, 3).same().biased()))
            .then(first);
        let image = net.0.last();
        if pixel {
            net = net.then(Op::AdaptiveAvgPool { height: 1, width: 1 });
        } else {
            net = net.then(Op::GlobalAvgPool)
                .then(Op::Linear { features: inner, bias: true })
                .then(Op::Linear { features: channels, bias: false });
        }
        net = net.then(gate);
        let row = net.0.last();
        let op = if sum { Op::Add } else { Op::Mul };
        let inputs = if swapped { [row, image] } else { [image, row] };
        let gated = net.add(op, &inputs);
        let net = if sum { net } else { net.then(last) };
        let mut net = net.then(Op::Conv2d(Conv2d::new(5, 1)));
        let end = net.0.last();
        // Somebody else may read the product, so that nothing is fused into it.
        if spied { net.add(Op::Concat, &[end, gated]); }
        check_everywhere(net, batch, threads)?;
    }

    /// The units of ShuffleNet v2: one half goes on as it is, both are shuffled.
    #[test]
    fn halves_that_are_joined_and_shuffled(
        half in 1usize..40, (height, width) in (1usize..7, 1usize..7), rows: bool,
        batch in 1usize..4, threads in 0usize..4, activation in 0..ALL.len(),
    ) {
        let channels = 2 * half;
        let shape = if rows { Shape::vector(channels) } else { Shape::image(channels, height, width) };
        let mut net = Net::new(shape);
        let left = net.add(Op::Channels { first: 0, count: half }, &[NodeId::INPUT]);
        let right = net.add(Op::Channels { first: half, count: half }, &[NodeId::INPUT]);
        let worked = match rows {
            true => net.add(Op::Linear { features: half, bias: true }, &[right]),
            false => net.add(Op::Conv2d(Conv2d::new(half, 3).padded(1).grouped(half)), &[right]),
        };
        let worked = net.add(Op::from(ALL[activation]), &[worked]);
        let both = net.add(Op::Concat, &[left, worked]);
        let shuffled = net.add(Op::ChannelShuffle { groups: 2 }, &[both]);
        let part = net.add(Op::Channels { first: 1, count: channels - 1 }, &[shuffled]);
        net.add(Op::Concat, &[part, left, both]);
        check_everywhere(net, batch, threads)?;
    }

    /// The blocks of ConvNeXt: a norm across channels between convolutions.
    #[test]
    fn norms_across_channels(
        channels in 1usize..120, (height, width) in (1usize..7, 1usize..7), rows: bool, before: bool,
        scale in prop::option::of(-2f32..2.0), residual: bool, activation in 0..ALL.len(),
        batch in 1usize..4, threads in 0usize..4,
    ) {
        let shape = if rows { Shape::vector(channels) } else { Shape::image(channels, height, width) };
        let mut net = Net::new(shape);
        if before && !rows { net = net.then(Op::Conv2d(Conv2d::new(channels, 3).same())); }
        net = match net.0.last() {
            NodeId::INPUT => { net.add(Op::LayerNorm { eps: 1e-3 }, &[NodeId::INPUT]); net }
            _ => net.then(Op::LayerNorm { eps: 1e-6 }),
        };
        if let Some(by) = scale { net = net.then(Op::Scale { by }); }
        if residual {
            let last = net.0.last();
            net.add(Op::Add, &[last, NodeId::INPUT]);
        }
        check_everywhere(net.then(Op::from(ALL[activation])), batch, threads)?;
    }

    #[test]
    fn norms_by_the_channels_around(
        channels in 1usize..40, (height, width) in (1usize..7, 1usize..7), size in 1usize..9,
        beta in prop::sample::select(vec![0.5f32, 0.75, 1.0]), k in 0.5f32..2.0, alpha in 0f32..3.0,
        batch in 1usize..4, threads in 0usize..4,
    ) {
        let norm = ResponseNorm { size, alpha, beta, k };
        let mut net = Net::new(Shape::image(channels, height, width));
        net.add(Op::LocalResponseNorm(norm), &[NodeId::INPUT]);
        check_everywhere(net.then(Op::Conv2d(Conv2d::new(6, 1))), batch, threads)?;
    }

    /// A product of two branches, of which either may be fused with what precedes it.
    #[test]
    fn products_of_alike_values(
        channels in 1usize..40, (height, width) in (1usize..7, 1usize..7), squared: bool,
        activation in 0..ALL.len(), batch in 1usize..4, threads in 0usize..4,
    ) {
        let mut net = Net::new(Shape::image(channels, height, width));
        let a = net.add(Op::Conv2d(Conv2d::new(channels, 3).same()), &[NodeId::INPUT]);
        let b = if squared { a } else { NodeId::INPUT };
        let product = net.add(Op::Mul, &[a, b]);
        let product = net.add(Op::from(ALL[activation]), &[product]);
        net.add(Op::Concat, &[product, b]);
        check_everywhere(net, batch, threads)?;
    }
}

#[test]
fn what_has_no_such_channels_is_refused() {
    let image = Shape::image(6, 4, 4);
    let refused = |op: Op, said: &str| {
        let mut net = Net::new(image);
        let error = net.0.add("layer", op, &[NodeId::INPUT]).expect_err(said);
        assert!(error.to_string().contains(said), "{error}");
    };
    refused(
        Op::Channels { first: 4, count: 3 },
        "3 channels from channel 4 exceed the 6 of its input",
    );
    refused(
        Op::Channels {
            first: usize::MAX,
            count: 2,
        },
        "2 channels from channel 18446744073709551615 exceed the 6 of its input",
    );
    refused(
        Op::Channels { first: 4, count: 0 },
        "count must be at least 1",
    );
    refused(Op::ChannelShuffle { groups: 4 }, "must divide");
    refused(
        Op::ChannelShuffle { groups: 0 },
        "groups must be at least 1",
    );
    refused(Op::LayerNorm { eps: 0.0 }, "eps must be a positive number");
    let mut net = Net::new(image);
    let row = net.add(Op::Channels { first: 0, count: 5 }, &[NodeId::INPUT]);
    let row = net.add(Op::GlobalAvgPool, &[row]);
    let error = net.0.add("product", Op::Mul, &[NodeId::INPUT, row]);
    let error = error.expect_err("another number of channels").to_string();
    assert!(
        error.contains("a value for each of its channels"),
        "{error}"
    );
}

#[test]
fn they_can_be_written_down_as_layers() {
    let text = r#"
        layers = [
            { name = "norm", op = "local-response-norm", size = 5, alpha = 0.5, beta = 0.5, k = 2.0 },
            { name = "some", op = "channels", first = 2, count = 4 },
            { name = "shuffled", op = "channel-shuffle", groups = 2 },
            { name = "across", op = "layer-norm" },
            { name = "gate", op = "global-avg-pool" },
            { name = "hard", op = "hard-sigmoid" },
            { name = "gated", op = "mul", from = ["across", "hard"] },
            { name = "clip", op = "clip", most = 2 },
            { name = "leaky", op = "leaky-relu", slope = 0.2 },
            { name = "elu", op = "elu" },
            { name = "mish", op = "mish" },
        ]"#;
    let file: LayersFile = toml::from_str(text).expect("layers");
    let graph = file.build(Shape::image(8, 3, 3)).expect("a network");
    let ops: Vec<Op> = graph.nodes().iter().map(|node| node.op).collect();
    let norm = ResponseNorm {
        size: 5,
        alpha: 0.5,
        beta: 0.5,
        k: 2.0,
    };
    let (least, most) = (f32::NEG_INFINITY, 2.0);
    let expected = [
        Op::LocalResponseNorm(norm),
        Op::Channels { first: 2, count: 4 },
        Op::ChannelShuffle { groups: 2 },
        Op::LayerNorm { eps: 1e-5 },
        Op::GlobalAvgPool,
        Activation::HARD_SIGMOID.into(),
        Op::Mul,
        Activation::Clip { least, most }.into(),
        Activation::LeakyRelu { slope: 0.2 }.into(),
        Activation::Elu { alpha: 1.0 }.into(),
        Activation::Mish.into(),
    ];
    assert_eq!(ops, expected);
    assert_eq!(graph.parameter_count(), 8);
}

#[test]
fn pools_may_cover_the_last_pixels_as_with_ceil_mode() {
    // Sides, window, stride and padding, and what PyTorch's pools answer.
    let cases = [
        (7, 3, 2, 0, 3),
        (8, 3, 2, 0, 4),
        (8, 2, 2, 0, 4),
        (7, 2, 2, 0, 4),
        (7, 2, 2, 1, 4),
        (6, 2, 3, 1, 3),
        (2, 2, 3, 0, 1),
    ];
    for (side, kernel, stride, padding, expected) in cases {
        let text = format!(
            r#"layers = [{{ name = "pool", op = "max-pool", kernel = {kernel}, stride = {stride},
                padding = {padding}, ceil_mode = true }}]"#
        );
        let file: LayersFile = toml::from_str(&text).expect("layers");
        let graph = file.build(Shape::image(1, side, side)).expect("a network");
        let found = graph.output();
        let context = format!("{side} by {kernel}, stride {stride}, padding {padding}");
        assert_eq!(found, Shape::image(1, expected, expected), "{context}");
    }
}

#[test]
fn activations_are_written_as_operations_of_their_own() {
    for activation in ALL {
        let op = Op::from(activation);
        let written = serde_json::to_value(op).expect("written");
        assert_eq!(written["op"], activation.name());
        if matches!(activation, Activation::Clip { .. }) {
            continue; // JSON has no infinities.
        }
        let read: Op = serde_json::from_value(written).expect("read");
        assert_eq!(read, op);
    }
}
