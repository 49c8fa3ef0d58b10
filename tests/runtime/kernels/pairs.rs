//! Products of bytes of 8 bits, whose weights in pairs are about as large as sums of 16 bits allow:
//! answers are those of whole numbers, to the bit.

use divisi_runtime::compute::{Family, planned_steps};
use divisi_runtime::network::{Conv2d, Graph, NodeId, Op, Shape, Weights};
use proptest::prelude::*;

use super::stepped::rounding;
use super::{Net, answer, cases, lowered, rows};

/// A layer over an image of bytes. Windows of several pixels have a stride, so that it is multiplied
/// directly.
#[derive(Clone, Copy, Debug)]
struct Layer {
    inputs: usize,
    outputs: usize,
    kernel: usize,
    zero_point: u8,
}

impl Layer {
    fn conv(self) -> Conv2d {
        let stride = if self.kernel == 1 { 1 } else { 2 };
        Conv2d::new(self.outputs, self.kernel).strided(stride)
    }

    fn image(self) -> Shape {
        Shape::image(self.inputs, SIDE, SIDE)
    }

    fn graph(self) -> Graph {
        let mut net = Net::new(self.image());
        let bytes = net.add(rounding(self.zero_point), &[NodeId::INPUT]);
        net.add(Op::Conv2d(self.conv()), &[bytes]);
        net.build()
    }

    /// Returns the answers as sums of whole numbers.
    fn sums(self, weights: &[i32], values: &[i32]) -> Vec<i32> {
        let (taps, stride) = (self.kernel * self.kernel, self.conv().stride);
        let side = (SIDE - self.kernel) / stride + 1;
        let sum = |out: usize, y: usize, x: usize| -> i32 {
            let products = (0..self.inputs * taps).map(|at| {
                let (channel, tap) = (at / taps, at % taps);
                let (row, column) = (
                    y * stride + tap / self.kernel,
                    x * stride + tap % self.kernel,
                );
                weights[out * self.inputs * taps + at]
                    * values[(channel * SIDE + row) * SIDE + column]
            });
            products.sum()
        };
        let places = (0..side * side).map(|at| (at / side, at % side));
        let places: Vec<_> = places.collect();
        let each = (0..self.outputs).flat_map(|out| places.iter().map(move |&(y, x)| (out, y, x)));
        each.map(|(out, y, x)| sum(out, y, x)).collect()
    }
}

/// The height and width of images.
const SIDE: usize = 4;

fn layer() -> impl Strategy<Value = Layer> {
    let zero_point = prop::sample::select(vec![0u8, 1, 128, 255]);
    let kernel = prop::sample::select(vec![1usize, 3]);
    (4usize..20, 1usize..40, kernel, zero_point).prop_map(
        |(groups, outputs, kernel, zero_point)| Layer {
            inputs: 4 * groups,
            outputs,
            kernel,
            zero_point,
        },
    )
}

/// Two weights that are multiplied together: their sum is at the bound, just beyond it, or far away.
fn pair(most: i32) -> impl Strategy<Value = [i32; 2]> {
    let sums = prop::sample::select(vec![-most, most, 1 - most, most - 1, 0]);
    (sums, -127i32..=127).prop_map(|(sum, first)| {
        let other = (sum - first).clamp(-127, 127);
        [first, other]
    })
}

/// Weights in whose channels one is 1, so that bytes are the weights themselves. A pair is that of two
/// neighbouring inputs at one place of the window.
fn weights(layer: Layer, pairs: &[[i32; 2]]) -> Vec<i32> {
    let taps = layer.kernel * layer.kernel;
    let mut weights = vec![0; layer.outputs * layer.inputs * taps];
    for out in 0..layer.outputs {
        for input in 0..layer.inputs {
            for tap in 0..taps {
                let at = (out * layer.inputs / 2 + input / 2) * taps + tap;
                weights[(out * layer.inputs + input) * taps + tap] = match (input, tap) {
                    (0, 0) => 1,
                    (1, 0) => 0,
                    _ => pairs[at % pairs.len()][input % 2],
                };
            }
        }
    }
    weights
}

/// Whether sums of two products with values up to 255 fit into 16 bits.
fn fit(pairs: &[[i32; 2]]) -> bool {
    let sum = |pair: &[i32; 2], sign: i32| -> i32 { pair.iter().map(|w| (sign * w).max(0)).sum() };
    pairs
        .iter()
        .all(|pair| sum(pair, 1).max(sum(pair, -1)) <= 128)
}

/// Every family answers as whole numbers do.
fn check(layer: Layer, pairs: &[[i32; 2]], bytes: &[u8]) -> Result<(), TestCaseError> {
    let of_layer = weights(layer, pairs);
    let graph = layer.graph();
    let name = graph.parameters().swap_remove(0).name.clone();
    let held = of_layer.iter().map(|&weight| weight as f32).collect();
    let held = Weights::from_values([(name, held)].into_iter().collect(), &graph).expect("weights");
    let graph = graph.with_steps_of(&held);
    let of_bytes = planned_steps(&graph)
        .iter()
        .any(|s| s.method == "int8, static");
    prop_assert!(of_bytes, "multiplied as floats");

    let count = layer.image().elements();
    let byte = |at: usize| i32::from(bytes[at % bytes.len()]) - i32::from(layer.zero_point);
    let whole: Vec<i32> = (0..count).map(byte).collect();
    let expected = layer.sums(&of_layer, &whole);
    let x = rows(whole.iter().map(|&value| value as f32).collect(), 1);
    for family in Family::available() {
        let found = answer(&lowered(&graph, &held, family), &x, 0);
        let found: Vec<i32> = found.iter().map(|&sum| sum as i32).collect();
        prop_assert_eq!(
            &expected,
            &found,
            "{} where pairs fit: {}",
            family,
            fit(pairs)
        );
    }
    Ok(())
}

/// Bytes, most of them the largest.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![4 => Just(255u8), 1 => Just(0), 1 => any::<u8>()];
    prop::collection::vec(byte, 1..64)
}

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn weights_at_the_bound_are_multiplied_exactly(
        layer in layer(), pairs in prop::collection::vec(pair(128), 1..40), bytes in bytes(),
    ) {
        check(layer, &pairs, &bytes)?;
    }

    #[test]
    fn weights_beyond_the_bound_are_multiplied_exactly(
        layer in layer(), pairs in prop::collection::vec(pair(129), 1..40), bytes in bytes(),
    ) {
        check(layer, &pairs, &bytes)?;
    }
}

#[test]
fn the_largest_sums_of_pairs_are_exact_on_both_sides_of_the_bound() {
    let layer = Layer {
        inputs: 64,
        outputs: 24,
        kernel: 1,
        zero_point: 0,
    };
    let fitting = [[64, 64], [-64, -64], [1, 127], [127, -127]];
    for pair in fitting {
        assert!(fit(&[pair]), "{pair:?}");
        check(layer, &[pair], &[255]).expect("exact");
    }
    for pair in [[65, 64], [-64, -65], [2, 127], [127, 127], [-127, -127]] {
        assert!(!fit(&[pair]), "{pair:?}");
        check(layer, &[pair], &[255]).expect("exact");
        // One such pair is enough.
        let mut pairs = vec![[64, 64]; 700];
        pairs[500] = pair;
        check(layer, &pairs, &[255]).expect("exact");
    }
}
