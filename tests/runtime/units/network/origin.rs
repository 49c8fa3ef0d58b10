//! Unit tests of `src/runtime/network/origin.rs`.

use super::{ShiftMask, relative_bias};

#[test]
fn biases_depend_on_the_distance_alone() {
    let table: Vec<f32> = (0..9).map(|v| v as f32).collect();
    let bias = relative_bias(&table, 2, 1);
    let diagonal: Vec<f32> = (0..4).map(|pixel| bias[pixel * 5]).collect();
    assert_eq!(diagonal, [4.0; 4]);
    // The first pixel's right neighbour, and the right neighbour of the third.
    assert_eq!((bias[1], bias[2 * 4 + 3]), (3.0, 3.0));
    assert_eq!(bias[3], 0.0);
}

#[test]
fn only_the_last_windows_of_a_moved_axis_are_divided() {
    let mask = ShiftMask {
        sides: [4, 4],
        shifts: [1, 0],
        window: 2,
    };
    let values = mask.values();
    let (first, last) = (&values[..32], &values[32..]);
    assert!(first.iter().all(|v| *v == 0.0));
    assert_eq!(last[..4], [0.0, 0.0, -100.0, -100.0]);
    assert_eq!(last[..16], last[16..]);
}
