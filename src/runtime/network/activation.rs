//! Functions that are applied to every value after a layer.

use serde::{Deserialize, Serialize};

use super::error::OpError;

/// A function applied to every value after a layer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "kebab-case")]
pub enum Activation {
    /// `max(x, 0)`.
    Relu,
    /// `min(max(x, 0), 6)`.
    Relu6,
    /// `min(max(x, least), most)`; either bound may be infinite.
    Clip {
        /// The least value of the answer.
        least: f32,
        /// The largest value of the answer.
        most: f32,
    },
    /// `x` from 0 up, `slope · x` below.
    LeakyRelu {
        /// The factor of negative values.
        slope: f32,
    },
    /// `x` from 0 up, `alpha · (exp(x) − 1)` below.
    Elu {
        /// The factor of negative answers.
        alpha: f32,
    },
    /// `1 / (1 + exp(−x))`.
    Sigmoid,
    /// `min(max(slope · x + shift, 0), 1)`.
    HardSigmoid {
        /// The factor of `x`.
        slope: f32,
        /// The answer at 0.
        shift: f32,
    },
    /// `x · sigmoid(x)`, also called swish.
    Silu,
    /// `x · min(max(x / 6 + 1/2, 0), 1)`.
    HardSwish,
    /// `x · (1 + erf(x / √2)) / 2`.
    Gelu,
    /// `x · (1 + tanh(√(2/π) · (x + 0.044715 · x³))) / 2`.
    GeluTanh,
    /// The hyperbolic tangent.
    Tanh,
    /// `ln(1 + exp(x))`.
    Softplus,
    /// `x · tanh(softplus(x))`.
    Mish,
    /// `x` as the nearest of the evenly spaced numbers of a quantiser's integers: `min(max(round(x
    /// / scale), least), most) · scale`, halves to even.
    FakeQuantise {
        /// The distance of the numbers.
        scale: f32,
        /// The integer of the least of them, from -65 535 to 0.
        least: f32,
        /// The integer of the largest of them, from 0 to 65 535.
        most: f32,
    },
}

/// The largest integer of [`Activation::FakeQuantise`]: one of 16 bits.
const MOST_STEPS: f32 = u16::MAX as f32;

impl Activation {
    /// PyTorch's hard sigmoid, `x / 6 + 1/2` between 0 and 1.
    pub const HARD_SIGMOID: Activation = Activation::HardSigmoid {
        slope: 1.0 / 6.0,
        shift: 0.5,
    };

    /// Returns the name in files of layers.
    pub const fn name(self) -> &'static str {
        match self {
            Activation::Relu => "relu",
            Activation::Relu6 => "relu6",
            Activation::Clip { .. } => "clip",
            Activation::LeakyRelu { .. } => "leaky-relu",
            Activation::Elu { .. } => "elu",
            Activation::Sigmoid => "sigmoid",
            Activation::HardSigmoid { .. } => "hard-sigmoid",
            Activation::Silu => "silu",
            Activation::HardSwish => "hard-swish",
            Activation::Gelu => "gelu",
            Activation::GeluTanh => "gelu-tanh",
            Activation::Tanh => "tanh",
            Activation::Softplus => "softplus",
            Activation::Mish => "mish",
            Activation::FakeQuantise { .. } => "fake-quantise",
        }
    }

    /// Checks the function's own numbers.
    ///
    /// # Errors
    /// A factor is not finite, or the bounds of a clip are NaN or in the wrong order.
    pub(super) fn check(self) -> Result<(), OpError> {
        let finite = |field, found: f32| match found.is_finite() {
            true => Ok(()),
            false => Err(OpError::NotFinite { field, found }),
        };
        match self {
            Activation::Clip { least, most } if least <= most => Ok(()),
            Activation::Clip { least, most } => Err(OpError::Bounds { least, most }),
            Activation::LeakyRelu { slope } => finite("slope", slope),
            Activation::Elu { alpha } => finite("alpha", alpha),
            Activation::HardSigmoid { slope, shift } => {
                finite("slope", slope).and_then(|()| finite("shift", shift))
            }
            Activation::FakeQuantise { scale, least, most } => {
                finite("scale", scale.recip()).and_then(|()| finite("scale", scale))?;
                let is_step = |n: f32| n.fract() == 0.0 && (0.0..=MOST_STEPS).contains(&n);
                match is_step(-least) && is_step(most) {
                    true => Ok(()),
                    false => Err(OpError::Bounds { least, most }),
                }
            }
            _ => Ok(()),
        }
    }
}
