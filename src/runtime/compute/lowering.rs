//! The choice of kernels for a network.

use super::calibration::Calibration;
use super::family::Family;
use super::kernels::{HalfKernel, KernelTarget};
use super::plan::ArenaPlan;
use super::precision::{CpuKernels, CpuPrecision};
use crate::network::Graph;

/// The kernels that a network is lowered for, and the known ranges of its values.
#[derive(Clone, Copy, Debug)]
pub struct CpuLowering<'a> {
    /// The kernels.
    pub kernels: CpuKernels,
    /// The ranges of the network's values, by which products in int8 read bytes; `None` if ranges
    /// are found at run time.
    pub calibration: Option<&'a Calibration>,
}

impl<K: Into<CpuKernels>> From<K> for CpuLowering<'_> {
    /// Returns a lowering for only the kernels.
    fn from(kernels: K) -> Self {
        CpuLowering {
            kernels: kernels.into(),
            calibration: None,
        }
    }
}

impl CpuLowering<'_> {
    /// Plans a network.
    pub(super) fn plan(self, graph: &Graph) -> ArenaPlan {
        let CpuKernels { precision, .. } = self.kernels;
        let calibration = self.calibration;
        let calibration = calibration.filter(|_| precision == CpuPrecision::Int8);
        let target = KernelTarget::for_kernels(self.kernels.usable());
        ArenaPlan::calibrated(graph, target, calibration)
    }
}

impl CpuPrecision {
    /// Returns the numbers that the kernels in use multiply fastest: brain floats if the processor has
    /// an instruction for them that was measured to be faster than that for float32, else float32.
    pub fn native() -> Self {
        match HalfKernel::for_family(Family::best()).is_native() {
            true => CpuPrecision::Bf16,
            false => CpuPrecision::F32,
        }
    }
}
