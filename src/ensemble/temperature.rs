//! Temperatures: how sure of itself a member is allowed to be.

use serde::{Deserialize, Serialize};

use crate::words;

/// What a member's logits are divided by before they become probabilities.
///
/// Above 1 its probabilities are evened out, below 1 sharpened; its likeliest class stays
/// the same. Calibration finds it (Guo et al., arXiv 1706.04599).
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Temperature(f64);

impl Temperature {
    /// Probabilities as the network gives them.
    pub const ONE: Temperature = Temperature(1.0);
    /// The lowest and the highest.
    pub const RANGE: (f64, f64) = (0.01, 100.0);

    /// A number from 0.01 to 100.
    ///
    /// # Errors
    /// What was expected.
    pub fn new(number: f64) -> Result<Self, String> {
        let (least, most) = Self::RANGE;
        match (least..=most).contains(&number) {
            true => Ok(Temperature(number)),
            false => Err(format!(
                "expected a temperature from {least} to {most}, found {}",
                words::number(number)
            )),
        }
    }

    /// The number.
    pub fn get(self) -> f64 {
        self.0
    }

    /// Whether it changes nothing.
    pub fn is_one(self) -> bool {
        self == Self::ONE
    }

    /// Turns probabilities into those at this temperature, row after row in place:
    /// `softmax(logits / T)`, which is `p^(1/T)` over its sum.
    ///
    /// What is below the least normal float32 counts as that.
    pub fn apply(self, rows: &mut [f32], classes: usize) {
        let power = (1.0 / self.0) as f32;
        for row in rows.chunks_exact_mut(classes.max(1)) {
            let most = log(row.iter().copied().fold(0.0, f32::max));
            let mut sum = 0.0;
            for p in row.iter_mut() {
                *p = ((log(*p) - most) * power).exp();
                sum += *p;
            }
            row.iter_mut().for_each(|p| *p /= sum);
        }
    }
}

impl Default for Temperature {
    fn default() -> Self {
        Temperature::ONE
    }
}

impl TryFrom<f64> for Temperature {
    type Error = String;

    fn try_from(number: f64) -> Result<Self, String> {
        Temperature::new(number)
    }
}

impl From<Temperature> for f64 {
    fn from(temperature: Temperature) -> f64 {
        temperature.0
    }
}

/// The natural logarithm of a probability, finite for 0 too: a softmax in float32 gives 0
/// for what is only very unlikely.
pub(super) fn log(p: f32) -> f32 {
    p.max(f32::MIN_POSITIVE).ln()
}
