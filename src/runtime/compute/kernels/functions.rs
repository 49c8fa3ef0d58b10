//! Exponentials and functions based on them, over vectors.
//!
//! NaN stays NaN. Infinities give the formula's limit, or NaN if that is `∞ · 0` (as in PyTorch).
//! Coefficients named "fitted" interpolate the function at Chebyshev points in float64.

use super::accuracy::Accuracy;
use super::vector::Vector;

/// Added and subtracted again, it rounds to a whole number.
const ROUNDING: f32 = 12_582_912.0;

/// ln 2 in two parts; products of the first with whole numbers up to 2¹⁵ are exact.
const LN_2: [f32; 2] = [0.693_359_4, -2.121_944_4e-4];

/// `(exp(r) − 1 − r) / r²` for |r| up to ln 2 / 2, fitted: relative error of `exp(r)` 1e-8.
const EXP: [f32; 5] = [
    0.5,
    0.166_665_76,
    0.041_666_552,
    0.008_363_233,
    0.001_392_625,
];

/// `(tanh(x) / x − 1) / x²` over x² for |x| up to 0.625, fitted: relative error of tanh 2e-8.
const TANH: [f32; 5] = [
    -0.333_333_28,
    0.133_327_7,
    -0.053_850_908,
    0.020_997_18,
    -0.006_096_714,
];

/// `2 · atanh(s) / s` over s² for s up to 1/3, fitted: relative error of the logarithm 8e-9.
const LN: [f32; 5] = [2.0, 0.666_663_2, 0.400_245_96, 0.279_651_58, 0.281_577_8];

/// The coefficients of Abramowitz and Stegun, 7.1.26: absolute error of erf 1.5e-7.
const ERF: [f32; 5] = [
    0.254_829_6,
    -0.284_496_74,
    1.421_413_7,
    -1.453_152,
    1.061_405_4,
];
const ERF_POLE: f32 = 0.327_591_1;

/// Returns `c₀ + c₁x + c₂x² + …`.
///
/// # Safety
/// All functions here: as for [`Vector`].
#[inline(always)]
pub(super) unsafe fn polynomial<V: Vector, const N: usize>(x: V, coefficients: &[f32; N]) -> V {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let mut sum = V::splat(coefficients[N - 1]);
        for &c in coefficients[..N - 1].iter().rev() {
            sum = V::splat(c).mul_add(sum, x);
        }
        sum
    }
}

#[inline(always)]
unsafe fn negative<V: Vector>(x: V) -> V {
    // SAFETY: guaranteed by the caller.
    unsafe { V::splat(0.0).sub(x) }
}

#[inline(always)]
unsafe fn absolute<V: Vector>(x: V) -> V {
    // SAFETY: guaranteed by the caller.
    unsafe { x.where_below(0.0, negative(x), x) }
}

/// Returns eˣ, with a relative error of at most 2e-7 if the answer is a normal number.
#[inline(always)]
pub(super) unsafe fn exp<V: Vector>(x: V) -> V {
    // SAFETY: guaranteed by the caller.
    unsafe {
        // Beyond these the answer is 0 or infinite.
        let x = x.at_least(-104.0).at_most(89.0);
        let rounding = V::splat(ROUNDING);
        let n = rounding.mul_add(x, V::splat(std::f32::consts::LOG2_E));
        let n = n.sub(rounding);
        let r = x.mul_add(n, V::splat(-LN_2[0]));
        let r = r.mul_add(n, V::splat(-LN_2[1]));
        let rest = r.mul_add(r.mul(r), polynomial(r, &EXP));
        V::splat(1.0).add(rest).times_two_to(n)
    }
}

/// Returns `x / (1 + exp(−by))`.
#[inline(always)]
unsafe fn gated<V: Vector, A: Accuracy>(x: V, by: V) -> V {
    // SAFETY: guaranteed by the caller.
    unsafe { A::divide(x, V::splat(1.0).add(A::exp(negative(by)))) }
}

#[inline(always)]
pub(super) unsafe fn sigmoid<V: Vector, A: Accuracy>(x: V) -> V {
    // SAFETY: guaranteed by the caller.
    unsafe { gated::<V, A>(V::splat(1.0), x) }
}

#[inline(always)]
pub(super) unsafe fn silu<V: Vector, A: Accuracy>(x: V) -> V {
    // SAFETY: guaranteed by the caller.
    unsafe { gated::<V, A>(x, x) }
}

/// `(1 + tanh(z)) / 2` is the sigmoid of `2z`, which does not cancel below 0.
#[inline(always)]
pub(super) unsafe fn gelu_tanh<V: Vector, A: Accuracy>(x: V) -> V {
    const DOUBLE: f32 = 1.595_769;
    const CUBED: f32 = DOUBLE * 0.044_715;
    // SAFETY: guaranteed by the caller.
    unsafe {
        let by = V::splat(DOUBLE).mul_add(V::splat(CUBED), x.mul(x)).mul(x);
        gated::<V, A>(x, by)
    }
}

/// The tail of the normal distribution beyond `|x|` is half of `erfc(|x| / √2)`.
#[inline(always)]
pub(super) unsafe fn gelu<V: Vector, A: Accuracy>(x: V) -> V {
    const POLE: f32 = ERF_POLE * std::f32::consts::FRAC_1_SQRT_2;
    // SAFETY: guaranteed by the caller.
    unsafe {
        let (one, size) = (V::splat(1.0), absolute(x));
        let t = A::divide(one, one.mul_add(size, V::splat(POLE)));
        let bell = A::exp(size.mul(size).mul(V::splat(-0.5)));
        let tail = t.mul(polynomial(t, &ERF)).mul(bell).mul(V::splat(0.5));
        x.mul(x.where_below(0.0, tail, one.sub(tail)))
    }
}

/// The first coefficients of the series of `erf(x) / x` in x²: the next one is below 3e-8 up to 1/2.
const ERF_SERIES: [f32; 6] = [
    std::f32::consts::FRAC_2_SQRT_PI,
    -0.376_126_4,
    0.112_837_92,
    -0.026_866_17,
    0.005_223_978,
    -0.000_854_833,
];

/// Returns the error function: near 0 by its series, otherwise as [`gelu`].
#[inline(always)]
pub(super) unsafe fn erf<V: Vector>(x: V) -> V {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let (one, size) = (V::splat(1.0), absolute(x));
        let t = one.div(one.mul_add(size, V::splat(ERF_POLE)));
        let bell = exp(negative(size.mul(size)));
        let far = one.sub(t.mul(polynomial(t, &ERF)).mul(bell));
        let near = size.mul(polynomial(size.mul(size), &ERF_SERIES));
        let answer = size.where_below(0.5, near, far);
        x.where_below(0.0, negative(answer), answer)
    }
}

#[inline(always)]
pub(super) unsafe fn tanh<V: Vector>(x: V) -> V {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let (one, two, size) = (V::splat(1.0), V::splat(2.0), absolute(x));
        let square = x.mul(x);
        let small = x.mul_add(x.mul(square), polynomial(square, &TANH));
        let large = one.sub(two.div(exp(two.mul(size)).add(one)));
        let large = x.where_below(0.0, negative(large), large);
        size.where_below(0.625, small, large)
    }
}

#[inline(always)]
pub(super) unsafe fn elu<V: Vector>(x: V, alpha: f32) -> V {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let below = exp(x).sub(V::splat(1.0)).mul(V::splat(alpha));
        x.where_below(0.0, below, x)
    }
}

/// `max(x, 0) + ln(1 + y)` for `y = exp(−|x|)`; the logarithm is `2 · atanh(y / (2 + y))`.
#[inline(always)]
pub(super) unsafe fn softplus<V: Vector>(x: V) -> V {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let y = exp(negative(absolute(x)));
        let s = y.div(V::splat(2.0).add(y));
        x.relu().mul_add(s, polynomial(s.mul(s), &LN))
    }
}

/// With `w = e² + 2e` for `e = exp(x)`, `tanh(ln(1 + e))` is `w / (w + 2)`.
#[inline(always)]
pub(super) unsafe fn mish<V: Vector>(x: V) -> V {
    // SAFETY: guaranteed by the caller.
    unsafe {
        // Beyond 20 the factor is 1, and the square would overflow.
        let (e, two) = (exp(x.at_most(20.0)), V::splat(2.0));
        let w = e.mul(e.add(two));
        x.mul(w.div(w.add(two)))
    }
}

#[inline(always)]
pub(super) unsafe fn leaky_relu<V: Vector>(x: V, slope: f32) -> V {
    // SAFETY: guaranteed by the caller.
    unsafe { x.where_below(0.0, x.mul(V::splat(slope)), x) }
}

#[inline(always)]
pub(super) unsafe fn hard_sigmoid<V: Vector>(x: V, slope: f32, shift: f32) -> V {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let line = V::splat(shift).mul_add(x, V::splat(slope));
        line.relu().at_most(1.0)
    }
}

#[inline(always)]
pub(super) unsafe fn fake_quantise<V: Vector>(x: V, scale: f32, [least, most]: [f32; 2]) -> V {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let (scale, rounding) = (V::splat(scale), V::splat(ROUNDING));
        let steps = x.div(scale).at_least(least).at_most(most);
        steps.add(rounding).sub(rounding).mul(scale)
    }
}

#[inline(always)]
pub(super) unsafe fn hard_swish<V: Vector>(x: V) -> V {
    // SAFETY: guaranteed by the caller.
    unsafe { x.mul(hard_sigmoid(x, 1.0 / 6.0, 0.5)) }
}
