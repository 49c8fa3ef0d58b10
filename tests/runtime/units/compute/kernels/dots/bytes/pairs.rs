//! Unit tests of `src/runtime/compute/kernels/dots/bytes/pairs.rs`.

use super::pairs_fit;

#[test]
fn a_pair_fits_up_to_the_ends_of_16_bits() {
    for (pair, most, fits) in [
        ([64, 64], 255, true),
        ([-64, -64], 255, true),
        ([1, 127], 255, true),
        ([65, 64], 255, false),
        ([-64, -65], 255, false),
        ([2, 127], 255, false),
        ([-128, -1], 255, false),
        // With two signs, only one weight counts at each end.
        ([127, -128], 255, true),
        ([127, 127], 127, true),
        ([-128, -128], 127, true),
        ([127, 127], 129, true),
        ([127, 127], 130, false),
        ([-128, -128], 128, true),
        ([-128, -128], 129, false),
    ] {
        assert_eq!(pairs_fit(&pair, most), fits, "{pair:?} by up to {most}");
    }
}

#[test]
fn pairs_are_the_first_and_the_last_two_of_four() {
    assert!(pairs_fit(&[64, 64, 64, 64], 255));
    assert!(pairs_fit(&[1, 127, 1, 127], 255));
    assert!(pairs_fit(&[0, 127, 127, 0], 255), "neighbours of two pairs");
    assert!(!pairs_fit(&[0, 0, 127, 127], 255));
    assert!(!pairs_fit(&[127, 127, 0, 0], 255));
    assert!(pairs_fit(&[], 255));
}

#[test]
fn a_pair_fits_where_no_values_make_a_sum_that_does_not() {
    let ends = [0, 1, 127, 128, 254, 255];
    let weights = [-128i8, -127, -65, -64, -63, -1, 0, 1, 63, 64, 65, 126, 127];
    let all = weights.iter().flat_map(|&a| weights.map(|b| [a, b]));
    for (pair, most) in all.flat_map(|pair| ends.map(|most| (pair, most))) {
        let sum = |[a, b]: [i32; 2]| a * i32::from(pair[0]) + b * i32::from(pair[1]);
        let values = [[0, 0], [0, most], [most, 0], [most, most]];
        let exact = values.iter().all(|&of| i16::try_from(sum(of)).is_ok());
        assert_eq!(pairs_fit(&pair, most), exact, "{pair:?} by up to {most}");
    }
}
