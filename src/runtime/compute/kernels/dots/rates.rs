//! How fast a processor multiplies brain floats. Some have the instruction and take twice as long
//! for it as for float32's (Emerald Rapids: 85 against 175 G operations a second and core), so the
//! choice is measured: once in a process, in about a millisecond.

use std::time::Duration;

/// The speed, relative to products of float32, above which the instruction is used. Widened brain
/// floats are multiplied at the speed of float32.
const LEAST_SPEED: f64 = 1.2;

/// Returns whether instructions for brain floats are worth using at `speed` times that of float32.
pub(in crate::compute) fn is_worth_using(speed: f64) -> bool {
    speed >= LEAST_SPEED
}

/// Returns how many times as fast as floats brain floats were multiplied, by the best round of
/// each: other programs only make rounds longer. An instruction multiplies twice as many
/// brain floats as floats.
fn speed(rounds: &[[Duration; 2]]) -> f64 {
    let best = |of: usize| rounds.iter().map(|round| round[of]).min();
    let seconds = |of: usize| best(of).unwrap_or_default().as_secs_f64();
    match seconds(1) > 0.0 {
        true => 2.0 * seconds(0) / seconds(1),
        false => 0.0,
    }
}

/// Returns how many times as fast as float32 this processor multiplies brain floats, or `None` if
/// it has no instruction for them.
#[cfg(target_arch = "x86_64")]
pub(in crate::compute) fn half_speed() -> Option<f64> {
    use std::sync::OnceLock;

    static SPEED: OnceLock<Option<f64>> = OnceLock::new();
    *SPEED.get_or_init(|| x86::has_bf16().then(|| speed(&x86::rounds())))
}

/// Returns `None`: no kernel of other architectures multiplies brain floats.
#[cfg(not(target_arch = "x86_64"))]
pub(in crate::compute) fn half_speed() -> Option<f64> {
    None
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;
    use std::hint::black_box;
    use std::time::{Duration, Instant};

    /// Sums that do not wait for each other: more than an instruction's latency times its rate.
    const SUMS: usize = 12;
    /// Instructions for each sum of a round: some microseconds.
    const STEPS: usize = 2000;
    const ROUNDS: usize = 32;

    /// Returns whether the processor has the instruction.
    pub(super) fn has_bf16() -> bool {
        is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512bf16")
    }

    /// Returns the times of products of floats and of brain floats, in turns.
    pub(super) fn rounds() -> Vec<[Duration; 2]> {
        let timed = |products: unsafe fn() -> f32| {
            let start = Instant::now();
            // SAFETY: `has_bf16` is true of this processor.
            black_box(unsafe { products() });
            start.elapsed()
        };
        (0..ROUNDS)
            .map(|_| [timed(floats), timed(halves)])
            .collect()
    }

    /// # Safety
    /// The processor has AVX-512 F.
    #[target_feature(enable = "avx512f")]
    unsafe fn floats() -> f32 {
        let [x, w] = black_box([_mm512_set1_ps(0.75), _mm512_set1_ps(1e-3)]);
        let mut sums = different();
        for _ in 0..STEPS {
            for sum in &mut sums {
                *sum = _mm512_fmadd_ps(x, w, *sum);
            }
        }
        total(&sums)
    }

    /// # Safety
    /// The processor has AVX-512 with BF16.
    #[target_feature(enable = "avx512f,avx512bf16")]
    unsafe fn halves() -> f32 {
        let [x, w] = black_box([_mm512_set1_ps(0.75), _mm512_set1_ps(1e-3)]);
        let [x, w] = [_mm512_cvtne2ps_pbh(x, x), _mm512_cvtne2ps_pbh(w, w)];
        let mut sums = different();
        for _ in 0..STEPS {
            for sum in &mut sums {
                *sum = _mm512_dpbf16_ps(*sum, x, w);
            }
        }
        total(&sums)
    }

    /// Returns sums that a compiler cannot merge into one.
    #[target_feature(enable = "avx512f")]
    fn different() -> [__m512; SUMS] {
        let mut number = 0.0;
        [(); SUMS].map(|()| {
            number += 1.0;
            _mm512_set1_ps(black_box(number))
        })
    }

    #[target_feature(enable = "avx512f")]
    fn total(sums: &[__m512; SUMS]) -> f32 {
        let each = sums.iter().map(|sum| _mm512_reduce_add_ps(*sum));
        each.sum()
    }
}

#[cfg(test)]
#[path = "../../../../../tests/runtime/units/compute/kernels/dots/rates.rs"]
mod tests;
