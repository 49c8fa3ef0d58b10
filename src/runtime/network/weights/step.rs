//! The scale of an output channel's weights as bytes. Weights that are whole multiples of a step,
//! as quantisers leave them, keep this step.

/// The largest multiple, of one sign: weights are bytes with a sign.
const MOST: u32 = 127;

/// The largest difference of two bytes.
const MOST_APART: u32 = 255;

/// The largest distance of a multiple from a whole number: multiples of float32 numbers are off by
/// about 2⁻¹⁷.
const OFF: f32 = 1e-4;

/// Returns the largest step of which all weights are whole multiples, at most 127, or `None` if
/// there is no such step. The step of only zeros is 1.
pub(crate) fn weight_step(weights: &[f32]) -> Option<f32> {
    step_up_to(MOST, weights)
}

/// Returns the largest step of which all weights are whole multiples, at most `most` and at most
/// 255 apart, or `None` if there is no such step. The step of only zeros is 1. The largest step
/// has the smallest multiples, for which the fastest kernels are exact.
fn step_up_to(most: u32, weights: &[f32]) -> Option<f32> {
    let [low, high] = range(weights);
    let largest = high.max(-low);
    if largest == 0.0 {
        return weights.iter().all(|&w| w == 0.0).then_some(1.0);
    }
    let is_whole = |multiple: f32| (multiple - multiple.round()).abs() <= OFF;
    let steps = (1..=most).map(|count| largest / count as f32);
    let mut steps = steps.filter(|step| step.is_normal());
    steps.find(|step| {
        let apart = (high / step).round() - (low / step).round();
        apart <= MOST_APART as f32 && weights.iter().all(|weight| is_whole(weight / step))
    })
}

/// Returns the least and the largest of some weights, and 0.
fn range(weights: &[f32]) -> [f32; 2] {
    let each = weights.iter();
    each.fold([0.0f32; 2], |[low, high], w| [low.min(*w), high.max(*w)])
}

/// The weights of an output channel as bytes with a sign: `(byte + shift) · scale`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ByteWeights {
    pub scale: f32,
    pub shift: i32,
}

impl ByteWeights {
    /// Returns the bytes of weights that are bytes of one kind less their zero point, times a scale; the
    /// nearest ones of others. The scale is NaN if one is not finite.
    pub(crate) fn from_weights(weights: &[f32]) -> Self {
        let Some(scale) = step_up_to(MOST_APART, weights) else {
            let scale = weight_scale(weights, 1.0);
            return ByteWeights { scale, shift: 0 };
        };
        let [low, high] = range(weights).map(|end| (end / scale).round() as i32);
        let has_sign = low >= i8::MIN.into() && high <= i8::MAX.into();
        let shift = if has_sign {
            0
        } else {
            low - i32::from(i8::MIN)
        };
        ByteWeights { scale, shift }
    }

    /// Returns the byte of a weight.
    pub(crate) fn byte(self, weight: f32) -> i8 {
        if self.scale == 0.0 || self.scale.is_nan() {
            return 0;
        }
        let whole = (weight / self.scale).round_ties_even() as i32;
        whole
            .saturating_sub(self.shift)
            .clamp(i8::MIN.into(), i8::MAX.into()) as i8
    }
}

/// Returns the scale of an output channel's weights, each of which has a factor. Bytes from -127 to
/// 127 represent the weights, without a zero point. NaN if a weight is not finite.
pub(crate) fn weight_scale(weights: &[f32], factor: f32) -> f32 {
    let kept = weight_step(weights).map(|step| (step * factor).abs());
    if let Some(scale) = kept.filter(|scale| scale.is_normal() && scale.recip().is_normal()) {
        return scale;
    }
    let most = weights.iter().fold(0.0f32, |most, weight| {
        let size = (factor * weight).abs();
        // NaN stays NaN.
        if size > most || size.is_nan() {
            size
        } else {
            most
        }
    });
    let scale = most / MOST as f32;
    match (scale.is_finite(), (1.0 / scale).is_finite()) {
        (true, true) => scale,
        (true, false) => 0.0,
        (false, _) => f32::NAN,
    }
}

#[cfg(test)]
#[path = "../../../../tests/runtime/units/network/weights/step.rs"]
mod tests;
