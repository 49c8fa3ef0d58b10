//! Unit tests of `src/runtime/network/weights/encoded.rs`.

#![allow(clippy::expect_used, reason = "tests fail by it")]

use prost::bytes::Bytes;

use super::super::coding::{IntegerScales, IntegerStep};
use super::EncodedValues;

fn copied(values: &EncodedValues) -> Vec<f32> {
    let mut to = vec![0.0; values.len()];
    values.decode_to(&mut to, || {});
    to
}

/// A matrix of whole numbers, as floats and as integers.
fn both(count: usize) -> [(Vec<f32>, EncodedValues); 2] {
    let numbers = || (0..count).map(|v| v % 256);
    let floats: Vec<f32> = numbers().map(|v| v as f32).collect();
    let bytes: Vec<u8> = floats.iter().flat_map(|v| v.to_le_bytes()).collect();
    let steps = [(2.0, 1.0), (0.5, 3.0), (0.25, 0.0)];
    let steps = steps.map(|(scale, zero)| IntegerStep { scale, zero });
    let of_step = |(at, v): (usize, &f32)| {
        let IntegerStep { scale, zero } = steps[at % steps.len()];
        (v - zero) * scale
    };
    let scales = IntegerScales::new(false, 1, steps.to_vec()).expect("scales");
    let integers = Bytes::from_iter(numbers().map(|v| v as u8));
    let stand_for = floats.iter().enumerate().map(of_step).collect();
    [
        (floats, EncodedValues::new(Bytes::from(bytes))),
        (stand_for, EncodedValues::of_integers(integers, scales)),
    ]
}

#[test]
fn a_transpose_is_read_from_the_bytes_of_a_matrix() {
    let sizes = [(1, 1), (2, 3), (16, 16), (17, 33), (40, 5)];
    let each = sizes.into_iter().flat_map(|(lines, columns)| {
        both(lines * columns).map(|(matrix, encoded)| (lines, columns, matrix, encoded))
    });
    for (lines, columns, matrix, as_it_is) in each {
        assert_eq!(as_it_is.read(), matrix);
        assert_eq!(copied(&as_it_is), matrix);
        assert_eq!(as_it_is.decode_rows(0..lines, columns), matrix);
        let turned = as_it_is.transposed(columns);
        let at = |i: usize| matrix[i % lines * columns + i / lines];
        let expected: Vec<f32> = (0..lines * columns).map(at).collect();
        assert_eq!(turned.read(), expected, "{lines} lines of {columns}");
        assert_eq!(copied(&turned), expected);
        let some = columns / 2..columns;
        let rows = turned.decode_rows(some.clone(), lines);
        assert_eq!(rows, expected[some.start * lines..some.end * lines]);
        assert_eq!(turned.kept(), expected);
        assert_eq!(
            (turned.read(), turned.len()),
            (expected.into(), matrix.len())
        );
    }
}
