//! In which numbers a GPU computes.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Numbers of weights and activations on a GPU. Sums are in float32 always.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Precision {
    /// Float32, multiplied exactly.
    #[default]
    F32,
    /// Float32 whose products are of numbers rounded to 10 bits of mantissa.
    Tf32,
    /// 8 bits of exponent, 7 of mantissa.
    Bf16,
    /// 5 bits of exponent, 10 of mantissa: values beyond 65504 overflow.
    F16,
}

impl Precision {
    /// All of them.
    pub const ALL: [Precision; 4] = [
        Precision::F32,
        Precision::Tf32,
        Precision::Bf16,
        Precision::F16,
    ];

    /// As it is written.
    pub const fn name(self) -> &'static str {
        match self {
            Precision::F32 => "f32",
            Precision::Tf32 => "tf32",
            Precision::Bf16 => "bf16",
            Precision::F16 => "f16",
        }
    }

    /// Bytes of a value.
    pub const fn bytes(self) -> usize {
        match self {
            Precision::F32 | Precision::Tf32 => 4,
            Precision::Bf16 | Precision::F16 => 2,
        }
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Precision {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Precision::ALL.into_iter().find(|p| p.name() == text);
        found.ok_or_else(|| format!("expected f32, tf32, bf16 or f16, found `{text}`"))
    }
}
