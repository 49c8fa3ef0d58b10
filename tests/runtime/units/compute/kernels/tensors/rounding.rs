//! Unit tests of `src/runtime/compute/kernels/tensors/rounding.rs`.

use half::{bf16, f16};

use super::{to_bf16, to_f16};

/// Returns numbers of every size, and numbers around the ties of both formats.
fn numbers() -> impl Iterator<Item = f32> {
    let every = (0..=u32::MAX).step_by(9973).map(f32::from_bits);
    let ties = (0..=u16::MAX).flat_map(|bits| {
        let number = f16::from_bits(bits).to_f32().to_bits();
        let shifts = [0x0fff, 0x1000, 0x1001, 0x7fff, 0x8000, 0x8001];
        shifts.map(|more| f32::from_bits(number.wrapping_add(more)))
    });
    every.chain(ties)
}

fn are_same(a: f32, b: f32) -> bool {
    a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()
}

#[test]
fn numbers_round_as_the_formats_define() {
    for number in numbers() {
        let half = f16::from_f32(number).to_f32();
        assert!(are_same(to_f16(number), half), "{number:e} as a half");
        let brain = bf16::from_f32(number).to_f32();
        assert!(
            are_same(to_bf16(number), brain),
            "{number:e} as a brain float"
        );
    }
}
