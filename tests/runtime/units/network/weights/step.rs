//! Unit tests of `src/runtime/network/weights/step.rs`.

use super::{ByteWeights, weight_scale, weight_step};

/// A channel that has some bytes, each times a step.
fn channel(bytes: &[i8], step: f32) -> Vec<f32> {
    bytes.iter().map(|&byte| f32::from(byte) * step).collect()
}

#[test]
fn weights_keep_the_bytes_that_a_quantiser_chose() {
    for bytes in [
        &[64i8, -64, 3, 0][..],
        &[63, -1, 0],
        &[-40, 27, 2],
        &[5, 4],
        &[1],
        &[127, -126, 1],
    ] {
        for step in [0.013f32, 1.0, 3.7e-5] {
            let weights = channel(bytes, step);
            let found = ByteWeights::from_weights(&weights);
            let of: Vec<i8> = weights.iter().map(|&weight| found.byte(weight)).collect();
            assert_eq!((&of[..], found.shift), (bytes, 0), "{bytes:?} by {step}");
            let [kept, negated] = [1.0, -1.0].map(|factor| weight_scale(&weights, factor));
            let off = (kept / step - 1.0).abs();
            assert!(off < 1e-6 && kept == negated, "{bytes:?} by {step}: {kept}");
        }
    }
}

#[test]
fn bytes_with_a_common_divisor_are_as_small_as_they_can_be() {
    assert_eq!(weight_step(&[6.0, -4.0, 0.0]), Some(2.0));
    assert_eq!(weight_step(&[120.0, 80.0]), Some(40.0));
    assert_eq!(weight_step(&[0.0, 0.0]), Some(1.0));
    assert_eq!(weight_step(&[1.0, 0.001]), None);
    assert_eq!(weight_step(&[f32::NAN, 1.0]), None);
}
