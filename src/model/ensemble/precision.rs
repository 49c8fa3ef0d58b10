//! The precision of a member's network.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use divisi_runtime::compute::gpu::Precision;
use divisi_runtime::compute::{CpuKernels, CpuPrecision, Family};
use divisi_runtime::device::gpu::GpuInfo;
use divisi_runtime::device::{Computation, DeviceKind, Devices, MemberIndex};

/// The precision of a member, for each kind of device. A device without native support uses a more
/// exact precision, never a less exact one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct MemberPrecision {
    /// The precision on processors.
    pub cores: CpuPrecision,
    /// The precision on GPUs, or `None` for the ensemble's.
    pub gpus: Option<Precision>,
    /// Whether it was requested as `auto`: each device uses the precision that it multiplies
    /// natively.
    pub is_auto: bool,
}

impl MemberPrecision {
    /// The name that leaves the choice to each device.
    pub const AUTO: &'static str = "auto";

    /// Returns the names in manifests and on the command line.
    pub fn names() -> impl Iterator<Item = &'static str> {
        let gpus = Precision::ALL.map(Precision::name).into_iter();
        gpus.chain([CpuPrecision::Int8.name(), Self::AUTO])
    }

    /// Returns the precision that the devices of this machine multiply natively.
    pub fn auto() -> Self {
        MemberPrecision {
            cores: CpuPrecision::native(),
            gpus: None,
            is_auto: true,
        }
    }

    /// Returns the kernels of processors.
    pub fn kernels(self) -> CpuKernels {
        CpuKernels {
            family: Family::best(),
            precision: self.cores,
        }
    }

    /// Returns the precision on GPUs. `of_all` is the default for members without their own.
    pub fn on_gpus(self, of_all: Precision) -> Precision {
        self.gpus.unwrap_or(of_all)
    }

    /// Returns the precision on one GPU. `of_all` is the default, as for
    /// [`MemberPrecision::on_gpus`].
    pub fn on_gpu(self, gpu: &GpuInfo, of_all: Precision) -> Precision {
        match self.is_auto {
            true => Precision::native(gpu),
            false => self.on_gpus(of_all),
        }
    }

    /// Returns whether a device computes in the same precision for both.
    pub fn is_same_on(self, other: Self, device: &DeviceKind, of_all: Precision) -> bool {
        match device.computation() {
            Computation::Kernels(_) => self.cores == other.cores,
            Computation::Gpu(gpu) => self.on_gpu(gpu, of_all) == other.on_gpu(gpu, of_all),
            Computation::Law(_) => true,
        }
    }

    /// Returns the name of the precision on one device, or `None` if the device computes nothing.
    /// `of_all` is the default, as for [`MemberPrecision::on_gpus`].
    pub fn on_device(self, device: &DeviceKind, of_all: Precision) -> Option<&'static str> {
        match device.computation() {
            Computation::Kernels(_) => Some(self.cores.name()),
            Computation::Gpu(gpu) => Some(self.on_gpu(gpu, of_all).name()),
            Computation::Law(_) => None,
        }
    }

    /// Returns whether both are equivalent with or without GPUs. Without GPUs, GPU precisions do
    /// not matter. `auto` is only equivalent to `auto`.
    pub fn is_alike(self, other: Self, with_gpus: bool) -> bool {
        let same_cores = self.cores == other.cores;
        let is_auto = self.is_auto || other.is_auto;
        self == other || (same_cores && !is_auto && !with_gpus)
    }

    /// Returns the precision as this machine computes it, with `of_all` as the default on GPUs.
    /// Equivalent values are then equal.
    #[must_use]
    pub fn resolved(self, of_all: Precision) -> Self {
        match self.is_auto {
            true => Self::auto(),
            false => MemberPrecision {
                gpus: Some(self.on_gpus(of_all)),
                ..self
            },
        }
    }

    /// Returns the precision with the GPU precision of `other` if it has none.
    #[must_use]
    pub fn or_gpu_precision(self, other: Self) -> Self {
        match self.is_auto {
            true => self,
            false => MemberPrecision {
                gpus: self.gpus.or(other.gpus),
                ..self
            },
        }
    }

    /// Returns the precision as it replaces `running`: GPUs without a requested precision keep
    /// their present one, and `auto` keeps a running `auto` unchanged.
    #[must_use]
    pub fn replacing(self, running: Self) -> Self {
        match self.is_auto && running.is_auto {
            true => running,
            false => self.or_gpu_precision(running),
        }
    }

    /// Returns its requested name. For `auto`, includes its precision on each kind of these
    /// devices: `auto (bf16)`, or `auto (bf16 on cuda:0, f32 on cpu:0)`.
    pub fn on_devices(self, devices: &Devices, of_all: Precision) -> String {
        if !self.is_auto {
            return self.to_string();
        }
        let mut found: Vec<(&str, &str)> = Vec::new();
        for device in devices.iter() {
            let Some(numbers) = self.on_device(&device.kind, of_all) else {
                continue;
            };
            if found.iter().all(|(known, _)| *known != numbers) {
                found.push((numbers, &device.name));
            }
        }
        let words = match &found[..] {
            [] => return Self::AUTO.to_owned(),
            [(numbers, _)] => (*numbers).to_owned(),
            several => {
                let each = several.iter();
                let each = each.map(|(numbers, device)| format!("{numbers} on {device}"));
                each.collect::<Vec<_>>().join(", ")
            }
        };
        format!("{} ({words})", Self::AUTO)
    }

    /// Returns the next name in turn, among the names that differ on the present devices.
    #[must_use]
    pub fn next(self, with_gpus: bool) -> Self {
        let on_gpus_alone = |name: &str| name.parse::<CpuPrecision>().is_err();
        let names =
            Self::names().filter(|name| with_gpus || *name == Self::AUTO || !on_gpus_alone(name));
        let names: Vec<&str> = names.collect();
        let own = match self.is_auto {
            true => Self::AUTO.to_owned(),
            false => self.to_string(),
        };
        let at = names.iter().position(|name| *name == own);
        let next = at.map_or(0, |at| (at + 1) % names.len());
        names[next].parse().unwrap_or(self)
    }

    /// Returns both as text, long enough to show their difference.
    pub fn distinct_names(self, other: Self) -> (String, String) {
        let short = (self.to_string(), other.to_string());
        match short.0 == short.1 {
            true => (self.to_text(), other.to_text()),
            false => short,
        }
    }

    /// Returns the precision, or `None` if it only sets the GPU default `of_all`.
    pub fn if_set(self, of_all: Precision) -> Option<Self> {
        let usual = self.cores == CpuPrecision::F32 && self.on_gpus(of_all) == of_all;
        (!usual || self.is_auto).then_some(self)
    }

    /// Returns its text in files: one name, or two names such as `int8/bf16` if processors and GPUs
    /// have no common one.
    pub fn to_text(self) -> String {
        if self.is_auto {
            return Self::AUTO.to_owned();
        }
        let name = self.to_string();
        match (self.gpus, name.parse::<Self>()) {
            (Some(gpus), Ok(named)) if named != self => format!("{}/{gpus}", self.cores),
            _ => name,
        }
    }
}

impl fmt::Display for MemberPrecision {
    /// Writes its requested name, or `f32` if nothing was requested. For `auto`, adds the precision
    /// on processors.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.cores, self.gpus) {
            (cores, _) if self.is_auto => write!(f, "{} ({cores})", Self::AUTO),
            // The name alone would also apply to processors.
            (cores @ CpuPrecision::F32, Some(gpus @ Precision::Bf16)) => {
                write!(f, "{cores}/{gpus}")
            }
            (CpuPrecision::F32, Some(gpus)) => write!(f, "{gpus}"),
            (cores, _) => write!(f, "{cores}"),
        }
    }
}

impl FromStr for MemberPrecision {
    type Err = MemberPrecisionError;

    fn from_str(text: &str) -> Result<Self, MemberPrecisionError> {
        let wrong = || MemberPrecisionError {
            found: text.to_owned(),
        };
        if text == Self::AUTO {
            return Ok(Self::auto());
        }
        let (cores, gpus) = match text.split_once('/') {
            Some((cores, gpus)) => {
                let both: (Result<CpuPrecision, _>, Result<Precision, _>) =
                    (cores.parse(), gpus.parse());
                let (Ok(cores), Ok(gpus)) = both else {
                    return Err(wrong());
                };
                (Some(cores), Some(gpus))
            }
            None => (text.parse().ok(), text.parse().ok()),
        };
        if cores.is_none() && gpus.is_none() {
            return Err(wrong());
        }
        Ok(MemberPrecision {
            cores: cores.unwrap_or_default(),
            gpus,
            is_auto: false,
        })
    }
}

/// A member with a precision, which determines the network that a worker runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ComputedMember {
    /// The member.
    pub member: MemberIndex,
    /// The numbers.
    pub precision: MemberPrecision,
}

/// A text that does not name a [`MemberPrecision`].
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("expected f32, tf32, bf16, f16, int8 or auto, or two such as int8/bf16, found `{found}`")]
pub struct MemberPrecisionError {
    found: String,
}
