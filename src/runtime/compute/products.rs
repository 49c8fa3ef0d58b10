//! How the kernels of a family multiply the numbers of each precision.

use std::fmt;

use serde::Serialize;

use super::family::Family;
use super::kernels::{DotKernel, HalfKernel, half_speed};
use super::precision::{CpuKernels, CpuPrecision};

/// Increased when networks take other times or memory than before on the same processor.
const REVISION: u32 = 9;

/// Returns a text for the kernels in use. Measured times depend on it and on the processor.
pub fn kernels_in_use() -> String {
    let family = Family::best();
    let unused = half_speed().is_some() && family == Family::Avx512;
    let unused = unused && !HalfKernel::for_family(family).is_native();
    let widened = if unused { ", bf16 widened" } else { "" };
    format!("kernels {REVISION}, {family}{widened}")
}

/// How kernels multiply the numbers of a precision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProductMethod {
    /// Instructions for these numbers exist.
    Native,
    /// Brain floats are widened to float32 while they are loaded.
    Widened,
    /// Bytes: by products of 16 bits.
    In16Bits,
    /// Bytes: one after another, without vector instructions.
    OneByOne,
}

impl ProductMethod {
    /// Returns whether there are instructions for the numbers.
    pub fn is_native(self) -> bool {
        self == ProductMethod::Native
    }
}

impl fmt::Display for ProductMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ProductMethod::Native => "multiplied natively",
            ProductMethod::Widened => "widened to float32 while loading",
            ProductMethod::In16Bits => "multiplied in 16 bits",
            ProductMethod::OneByOne => "multiplied one by one",
        })
    }
}

impl CpuKernels {
    /// Returns how the numbers are multiplied.
    pub fn products(self) -> ProductMethod {
        let native = |is: bool, other| match is {
            true => ProductMethod::Native,
            false => other,
        };
        match self.precision {
            CpuPrecision::F32 => ProductMethod::Native,
            CpuPrecision::Bf16 => {
                let is_native = HalfKernel::for_family(self.family).is_native();
                native(is_native, ProductMethod::Widened)
            }
            CpuPrecision::Int8 => match DotKernel::for_family(self.family) {
                DotKernel::Vnni | DotKernel::AvxVnni | DotKernel::NeonDot => ProductMethod::Native,
                DotKernel::Avx2 | DotKernel::Avx2Wide | DotKernel::Neon => ProductMethod::In16Bits,
                DotKernel::Plain => ProductMethod::OneByOne,
            },
        }
    }
}

/// The kernels of a family in words, as [`FamilySummary::for_family`] returns them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FamilySummary {
    /// The name of the family.
    pub family: String,
    /// Its instructions: `AVX-512 with VNNI and BF16`.
    pub instructions: String,
    /// How it multiplies brain floats.
    pub bf16: ProductMethod,
    /// How it multiplies bytes.
    pub int8: ProductMethod,
    /// How many times as fast as float32 the processor's instruction for brain floats was measured
    /// to be when the program started; `None` without such an instruction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bf16_speed: Option<f64>,
}

impl FamilySummary {
    /// Returns how a family multiplies on this processor.
    pub fn for_family(family: Family) -> Self {
        let by = |precision| CpuKernels { family, precision }.products();
        let (bf16, int8) = (by(CpuPrecision::Bf16), by(CpuPrecision::Int8));
        FamilySummary {
            family: family.to_string(),
            instructions: instructions(family, bf16, int8),
            bf16,
            int8,
            bf16_speed: half_speed().filter(|_| family == Family::Avx512),
        }
    }

    /// Returns the reason why an instruction for brain floats is not used, or `None` if it is used
    /// or does not exist.
    fn slow_bf16(&self) -> Option<String> {
        let speed = self.bf16_speed.filter(|_| !self.bf16.is_native())?;
        Some(format!(
            "its bf16 instruction is not used: {speed:.2} times the speed of float32"
        ))
    }
}

impl fmt::Display for FamilySummary {
    /// Writes the instructions, and how numbers without instructions are multiplied.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.instructions)?;
        let both = [("int8", self.int8), ("bf16", self.bf16)];
        let other = both.iter().filter(|(_, by)| !by.is_native());
        let said = other.map(|(name, by)| format!("{name} {by}"));
        let said: Vec<String> = said.chain(self.slow_bf16()).collect();
        match said.is_empty() {
            true => Ok(()),
            false => write!(f, ": {}", said.join(", ")),
        }
    }
}

fn instructions(family: Family, bf16: ProductMethod, int8: ProductMethod) -> String {
    let name = match family {
        Family::Avx512 => "AVX-512",
        Family::Avx2Vnni => "AVX2 with AVX-VNNI",
        Family::Avx2 => "AVX2",
        Family::NeonDot => "NEON with DotProd",
        Family::Neon => "NEON",
        Family::Plain => "plain arrays",
    };
    let more = match (family, int8.is_native(), bf16.is_native()) {
        (Family::Avx512, true, true) => " with VNNI and BF16",
        (Family::Avx512, true, false) => " with VNNI",
        (Family::Avx512, false, true) => " with BF16",
        _ => "",
    };
    format!("{name}{more}")
}
