//! Matrix products by cuBLASLt with the end of a step: `D = act(A · Wᵀ + bias + C)`.
//!
//! `A` is pixels × inputs, `W` outputs × inputs, `C` and `D` pixels × outputs, all in row order.
//! The library uses column order, so the call computes `Dᵀ = W · Aᵀ` with the first matrix
//! transposed. Products of activations have their right matrix instead of `W`, in either order, and
//! come in batches.

use std::ffi::c_void;
use std::mem::{MaybeUninit, size_of};

use candle_core::cuda_backend::cudarc::cublas::sys::cublasOperation_t;
use candle_core::cuda_backend::cudarc::cublaslt::{result, sys};
use candle_core::cuda_backend::cudarc::driver::CudaStream;

use crate::compute::ComputeError;
use crate::compute::gpu::Precision;
use crate::device::gpu::{DeviceSlice, GpuError};

use super::preference::Preference;

/// The library's handle; it takes calls from any thread.
pub(super) struct Blas(sys::cublasLtHandle_t);

// SAFETY: the library documents its handle as usable from several threads at once.
unsafe impl Send for Blas {}
// SAFETY: as above.
unsafe impl Sync for Blas {}

impl Blas {
    pub(super) fn new() -> Result<Self, ComputeError> {
        Ok(Blas(result::create_handle().map_err(refused)?))
    }
}

impl Drop for Blas {
    fn drop(&mut self) {
        // SAFETY: created by `new`, destroyed once.
        let _ = unsafe { result::destroy_handle(self.0) };
    }
}

/// The operands of a product: addresses, sizes, and pitches in values.
#[derive(Clone, Copy, Debug)]
pub(super) struct Product {
    pub precision: Precision,
    pub pixels: usize,
    pub inputs: usize,
    pub outputs: usize,
    pub from: u64,
    pub from_pitch: usize,
    pub from_order: MatrixOrder,
    pub filters: u64,
    pub filters_pitch: usize,
    pub filters_order: MatrixOrder,
    /// In `precision`; 0 for none.
    pub bias: u64,
    /// Added before the activation; 0 for none.
    pub residual: u64,
    pub residual_pitch: usize,
    pub to: u64,
    pub to_pitch: usize,
    pub relu: bool,
    pub batch: ProductBatch,
}

/// Which values of an operand are neighbours; its pitch is the distance along the other side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MatrixOrder {
    /// The values to sum: inputs.
    Depth,
    /// Pixels, or outputs.
    Lanes,
}

/// Products of the same sizes, at even distances in values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ProductBatch {
    pub count: usize,
    pub filters: usize,
    pub from: usize,
    pub to: usize,
}

impl ProductBatch {
    /// A single product.
    pub(super) const ONE: ProductBatch = ProductBatch {
        count: 1,
        filters: 0,
        from: 0,
        to: 0,
    };
}

/// A product with its algorithm.
pub(super) struct Gemm {
    product: Product,
    task: Task,
    algorithm: sys::cublasLtMatmulAlgo_t,
    workspace: usize,
}

/// The library's descriptions, destroyed together.
struct Task {
    task: sys::cublasLtMatmulDesc_t,
    /// Filters, pixels, residual, result.
    matrices: [sys::cublasLtMatrixLayout_t; 4],
}

// SAFETY: descriptions are plain memory that is only read once they are made.
unsafe impl Send for Task {}

impl Gemm {
    /// Returns the product with each of the library's fastest algorithms by its own estimate, best
    /// first: at most `most`, each within `workspace` bytes.
    pub(super) fn candidates(
        blas: &Blas,
        product: Product,
        workspace: usize,
        most: usize,
    ) -> Result<Vec<Gemm>, ComputeError> {
        let task = Task::new(&product)?;
        let found = heuristics(blas, &task, &product, workspace, most)?;
        let mut all = Vec::new();
        for choice in found {
            all.push(Gemm {
                product,
                task: Task::new(&product)?,
                algorithm: choice.algo,
                workspace: choice.workspaceSize,
            });
        }
        Ok(all)
    }

    /// Returns the product with the library's fastest algorithm by its own estimate.
    ///
    /// # Errors
    /// The library has no algorithm for these operands.
    pub(super) fn best(
        blas: &Blas,
        product: Product,
        workspace: usize,
    ) -> Result<Gemm, ComputeError> {
        let found = Gemm::candidates(blas, product, workspace, 1)?;
        let none = || GpuError::Other("cuBLASLt returned no algorithm".into()).into();
        found.into_iter().next().ok_or_else(none)
    }

    /// Queues it.
    pub(super) fn queue(
        &self,
        blas: &Blas,
        stream: &CudaStream,
        workspace: &DeviceSlice,
    ) -> Result<(), ComputeError> {
        let p = &self.product;
        let (alpha, beta) = (1f32, if p.residual == 0 { 0f32 } else { 1f32 });
        let [filters, pixels, residual, result] = self.task.matrices;
        let added = if p.residual == 0 { p.to } else { p.residual };
        // SAFETY: descriptions fit the operands, which live until the stream is done; the
        // workspace has at least the bytes that the algorithm was chosen for.
        let queued = unsafe {
            result::matmul(
                blas.0,
                self.task.task,
                (&raw const alpha).cast(),
                (&raw const beta).cast(),
                p.filters as *const c_void,
                filters,
                p.from as *const c_void,
                pixels,
                added as *const c_void,
                residual,
                p.to as *mut c_void,
                result,
                &raw const self.algorithm,
                workspace.address() as *mut c_void,
                self.workspace,
                stream.cu_stream().cast(),
            )
        };
        queued.map_err(refused)
    }
}

fn heuristics(
    blas: &Blas,
    task: &Task,
    product: &Product,
    workspace: usize,
    most: usize,
) -> Result<Vec<sys::cublasLtMatmulHeuristicResult_t>, ComputeError> {
    let preference = Preference::new(product, workspace)?;
    let mut found = vec![MaybeUninit::<sys::cublasLtMatmulHeuristicResult_t>::zeroed(); most];
    let mut count = 0;
    let [filters, pixels, residual, result] = task.matrices;
    // SAFETY: at most `most` results are written.
    let asked = unsafe {
        sys::cublasLtMatmulAlgoGetHeuristic(
            blas.0,
            task.task,
            filters,
            pixels,
            residual,
            result,
            preference.handle(),
            most as i32,
            found.as_mut_ptr().cast(),
            &raw mut count,
        )
    };
    asked.result().map_err(refused)?;
    let count = usize::try_from(count).unwrap_or(0).min(most);
    // SAFETY: the library wrote the first `count`; all were zeroed before.
    let found = found[..count].iter().map(|f| unsafe { f.assume_init() });
    let usable = found.filter(|f| f.state == sys::cublasStatus_t::CUBLAS_STATUS_SUCCESS);
    Ok(usable.filter(|f| f.workspaceSize <= workspace).collect())
}

const fn kind(precision: Precision) -> sys::cudaDataType {
    match precision {
        Precision::F32 | Precision::Tf32 => sys::cudaDataType::CUDA_R_32F,
        Precision::Bf16 => sys::cudaDataType::CUDA_R_16BF,
        Precision::F16 => sys::cudaDataType::CUDA_R_16F,
    }
}

impl Task {
    fn new(product: &Product) -> Result<Self, ComputeError> {
        use sys::cublasComputeType_t as Compute;
        let compute = match product.precision {
            Precision::Tf32 => Compute::CUBLAS_COMPUTE_32F_FAST_TF32,
            _ => Compute::CUBLAS_COMPUTE_32F,
        };
        let task = result::create_matmul_desc(compute, sys::cudaDataType::CUDA_R_32F);
        let mut made = Task {
            task: task.map_err(refused)?,
            matrices: [std::ptr::null_mut(); 4],
        };
        made.describe(product)?;
        Ok(made)
    }

    fn describe(&mut self, p: &Product) -> Result<(), ComputeError> {
        use sys::cublasLtMatmulDescAttributes_t as Attribute;
        let operation = |is_turned| match is_turned {
            true => cublasOperation_t::CUBLAS_OP_T,
            false => cublasOperation_t::CUBLAS_OP_N,
        };
        let filters = operation(p.filters_order == MatrixOrder::Depth);
        let from = operation(p.from_order == MatrixOrder::Lanes);
        self.set(Attribute::CUBLASLT_MATMUL_DESC_TRANSA, &filters)?;
        self.set(Attribute::CUBLASLT_MATMUL_DESC_TRANSB, &from)?;
        self.set(Attribute::CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue(p))?;
        if p.bias != 0 {
            self.set(Attribute::CUBLASLT_MATMUL_DESC_BIAS_POINTER, &p.bias)?;
            let of_bias = kind(p.precision);
            self.set(Attribute::CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, &of_bias)?;
        }
        let residual_pitch = if p.residual == 0 {
            p.to_pitch
        } else {
            p.residual_pitch
        };
        let operand = |order, lanes, pitch| match order {
            MatrixOrder::Depth => (p.inputs, lanes, pitch),
            MatrixOrder::Lanes => (lanes, p.inputs, pitch),
        };
        let sizes = [
            operand(p.filters_order, p.outputs, p.filters_pitch),
            operand(p.from_order, p.pixels, p.from_pitch),
            (p.outputs, p.pixels, residual_pitch),
            (p.outputs, p.pixels, p.to_pitch),
        ];
        let steps = [p.batch.filters, p.batch.from, p.batch.to, p.batch.to];
        for ((matrix, (rows, columns, pitch)), step) in
            self.matrices.iter_mut().zip(sizes).zip(steps)
        {
            let (rows, columns) = (rows as u64, columns as u64);
            let made = result::create_matrix_layout(kind(p.precision), rows, columns, pitch as i64);
            *matrix = made.map_err(refused)?;
            repeat(*matrix, p.batch.count, step)?;
        }
        Ok(())
    }

    fn set<T>(
        &self,
        attribute: sys::cublasLtMatmulDescAttributes_t,
        value: &T,
    ) -> Result<(), ComputeError> {
        let bytes = (&raw const *value).cast();
        // SAFETY: the attribute takes a value of this type (the library's table of them).
        let set = unsafe {
            result::set_matmul_desc_attribute(self.task, attribute, bytes, size_of::<T>())
        };
        set.map_err(refused)
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        for matrix in self.matrices.into_iter().filter(|m| !m.is_null()) {
            // SAFETY: created by `describe`, destroyed once.
            let _ = unsafe { result::destroy_matrix_layout(matrix) };
        }
        // SAFETY: created by `new`, destroyed once.
        let _ = unsafe { result::destroy_matmul_desc(self.task) };
    }
}

/// Makes a matrix the first one of several.
fn repeat(
    matrix: sys::cublasLtMatrixLayout_t,
    count: usize,
    step: usize,
) -> Result<(), ComputeError> {
    use sys::cublasLtMatrixLayoutAttribute_t as Attribute;
    let (count, step) = (count as i32, step as i64);
    let count_at = (&raw const count).cast();
    let step_at = (&raw const step).cast();
    let of_count = Attribute::CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT;
    let of_step = Attribute::CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET;
    // SAFETY: the attributes take values of these types (the library's table of them).
    let set = unsafe {
        result::set_matrix_layout_attribute(matrix, of_count, count_at, size_of::<i32>()).and_then(
            |()| result::set_matrix_layout_attribute(matrix, of_step, step_at, size_of::<i64>()),
        )
    };
    set.map_err(refused)
}

fn epilogue(p: &Product) -> sys::cublasLtEpilogue_t {
    use sys::cublasLtEpilogue_t as Epilogue;
    match (p.bias != 0, p.relu) {
        (false, false) => Epilogue::CUBLASLT_EPILOGUE_DEFAULT,
        (false, true) => Epilogue::CUBLASLT_EPILOGUE_RELU,
        (true, false) => Epilogue::CUBLASLT_EPILOGUE_BIAS,
        (true, true) => Epilogue::CUBLASLT_EPILOGUE_RELU_BIAS,
    }
}

pub(super) fn refused(error: result::CublasError) -> ComputeError {
    GpuError::Other(format!("cuBLASLt: {error}")).into()
}
