//! Unit tests of `src/runtime/compute/tensors/strided.rs`.

#![allow(clippy::unwrap_used, reason = "tests")]

use super::Strided;
use crate::network::Dims;

fn dims(sizes: &[usize]) -> Dims {
    Dims::new(sizes).unwrap()
}

fn whole(sizes: &[usize]) -> Strided {
    Strided::whole(dims(sizes))
}

fn strides(of: Strided) -> Vec<usize> {
    (0..of.rank()).map(|axis| of.stride(axis)).collect()
}

#[test]
fn heads_are_read_by_stride() {
    let heads = whole(&[7, 12]).viewed(&dims(&[7, 3, 4])).unwrap();
    let heads = heads.transposed(&dims(&[1, 0, 2]));
    assert_eq!(heads.dims, dims(&[3, 7, 4]));
    assert_eq!(strides(heads), [4, 12, 1]);
    assert_eq!(heads.viewed(&dims(&[3, 28])), None);
    let batched = heads.viewed(&dims(&[1, 3, 7, 4])).unwrap();
    assert_eq!(strides(batched), [0, 4, 12, 1]);
    let back = heads.untransposed(&dims(&[1, 0, 2]));
    assert_eq!(
        (back.dims, strides(back)),
        (dims(&[7, 3, 4]), vec![12, 4, 1])
    );
}

#[test]
fn a_slice_begins_where_its_first_value_lies() {
    let second = whole(&[5, 3, 4]).sliced(1, 1, 2, 1).unwrap();
    assert_eq!((second.offset, second.dims), (4, dims(&[5, 2, 4])));
    assert_eq!(whole(&[5]).sliced(0, 4, 5, -1), None);
}

#[test]
fn what_is_repeated_takes_no_steps() {
    let mask = whole(&[1, 7]).expanded(&dims(&[3, 5, 7])).unwrap();
    assert_eq!(strides(mask), [0, 0, 1]);
    assert_eq!(whole(&[2]).expanded(&dims(&[3])), None);
    let split = mask.viewed(&dims(&[15, 7])).unwrap();
    assert_eq!(strides(split), [0, 1]);
}

#[test]
fn rows_may_lie_apart_where_no_axis_crosses_their_ends() {
    let heads = whole(&[7, 12]).viewed(&dims(&[7, 3, 4])).unwrap();
    assert_eq!(strides(heads.pitched(12, 20).unwrap()), [20, 4, 1]);
    assert_eq!(whole(&[84]).pitched(12, 20), None);
}
