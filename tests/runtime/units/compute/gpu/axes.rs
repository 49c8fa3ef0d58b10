//! Unit tests of `src/runtime/compute/gpu/axes.rs`.

#![allow(clippy::unwrap_used, reason = "tests")]

use super::Axes;
use crate::compute::tensors::Strided;
use crate::network::Dims;

fn whole(sizes: &[usize]) -> Strided {
    Strided::whole(Dims::new(sizes).unwrap())
}

#[test]
fn axes_along_which_all_go_on_evenly_are_one() {
    let axes = Axes::merged(&[whole(&[2, 3, 4]), whole(&[2, 3, 4])], 3, 8);
    assert_eq!(axes.sizes, [1, 1, 1, 1, 1, 1, 1, 24]);
    assert_eq!(axes.strides[0][7], 1);
}

#[test]
fn a_transpose_keeps_its_axes() {
    let order = Dims::new(&[0, 2, 1]).unwrap();
    let from = whole(&[5, 4, 3]).transposed(&order);
    let axes = Axes::merged(&[from, whole(&[5, 3, 4])], 3, 8);
    assert_eq!(axes.sizes[5..], [5, 3, 4]);
    assert_eq!(axes.strides[0][5..], [12, 1, 3]);
    assert_eq!(axes.strides[1][5..], [12, 4, 1]);
}

#[test]
fn what_is_repeated_merges_with_what_is_repeated() {
    let row = whole(&[4])
        .expanded(&Dims::new(&[2, 3, 4]).unwrap())
        .unwrap();
    let axes = Axes::merged(&[row, whole(&[2, 3, 4])], 3, 6);
    assert_eq!(axes.sizes, [1, 1, 1, 1, 6, 4, 1, 1]);
    assert_eq!(axes.positions(), 24);
}
