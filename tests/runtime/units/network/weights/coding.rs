//! Unit tests of `src/runtime/network/weights/coding.rs`.

#![allow(clippy::expect_used, reason = "tests fail by it")]

use super::super::step::weight_step;
use super::{IntegerScales, IntegerStep};

fn scales(is_signed: bool, inner: usize, zeros: &[f32]) -> IntegerScales {
    let step = |(at, &zero): (usize, &f32)| IntegerStep {
        scale: 0.013 * (at + 1) as f32,
        zero,
    };
    let steps = zeros.iter().enumerate().map(step).collect();
    IntegerScales::new(is_signed, inner, steps).expect("scales")
}

fn integer(byte: u8, is_signed: bool) -> f32 {
    match is_signed {
        true => f32::from(byte.cast_signed()),
        false => f32::from(byte),
    }
}

#[test]
fn integers_are_the_numbers_of_their_own_scale() {
    let bytes: Vec<u8> = (0..=255).rev().collect();
    for (is_signed, inner, zeros) in [
        (true, 256, &[0.0][..]),
        (false, 7, &[128.0, 3.0, 0.0]),
        (true, 1, &[0.0, -5.0, 9.0, 1.5]),
    ] {
        let scales = scales(is_signed, inner, zeros);
        let expected = |n: usize| {
            let step = scales.steps[n / inner % zeros.len()];
            (integer(bytes[n], is_signed) - step.zero) * step.scale
        };
        for (first, count) in [(0, 256), (5, 1), (6, 30), (255, 1), (100, 0)] {
            let mut found = vec![0.0; count];
            scales.decode(&bytes[first..], first, &mut found);
            let expected: Vec<f32> = (first..first + count).map(expected).collect();
            assert_eq!(found, expected, "{inner} of {zeros:?} from {first} on");
        }
    }
}

#[test]
fn rows_that_are_clearly_multiples_of_a_step_are_so_as_floats() {
    let with_ends = |least: i16, most: i16| -> Vec<u8> {
        let some = (0..24).map(|at| (least + at * 7 % (most - least)) as u8);
        some.chain([least as u8, most as u8]).collect()
    };
    for (is_signed, zero, ends, clear) in [
        (true, 0.0, (-127, 127), true),
        (true, 0.0, (-128, 127), false),
        (false, 128.0, (1, 255), true),
        (false, 128.0, (0, 255), false),
        (false, 0.0, (0, 127), true),
        (true, 0.5, (-1, 1), false),
    ] {
        let bytes = with_ends(ends.0, ends.1);
        for (inner, zeros, columns) in [
            (13, [zero; 2], None),
            (26, [zero; 2], None),
            (1, [zero; 2], Some(2)),
        ] {
            let scales = scales(is_signed, inner, &zeros);
            let found = scales.are_stepped(&bytes, 13, columns);
            assert_eq!(found, clear, "{ends:?} from {zero}, {inner} of a scale");
            let mut floats = vec![0.0; bytes.len()];
            scales.decode(&bytes, 0, &mut floats);
            let row = |at: usize| match columns {
                None => floats[13 * at..13 * (at + 1)].to_vec(),
                Some(columns) => floats[at..].iter().step_by(columns).copied().collect(),
            };
            assert!(!found || (0..2).all(|at| weight_step(&row(at)).is_some()));
        }
    }
    let bytes = with_ends(-127, 127);
    let apart = scales(true, 13, &[0.0, 1.0]);
    assert!(!apart.are_stepped(&bytes, 13, None), "zero points differ");
    let across = scales(true, 2, &[0.0, 0.0]);
    assert!(!across.are_stepped(&bytes, 13, None), "scales of a row");
}
