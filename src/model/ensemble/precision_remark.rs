//! Remarks on members whose devices do not natively support the requested precision.

use std::fmt;

use divisi_runtime::compute::gpu::Precision;
use divisi_runtime::compute::{CpuKernels, CpuPrecision, ProductMethod};
use divisi_runtime::device::{Computation, Device, Devices};

use super::MemberPrecision;

/// A requested precision, and the precision that devices use instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrecisionRemark {
    /// The kernels of this processor have no instructions for the precision.
    NotNative(CpuKernels),
    /// Processors have no kernels for this GPU precision and compute in float32.
    GpusAlone(Precision),
    /// GPUs have no int8 kernels and compute in another precision.
    CoresAlone {
        /// The precision of processors.
        asked: CpuPrecision,
        /// The precision of GPUs.
        on_gpus: Precision,
    },
    /// A simulated device uses its profile's times and memory in every precision.
    Simulated(MemberPrecision),
}

impl PrecisionRemark {
    /// Returns the remarks on the precisions of members, each once. GPUs use `of_all` by default.
    pub fn for_members(
        precisions: impl IntoIterator<Item = MemberPrecision>,
        devices: &Devices,
        of_all: Precision,
    ) -> Vec<Self> {
        let mut all = Vec::new();
        for precision in precisions {
            for remark in precision.remarks(devices, of_all) {
                if !all.contains(&remark) {
                    all.push(remark);
                }
            }
        }
        all
    }

    /// Returns the remark on processors if they do not multiply a precision natively.
    pub fn on_cores(precision: MemberPrecision) -> Option<Self> {
        let kernels = precision.kernels();
        match (kernels.precision, precision.gpus) {
            _ if precision.is_auto => None,
            (CpuPrecision::F32, Some(asked @ (Precision::F16 | Precision::Tf32))) => {
                Some(PrecisionRemark::GpusAlone(asked))
            }
            _ if kernels.products().is_native() => None,
            _ => Some(PrecisionRemark::NotNative(kernels)),
        }
    }

    /// Returns the remark on GPUs if they do not multiply a precision natively.
    pub fn on_gpus(precision: MemberPrecision, of_all: Precision) -> Option<Self> {
        let is_bytes = precision.cores == CpuPrecision::Int8;
        is_bytes.then(|| PrecisionRemark::CoresAlone {
            asked: precision.cores,
            on_gpus: precision.on_gpus(of_all),
        })
    }
}

impl MemberPrecision {
    /// Returns remarks on devices that compute in another precision than requested, and on
    /// processors that multiply without native instructions.
    pub fn remarks(self, devices: &Devices, of_all: Precision) -> Vec<PrecisionRemark> {
        let any = |is: fn(&Computation<'_>) -> bool| {
            let found = |device: &Device| is(&device.kind.computation());
            devices.iter().any(found)
        };
        let cores = any(|by| matches!(by, Computation::Kernels(_)));
        let gpus = any(|by| matches!(by, Computation::Gpu(_)));
        let laws = any(|by| matches!(by, Computation::Law(_)));
        let simulated = self.if_set(Precision::F32).filter(|_| laws);
        [
            cores.then(|| PrecisionRemark::on_cores(self)).flatten(),
            gpus.then(|| PrecisionRemark::on_gpus(self, of_all))
                .flatten(),
            simulated.map(PrecisionRemark::Simulated),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

impl fmt::Display for PrecisionRemark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PrecisionRemark::NotNative(kernels) => {
                let CpuKernels { family, precision } = kernels;
                write!(
                    f,
                    "{precision}: this processor's kernels ({family}) have no instructions for it; "
                )?;
                f.write_str(match kernels.products() {
                    ProductMethod::Native => "values are multiplied as they are",
                    ProductMethod::Widened => "values are widened to float32 while they are loaded",
                    ProductMethod::In16Bits => "bytes are multiplied as 16-bit products",
                    ProductMethod::OneByOne => {
                        "bytes are multiplied one by one, which takes many times as long as float32"
                    }
                })
            }
            PrecisionRemark::GpusAlone(asked) => {
                write!(f, "{asked}: GPUs only; processors compute in f32")
            }
            PrecisionRemark::CoresAlone { asked, on_gpus } => {
                write!(f, "{asked}: processors only; GPUs compute in {on_gpus}")
            }
            PrecisionRemark::Simulated(asked) => {
                let name = match asked.is_auto {
                    true => MemberPrecision::AUTO.to_owned(),
                    false => asked.to_string(),
                };
                write!(
                    f,
                    "{name}: simulated devices have the same times and memory in every precision"
                )
            }
        }
    }
}
