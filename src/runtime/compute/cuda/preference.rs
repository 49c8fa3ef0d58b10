//! The assumptions that cuBLASLt makes as it proposes a product's algorithms.

use candle_core::cuda_backend::cudarc::cublaslt::{result, sys};

use crate::compute::ComputeError;

use super::gemm::{Product, refused};

/// The library's assumptions: the bytes of workspace, and the alignment of operands.
pub(super) struct Preference(sys::cublasLtMatmulPreference_t);

impl Preference {
    pub(super) fn new(p: &Product, workspace: usize) -> Result<Self, ComputeError> {
        use sys::cublasLtMatmulPreferenceAttributes_t as Attribute;
        let made = Preference(result::create_matmul_pref().map_err(refused)?);
        let bytes = p.precision.bytes();
        let added = if p.residual == 0 { p.to } else { p.residual };
        made.set(
            Attribute::CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
            &(workspace as u64),
        )?;
        // A divisor of the first address and the distance divides all addresses.
        let all = |address: u64, step: usize| address | (step * bytes) as u64;
        let aligned = [
            (
                Attribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
                all(p.filters, p.batch.filters),
            ),
            (
                Attribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                all(p.from, p.batch.from),
            ),
            (
                Attribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
                all(added, p.batch.to),
            ),
            (
                Attribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES,
                all(p.to, p.batch.to),
            ),
        ];
        for (attribute, address) in aligned {
            made.set(attribute, &alignment(address).max(bytes as u32))?;
        }
        Ok(made)
    }

    pub(super) fn handle(&self) -> sys::cublasLtMatmulPreference_t {
        self.0
    }

    fn set<T>(
        &self,
        attribute: sys::cublasLtMatmulPreferenceAttributes_t,
        value: &T,
    ) -> Result<(), ComputeError> {
        let bytes = (&raw const *value).cast();
        // SAFETY: the attribute takes a value of this type (the library's table of them).
        let set =
            unsafe { result::set_matmul_pref_attribute(self.0, attribute, bytes, size_of::<T>()) };
        set.map_err(refused)
    }
}

impl Drop for Preference {
    fn drop(&mut self) {
        // SAFETY: created by `new`, destroyed once.
        let _ = unsafe { result::destroy_matmul_pref(self.0) };
    }
}

/// Returns the largest power of two, up to 256, that divides an address.
fn alignment(address: u64) -> u32 {
    1 << address.trailing_zeros().min(8)
}
