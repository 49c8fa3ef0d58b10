//! The scale by which bytes stand for the weights of an output channel. Weights that are whole
//! multiples of a step, as quantisers leave them, keep it.

/// The largest multiple, of one sign: weights are bytes with a sign.
const MOST: u32 = 127;

/// How far from a whole number a multiple may be: those of numbers in float32 are off by some 2⁻¹⁷.
const OFF: f32 = 1e-4;

/// Returns the step of which all of these weights are whole multiples, 127 at most, or `None` if there
/// is none. That of zeros alone is 1.
pub(crate) fn weight_step(weights: &[f32]) -> Option<f32> {
    let most = weights.iter().fold(0.0f32, |most, w| most.max(w.abs()));
    if most == 0.0 {
        return weights.iter().all(|&w| w == 0.0).then_some(1.0);
    }
    let is_whole = |multiple: f32| (multiple - multiple.round()).abs() <= OFF;
    let steps = (1..=MOST).rev().map(|count| most / count as f32);
    let mut steps = steps.filter(|step| step.is_normal());
    steps.find(|step| weights.iter().all(|weight| is_whole(weight / step)))
}

/// Returns the scale of an output channel's weights, each of which has a factor: bytes from -127 to 127
/// stand for them, without a zero point. NaN if one is not finite.
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
