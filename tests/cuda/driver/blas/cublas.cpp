// cuBLAS: handles and the products that networks use.
#include "../core/report.h"
#include "../core/settings.h"
#include "types.h"

using namespace fake;

namespace {

struct Handle {
    CUstream stream = nullptr;
    int math_mode = 0, pointer_mode = 0, atomics = 0;
};

Handle &of(void *handle) { return *static_cast<Handle *>(handle); }

constexpr int TF32_MATH = 3;

struct Side {
    const void *data;
    int type, ld;
    long long stride;
};

Operand operand(const Side &side, Type type, int64_t rows, int64_t columns, int operation) {
    Operand made;
    made.data = side.data;
    made.type = type;
    made.transposed = operation != 0;
    made.rows = made.transposed ? columns : rows;
    made.columns = made.transposed ? rows : columns;
    made.ld = side.ld;
    made.batch_stride = side.stride;
    return made;
}

int gemm(void *handle, int op_a, int op_b, int m, int n, int k, float alpha, Side a, Side b, float beta,
         Side c, int batches, int compute) {
    if (!handle) return BLAS_NOT_INITIALIZED;
    if (!sums_in_float(compute) || of(handle).pointer_mode != 0) return BLAS_NOT_SUPPORTED;
    Type types[3];
    if (!blas_type(a.type, types[0]) || !blas_type(b.type, types[1]) || !blas_type(c.type, types[2])) {
        return BLAS_NOT_SUPPORTED;
    }
    Product product;
    product.rows = m, product.columns = n, product.depth = k, product.batches = batches;
    product.alpha = alpha, product.beta = beta;
    product.a = operand(a, types[0], m, k, op_a);
    product.b = operand(b, types[1], k, n, op_b);
    product.c = product.d = operand(c, types[2], m, n, 0);
    bool asked = compute == COMPUTE_FAST_TF32 || (of(handle).math_mode & 15) == TF32_MATH;
    product.tf32 = settings().tf32 && asked && compute != COMPUTE_32F_PEDANTIC;
    if (const char *wrong = mismatch(product)) return warn("cuBLAS: %s", wrong), BLAS_INVALID_VALUE;
    if (m == 0 || n == 0 || batches == 0) return BLAS_SUCCESS;
    return enqueue(of(handle).stream, product_work("cublas gemm", product, nullptr, 0))
               ? BLAS_EXECUTION_FAILED : BLAS_SUCCESS;
}

float number(const void *value) { return *static_cast<const float *>(value); }

}  // namespace

extern "C" {

int cublasCreate_v2(void **handle) {
    CUcontext context = nullptr;
    cuCtxGetCurrent(&context);
    if (!context) return BLAS_NOT_INITIALIZED;
    *handle = new Handle;
    return BLAS_SUCCESS;
}

int cublasDestroy_v2(void *handle) {
    delete static_cast<Handle *>(handle);
    return BLAS_SUCCESS;
}

int cublasSetStream_v2(void *handle, CUstream stream) { return of(handle).stream = stream, BLAS_SUCCESS; }
int cublasGetStream_v2(void *handle, CUstream *stream) { return *stream = of(handle).stream, BLAS_SUCCESS; }
int cublasSetWorkspace_v2(void *, void *, size_t) { return BLAS_SUCCESS; }
int cublasSetMathMode(void *handle, int mode) { return of(handle).math_mode = mode, BLAS_SUCCESS; }
int cublasGetMathMode(void *handle, int *mode) { return *mode = of(handle).math_mode, BLAS_SUCCESS; }
int cublasSetPointerMode_v2(void *handle, int mode) { return of(handle).pointer_mode = mode, BLAS_SUCCESS; }
int cublasGetPointerMode_v2(void *handle, int *mode) { return *mode = of(handle).pointer_mode, BLAS_SUCCESS; }
int cublasSetAtomicsMode(void *handle, int mode) { return of(handle).atomics = mode, BLAS_SUCCESS; }
int cublasGetVersion_v2(void *, int *version) { return *version = 130100, BLAS_SUCCESS; }
const char *cublasGetStatusName(int) { return "CUBLAS_STATUS"; }
const char *cublasGetStatusString(int) { return "fake cuBLAS"; }

int cublasSgemm_v2(void *handle, int op_a, int op_b, int m, int n, int k, const float *alpha, const float *a,
                   int lda, const float *b, int ldb, const float *beta, float *c, int ldc) {
    return gemm(handle, op_a, op_b, m, n, k, *alpha, {a, 0, lda, 0}, {b, 0, ldb, 0}, *beta, {c, 0, ldc, 0}, 1,
                COMPUTE_32F);
}

int cublasSgemmStridedBatched(void *handle, int op_a, int op_b, int m, int n, int k, const float *alpha,
                              const float *a, int lda, long long stride_a, const float *b, int ldb,
                              long long stride_b, const float *beta, float *c, int ldc, long long stride_c,
                              int batches) {
    return gemm(handle, op_a, op_b, m, n, k, *alpha, {a, 0, lda, stride_a}, {b, 0, ldb, stride_b}, *beta,
                {c, 0, ldc, stride_c}, batches, COMPUTE_32F);
}

int cublasGemmEx(void *handle, int op_a, int op_b, int m, int n, int k, const void *alpha, const void *a,
                 int type_a, int lda, const void *b, int type_b, int ldb, const void *beta, void *c,
                 int type_c, int ldc, int compute, int) {
    if (!sums_in_float(compute)) return BLAS_NOT_SUPPORTED;
    return gemm(handle, op_a, op_b, m, n, k, number(alpha), {a, type_a, lda, 0}, {b, type_b, ldb, 0},
                number(beta), {c, type_c, ldc, 0}, 1, compute);
}

int cublasGemmStridedBatchedEx(void *handle, int op_a, int op_b, int m, int n, int k, const void *alpha,
                               const void *a, int type_a, int lda, long long stride_a, const void *b,
                               int type_b, int ldb, long long stride_b, const void *beta, void *c, int type_c,
                               int ldc, long long stride_c, int batches, int compute, int) {
    if (!sums_in_float(compute)) return BLAS_NOT_SUPPORTED;
    return gemm(handle, op_a, op_b, m, n, k, number(alpha), {a, type_a, lda, stride_a},
                {b, type_b, ldb, stride_b}, number(beta), {c, type_c, ldc, stride_c}, batches, compute);
}

}  // extern "C"
