//! The numbers that a member's network is computed in.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::compute::CpuPrecision;
use crate::compute::gpu::Precision;

/// The numbers that a member is computed in, by the kind of device. A device that does not
/// multiply the numbers that were asked for takes more exact ones, never others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct MemberPrecision {
    /// Those of processors.
    pub cores: CpuPrecision,
    /// Those of GPUs, or `None` for the ensemble's.
    pub gpus: Option<Precision>,
}

impl MemberPrecision {
    /// Returns the names in manifests and on the command line.
    pub fn names() -> impl Iterator<Item = &'static str> {
        let gpus = Precision::ALL.map(Precision::name).into_iter();
        gpus.chain([CpuPrecision::Int8.name()])
    }

    /// Returns the numbers of GPUs; `of_all` are those of members that nothing is said of.
    pub fn on_gpus(self, of_all: Precision) -> Precision {
        self.gpus.unwrap_or(of_all)
    }

    /// Returns the same, or `None` where it says no more than that GPUs compute in `of_all`.
    pub fn beyond(self, of_all: Precision) -> Option<Self> {
        let usual = self.cores == CpuPrecision::F32 && self.on_gpus(of_all) == of_all;
        (!usual).then_some(self)
    }
}

impl fmt::Display for MemberPrecision {
    /// Writes the name by which it is asked for, or `f32` where nothing was.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.cores, self.gpus) {
            (CpuPrecision::F32, Some(gpus)) => write!(f, "{gpus}"),
            (cores, _) => write!(f, "{cores}"),
        }
    }
}

impl FromStr for MemberPrecision {
    type Err = MemberPrecisionError;

    fn from_str(text: &str) -> Result<Self, MemberPrecisionError> {
        let (cores, gpus) = (text.parse().ok(), text.parse().ok());
        if cores.is_none() && gpus.is_none() {
            return Err(MemberPrecisionError {
                found: text.to_owned(),
            });
        }
        Ok(MemberPrecision {
            cores: cores.unwrap_or_default(),
            gpus,
        })
    }
}

impl TryFrom<String> for MemberPrecision {
    type Error = MemberPrecisionError;

    fn try_from(text: String) -> Result<Self, MemberPrecisionError> {
        text.parse()
    }
}

impl From<MemberPrecision> for String {
    fn from(precision: MemberPrecision) -> String {
        precision.to_string()
    }
}

/// A text names no [`MemberPrecision`].
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("expected f32, tf32, bf16, f16 or int8, found `{found}`")]
pub struct MemberPrecisionError {
    found: String,
}
