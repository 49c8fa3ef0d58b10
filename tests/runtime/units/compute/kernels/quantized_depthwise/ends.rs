//! Unit tests of `src/runtime/compute/kernels/quantized_depthwise/ends.rs`.

use super::{Activation, BlockEnds, BlockSums, ByteNumbers, VECTOR, WeightBlocks};
use crate::network::Conv2d;

#[test]
fn bytes_are_bounded_as_an_activation_bounds_numbers() {
    let numbers = ByteNumbers {
        scale: 0.05,
        zero_point: 10.0,
        most: 127.0,
    };
    let sums = BlockSums {
        scales: &[1.0; VECTOR],
        starts: &[0; VECTOR],
    };
    let blocks = WeightBlocks::new(Conv2d::new(VECTOR, 3), numbers);
    let bounds = |activation| {
        let ends = BlockEnds::new(blocks, sums, &[], VECTOR, Some(numbers), activation);
        (ends.zero_point[0], ends.least[0], ends.most[0])
    };
    assert_eq!(bounds(None), (10, 0, 127));
    assert_eq!(bounds(Some(Activation::Relu)), (10, 10, 127));
    // The number 6 lies 120 steps above the zero point, three beyond the largest byte.
    assert_eq!(bounds(Some(Activation::Relu6)), (10, 10, 127));
}
