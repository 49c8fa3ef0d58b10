//! The kernels of reduced numbers.

use super::super::dots::{DotKernel, HalfKernel};
use super::super::panels::TileShape;
use crate::compute::family::Family;
use crate::compute::reduced::ReducedNumbers;

/// The kernel that multiplies reduced numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::compute) enum ReducedKernel {
    /// One of brain floats.
    Halves(HalfKernel),
    /// One of bytes.
    Bytes(DotKernel),
}

impl ReducedKernel {
    /// Returns the fastest kernel for these numbers on a processor that has the instructions of
    /// `family`.
    pub(crate) fn of(family: Family, numbers: ReducedNumbers) -> Self {
        match numbers {
            ReducedNumbers::Bf16 => ReducedKernel::Halves(HalfKernel::of(family)),
            ReducedNumbers::Bytes(numbers) => {
                ReducedKernel::Bytes(DotKernel::up_to(family, numbers.most))
            }
        }
    }

    /// Whether a faster kernel than this one, which [`ReducedKernel::of_pairs`] returns, is exact for
    /// packed weights and such numbers.
    pub(crate) fn fits_pairs(self, weights: &[f32], numbers: ReducedNumbers) -> bool {
        match (self, numbers) {
            (ReducedKernel::Bytes(kernel), ReducedNumbers::Bytes(numbers)) => {
                kernel.fits_pairs(weights, numbers.most)
            }
            _ => false,
        }
    }

    /// Returns the fastest kernel for weights laid out for this one; `fit` says whether
    /// [`ReducedKernel::fits_pairs`] is true of them.
    pub(crate) fn of_pairs(self, fit: bool) -> Self {
        match self {
            ReducedKernel::Bytes(kernel) => ReducedKernel::Bytes(kernel.of_pairs(fit)),
            kernel => kernel,
        }
    }

    /// Returns the shape of tiles.
    pub(crate) fn shape(self) -> TileShape {
        match self {
            ReducedKernel::Halves(kernel) => kernel.shape(),
            ReducedKernel::Bytes(kernel) => kernel.shape(),
        }
    }

    /// Returns what the kernel subtracts from values before it multiplies them.
    pub(crate) fn shift(self) -> i32 {
        match self {
            ReducedKernel::Halves(_) => 0,
            ReducedKernel::Bytes(kernel) => kernel.shift(),
        }
    }

    /// Returns how many times as fast as the direct algorithm in float32 Winograd's algorithm has to be
    /// expected to be in order to be taken instead. Multiplying brain floats is 1.9 times as fast on a
    /// Zen 5 core, and what it writes is read by others; with AVX2 alone, and where brain floats are
    /// widened, Winograd's algorithm in float32 is taken wherever it is the faster one.
    pub(crate) fn speed(self) -> f64 {
        match self {
            ReducedKernel::Halves(kernel) if kernel.is_native() => 1.9,
            ReducedKernel::Bytes(DotKernel::Vnni | DotKernel::AvxVnni | DotKernel::NeonDot) => {
                f64::INFINITY
            }
            _ => 1.0,
        }
    }

    /// Returns the name in reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            ReducedKernel::Halves(_) => "bf16",
            ReducedKernel::Bytes(_) => "int8, static",
        }
    }
}

#[cfg(test)]
#[allow(clippy::expect_used, reason = "tests fail by it")]
mod tests {
    use super::super::super::step::StepMethod;
    use super::{DotKernel, Family, ReducedKernel};
    use crate::compute::lowered::Lowered;
    use crate::network::{Activation, Conv2d, Graph, GraphBuilder, Op, Shape, Weights};

    const CHANNELS: usize = 32;

    /// A layer over bytes of 8 bits.
    fn graph() -> Graph {
        let mut net = GraphBuilder::new(Shape::image(CHANNELS, 2, 2));
        let bytes = Op::Activation(Activation::FakeQuantise {
            scale: 1.0,
            least: -128.0,
            most: 127.0,
        });
        let layer = Op::Conv2d(Conv2d::new(CHANNELS, 1));
        for (name, op) in [("bytes", bytes), ("layer", layer), ("row", Op::Flatten)] {
            let last = net.last();
            net.add(name.to_owned(), op, &[last]).expect("fits");
        }
        net.build().expect("graph")
    }

    /// The kernel that multiplies weights with AVX2 alone.
    fn kernel(weights: &[f32]) -> ReducedKernel {
        let graph = graph();
        let each = [("layer.weight".to_owned(), weights.to_vec())];
        let weights = Weights::from_values(each.into_iter().collect(), &graph).expect("weights");
        let graph = graph.with_steps_of(&weights);
        let lowered = Lowered::with(&graph, &weights, Family::Avx2).expect("lowers");
        let kernels = lowered
            .folded()
            .filter_map(|(step, folded)| match &step.method {
                StepMethod::Reduced(product) => Some(product.kernel().of_pairs(folded.pairs_fit)),
                _ => None,
            });
        kernels.last().expect("a product of bytes")
    }

    #[test]
    fn a_layer_takes_the_fastest_kernel_that_is_exact_for_its_weights() {
        if !Family::Avx2.is_available() {
            return;
        }
        // Each channel has a 1, so that bytes are the weights themselves.
        let of = |pair: [f32; 2]| -> Vec<f32> {
            let row = [1.0, 0.0].into_iter().chain([0.0, 0.0]).chain(pair);
            let row: Vec<f32> = row.chain([0.0; CHANNELS - 6]).collect();
            row.repeat(CHANNELS)
        };
        for pair in [[64.0, 64.0], [-64.0, -64.0], [127.0, -127.0], [1.0, 127.0]] {
            let kernel = kernel(&of(pair));
            assert_eq!(kernel, ReducedKernel::Bytes(DotKernel::Avx2), "{pair:?}");
        }
        for pair in [[65.0, 64.0], [-64.0, -65.0], [127.0, 127.0]] {
            let kernel = kernel(&of(pair));
            assert_eq!(
                kernel,
                ReducedKernel::Bytes(DotKernel::Avx2Wide),
                "{pair:?}"
            );
        }
        // One pair alone, in the last channel.
        let mut weights = of([64.0, 64.0]);
        weights[CHANNELS * CHANNELS - 1] = 127.0;
        weights[CHANNELS * CHANNELS - 2] = 2.0;
        assert_eq!(kernel(&weights), ReducedKernel::Bytes(DotKernel::Avx2Wide));
    }

    #[test]
    fn kernels_of_the_same_weights_read_them_from_the_same_panels() {
        let [wide, fast] = [false, true].map(|fit| DotKernel::Avx2Wide.of_pairs(fit));
        assert_eq!((wide, fast), (DotKernel::Avx2Wide, DotKernel::Avx2));
        let [wide, fast] = [wide, fast].map(DotKernel::shape);
        assert_eq!((wide.lanes, wide.vectors), (fast.lanes, fast.vectors));
    }
}
