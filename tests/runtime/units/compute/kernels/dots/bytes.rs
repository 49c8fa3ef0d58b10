//! Unit tests of `src/runtime/compute/kernels/dots/bytes/mod.rs`.

use super::DotKernel;

#[test]
fn kernels_of_the_same_weights_read_them_from_the_same_panels() {
    let [wide, fast] = [false, true].map(|fit| DotKernel::Avx2Wide.of_pairs(fit));
    assert_eq!((wide, fast), (DotKernel::Avx2Wide, DotKernel::Avx2));
    let [wide, fast] = [wide, fast].map(DotKernel::shape);
    assert_eq!((wide.lanes, wide.vectors), (fast.lanes, fast.vectors));
}
