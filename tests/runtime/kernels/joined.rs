//! Concatenations: layers that write into the pixels of a wider image, and read from them.

use divisi_runtime::network::{Conv2d, NodeId, Op, Pool, Shape, Sides};
use proptest::prelude::*;

use super::{Net, cases, check};

/// A layer that keeps an image's size, over values made before (counted from the last).
#[derive(Clone, Debug)]
enum Layer {
    Convolution {
        from: usize,
        kernel: usize,
        to: usize,
    },
    Depthwise {
        from: usize,
    },
    MaxPool {
        from: usize,
    },
    Sum {
        from: usize,
    },
    Relu {
        from: usize,
    },
    Concat {
        from: Vec<usize>,
    },
}

fn layer() -> impl Strategy<Value = Layer> {
    let from = 0usize..6;
    let convolution = (from.clone(), 0usize..KERNELS.len(), 1usize..40);
    prop_oneof![
        4 => convolution.prop_map(|(from, kernel, to)| Layer::Convolution { from, kernel, to }),
        1 => from.clone().prop_map(|from| Layer::Depthwise { from }),
        1 => from.clone().prop_map(|from| Layer::MaxPool { from }),
        1 => from.clone().prop_map(|from| Layer::Sum { from }),
        1 => from.clone().prop_map(|from| Layer::Relu { from }),
        4 => prop::collection::vec(from, 2..5).prop_map(|from| Layer::Concat { from }),
    ]
}

const KERNELS: [(usize, usize); 5] = [(1, 1), (3, 3), (5, 5), (1, 7), (7, 1)];

/// No image becomes wider: concatenations of concatenations would grow without end.
const MOST_CHANNELS: usize = 120;

struct Joined {
    net: Net,
    values: Vec<NodeId>,
}

impl Joined {
    fn value(&self, from: usize) -> NodeId {
        self.values[self.values.len() - 1 - from % self.values.len()]
    }

    fn channels(&self, id: NodeId) -> usize {
        self.net.0.shape(id).channels()
    }

    fn add(&mut self, layer: &Layer) {
        let (op, inputs) = match layer {
            Layer::Convolution { from, kernel, to } => {
                let conv = Conv2d::new(*to, KERNELS[*kernel]).same().biased();
                (Op::Conv2d(conv), vec![self.value(*from)])
            }
            Layer::Depthwise { from } => {
                let x = self.value(*from);
                let channels = self.channels(x);
                let conv = Conv2d::new(channels, 3).padded(1).grouped(channels);
                (Op::Conv2d(conv), vec![x])
            }
            Layer::MaxPool { from } => {
                let pool = Pool {
                    kernel: 3,
                    stride: 1,
                    padding: 1,
                    count_include_pad: false,
                    overhang: Sides::square(0),
                };
                (Op::MaxPool(pool), vec![self.value(*from)])
            }
            Layer::Sum { from } => (Op::Add, vec![self.value(*from), self.value(0)]),
            Layer::Relu { from } => (Op::Relu, vec![self.value(*from)]),
            Layer::Concat { from } => (Op::Concat, from.iter().map(|&f| self.value(f)).collect()),
        };
        let wide: usize = inputs.iter().map(|&x| self.channels(x)).sum();
        if op == Op::Concat && wide > MOST_CHANNELS {
            return;
        }
        // A sum of images of different widths is left out.
        self.values.extend(self.net.try_add(op, &inputs));
    }
}

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn what_is_joined_in_place_answers_as_what_is_copied(
        channels in 1usize..40, (height, width) in (1usize..14, 1usize..14),
        layers in prop::collection::vec(layer(), 3..9), batch in 1usize..4, threads in 0usize..4,
    ) {
        let input = Shape::image(channels, height, width);
        let mut joined = Joined { net: Net::new(input), values: vec![NodeId::INPUT] };
        for layer in &layers { joined.add(layer); }
        let last: Vec<NodeId> = joined.values.iter().rev().take(3).copied().collect();
        joined.net.add(Op::Concat, &last);
        check(&joined.net.build(), batch, threads)?;
    }
}

#[test]
fn branches_read_and_write_at_an_offset_within_a_pixel() {
    // The second branch lies after the first in every pixel, and is read there again.
    for (first, second) in [(16, 32), (3, 17), (40, 24)] {
        for kernel in KERNELS {
            let conv = |to, kernel| Op::Conv2d(Conv2d::new(to, kernel).same());
            let mut net = Net::new(Shape::image(20, 14, 14));
            let a = net.add(conv(first, (1, 1)), &[NodeId::INPUT]);
            let b = net.add(conv(second, (1, 1)), &[NodeId::INPUT]);
            let c = net.add(conv(24, kernel), &[b]);
            let both = net.add(Op::Concat, &[a, b]);
            let d = net.add(conv(16, kernel), &[both]);
            net.add(Op::Concat, &[c, d]);
            check(&net.build(), 2, 2).expect("as plain");
        }
    }
}
