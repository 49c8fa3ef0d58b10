// cuBLASLt: products with an epilogue, and choices of algorithms with their workspaces.
#include <array>
#include <map>

#include "../core/report.h"
#include "../core/settings.h"
#include "types.h"

using namespace fake;

namespace {

// Attributes are kept as they are given; how wide each is the interface says.
template <int COUNT> struct Attributes {
    std::array<uint64_t, COUNT> values{};
    std::array<uint8_t, COUNT> widths{};

    int set(int which, const void *from, size_t bytes) {
        if (which < 0 || which >= COUNT || !widths[which]) return BLAS_NOT_SUPPORTED;
        if (bytes != widths[which]) return BLAS_INVALID_VALUE;
        values[which] = 0;
        std::memcpy(&values[which], from, bytes);
        return BLAS_SUCCESS;
    }
    int get(int which, void *to, size_t bytes, size_t *written) const {
        if (which < 0 || which >= COUNT || !widths[which]) return BLAS_NOT_SUPPORTED;
        if (written) *written = widths[which];
        if (bytes < widths[which]) return bytes == 0 ? BLAS_SUCCESS : BLAS_INVALID_VALUE;
        std::memcpy(to, &values[which], widths[which]);
        return BLAS_SUCCESS;
    }
    void start(int which, uint64_t value, uint8_t width) { values[which] = value, widths[which] = width; }
    int32_t number(int which) const { return int32_t(uint32_t(values[which])); }
};

enum Desc { COMPUTE_TYPE = 0, SCALE_TYPE, POINTER_MODE, TRANS_A, TRANS_B, TRANS_C, EPILOGUE = 7, BIAS = 8, BIAS_STRIDE = 10, BIAS_TYPE = 26 };
enum Layout { TYPE = 0, ORDER, ROWS, COLUMNS, LD, BATCHES, OFFSET };
enum Preference { SEARCH_MODE = 0, MAX_WORKSPACE = 1, REDUCTION = 3, ALIGN_A = 5, ALIGN_D = 8, MAX_WAVES = 9, IMPLEMENTATIONS = 12 };
enum Epilogue { DEFAULT = 1, RELU = 2, BIASED = 4, RELU_BIASED = 6 };

using DescValues = Attributes<48>;
using LayoutValues = Attributes<8>;
using PreferenceValues = Attributes<16>;

struct Algorithm { uint64_t mark, workspace, alignment[4], rest[2]; };
struct Heuristic { Algorithm algorithm; size_t workspace; int status; float waves; int reserved[4]; };
constexpr uint64_t MARK = 0xfa4eb1a5;

template <class T> T &of(void *handle) { return *static_cast<T *>(handle); }

bool operand(const void *data, void *layout, int operation, Operand &to) {
    auto &values = of<LayoutValues>(layout);
    int order = values.number(ORDER);
    to.data = data;
    to.rows = int64_t(values.values[ROWS]);
    to.columns = int64_t(values.values[COLUMNS]);
    to.ld = int64_t(values.values[LD]);
    to.batch_stride = int64_t(values.values[OFFSET]);
    to.row_major = order == 1;
    to.transposed = operation != 0;
    return (order == 0 || order == 1) && blas_type(values.number(TYPE), to.type);
}

bool epilogue(const DescValues &desc, Product &to) {
    int which = desc.number(EPILOGUE);
    if (which != DEFAULT && which != RELU && which != BIASED && which != RELU_BIASED) return false;
    to.relu = which & RELU;
    if (!(which & BIASED)) return true;
    to.bias = reinterpret_cast<void *>(desc.values[BIAS]);
    to.bias_stride = int64_t(desc.values[BIAS_STRIDE]);
    to.bias_type = to.d.type;
    int type = desc.number(BIAS_TYPE);
    return !to.d.row_major && (type < 0 || blas_type(type, to.bias_type));
}

// The product that the descriptors mean; a status where there is none.
int describe(void *desc_handle, void *a, void *b, void *c, void *d, Product &to) {
    auto &desc = of<DescValues>(desc_handle);
    int compute = desc.number(COMPUTE_TYPE);
    if (!sums_in_float(compute) || desc.number(SCALE_TYPE) != 0 || desc.number(POINTER_MODE) != 0) return BLAS_NOT_SUPPORTED;
    if (desc.number(TRANS_C) != 0) return BLAS_NOT_SUPPORTED;
    bool offered = operand(nullptr, a, desc.number(TRANS_A), to.a) && operand(nullptr, b, desc.number(TRANS_B), to.b) &&
                   operand(nullptr, c, 0, to.c) && operand(nullptr, d, 0, to.d);
    if (!offered || to.a.type != to.b.type || to.c.type != to.d.type) return BLAS_NOT_SUPPORTED;
    if (to.a.type == Type::F32 && to.d.type != Type::F32) return BLAS_NOT_SUPPORTED;
    if (to.a.type != Type::F32 && to.d.type != Type::F32 && to.d.type != to.a.type) return BLAS_NOT_SUPPORTED;
    if (!epilogue(desc, to)) return BLAS_NOT_SUPPORTED;
    to.rows = to.d.rows;
    to.columns = to.d.columns;
    to.depth = to.a.transposed ? to.a.rows : to.a.columns;
    to.batches = of<LayoutValues>(d).number(BATCHES);
    to.tf32 = settings().tf32 && compute == COMPUTE_FAST_TF32;
    if (const char *wrong = mismatch(to)) return warn("cuBLASLt: %s", wrong), BLAS_INVALID_VALUE;
    return BLAS_SUCCESS;
}

Heuristic heuristic(uint64_t workspace, const PreferenceValues &preference) {
    Heuristic made{};
    made.algorithm.mark = MARK;
    made.algorithm.workspace = made.workspace = workspace;
    for (int i = 0; i < 4; i++) made.algorithm.alignment[i] = preference.values[ALIGN_A + i];
    made.waves = 0.5f;
    return made;
}

// Algorithms assume the alignment that was told when they were chosen (256 by default).
bool aligned(const Algorithm &algorithm, const Product &p) {
    const void *each[4] = {p.a.data, p.b.data, p.c.data, p.d.data};
    for (int i = 0; i < 4; i++) {
        uint64_t wanted = algorithm.alignment[i];
        if (wanted && reinterpret_cast<uint64_t>(each[i]) % wanted) {
            warn("cuBLASLt: %c at %p is not aligned to %zu bytes, as the preference said when the "
                 "algorithm was chosen", "ABCD"[i], each[i], size_t(wanted));
            return false;
        }
    }
    return true;
}

int check_algorithm(const Algorithm *algorithm, const Product &p, void *workspace, size_t bytes) {
    if (!algorithm) return BLAS_SUCCESS;
    if (algorithm->mark != MARK) return BLAS_INVALID_VALUE;
    if (algorithm->workspace > bytes) {
        warn("cuBLASLt: a workspace of %zu bytes was given, the algorithm needs %zu", bytes, size_t(algorithm->workspace));
        return BLAS_INVALID_VALUE;
    }
    bool fits = reinterpret_cast<uint64_t>(workspace) % 16 == 0 && aligned(*algorithm, p);
    return fits ? BLAS_SUCCESS : BLAS_INVALID_VALUE;
}

}  // namespace

extern "C" {

int cublasLtCreate(void **handle) {
    CUcontext context = nullptr;
    cuCtxGetCurrent(&context);
    if (!context) return BLAS_NOT_INITIALIZED;
    *handle = new int(0);
    return BLAS_SUCCESS;
}

int cublasLtDestroy(void *handle) { return delete static_cast<int *>(handle), BLAS_SUCCESS; }
size_t cublasLtGetVersion(void) { return 130100; }
size_t cublasLtGetCudartVersion(void) { return 13000; }
const char *cublasLtGetStatusName(int) { return "CUBLAS_STATUS"; }
const char *cublasLtGetStatusString(int) { return "fake cuBLASLt"; }

int cublasLtMatmulDescCreate(void **desc, int compute, int scale) {
    auto *made = new DescValues;
    for (int which : {TRANS_A, TRANS_B, TRANS_C, POINTER_MODE}) made->start(which, 0, 4);
    made->start(COMPUTE_TYPE, uint64_t(compute), 4);
    made->start(SCALE_TYPE, uint64_t(scale), 4);
    made->start(EPILOGUE, DEFAULT, 4);
    made->start(BIAS, 0, 8);
    made->start(BIAS_STRIDE, 0, 8);
    made->start(BIAS_TYPE, uint32_t(-1), 4);
    *desc = made;
    return BLAS_SUCCESS;
}

int cublasLtMatmulDescDestroy(void *desc) { return delete static_cast<DescValues *>(desc), BLAS_SUCCESS; }

int cublasLtMatmulDescSetAttribute(void *desc, int which, const void *from, size_t bytes) {
    return of<DescValues>(desc).set(which, from, bytes);
}

int cublasLtMatmulDescGetAttribute(void *desc, int which, void *to, size_t bytes, size_t *written) {
    return of<DescValues>(desc).get(which, to, bytes, written);
}

int cublasLtMatrixLayoutCreate(void **layout, int type, uint64_t rows, uint64_t columns, int64_t ld) {
    auto *made = new LayoutValues;
    made->start(TYPE, uint64_t(type), 4);
    made->start(ORDER, 0, 4);
    made->start(ROWS, rows, 8);
    made->start(COLUMNS, columns, 8);
    made->start(LD, uint64_t(ld), 8);
    made->start(BATCHES, 1, 4);
    made->start(OFFSET, 0, 8);
    *layout = made;
    return BLAS_SUCCESS;
}

int cublasLtMatrixLayoutDestroy(void *layout) { return delete static_cast<LayoutValues *>(layout), BLAS_SUCCESS; }

int cublasLtMatrixLayoutSetAttribute(void *layout, int which, const void *from, size_t bytes) {
    return of<LayoutValues>(layout).set(which, from, bytes);
}

int cublasLtMatrixLayoutGetAttribute(void *layout, int which, void *to, size_t bytes, size_t *written) {
    return of<LayoutValues>(layout).get(which, to, bytes, written);
}

int cublasLtMatmulPreferenceCreate(void **preference) {
    auto *made = new PreferenceValues;
    made->start(SEARCH_MODE, 0, 4);
    made->start(MAX_WORKSPACE, 0, 8);
    made->start(REDUCTION, uint32_t(-1), 4);
    for (int which = ALIGN_A; which <= ALIGN_D; which++) made->start(which, 256, 4);
    made->start(MAX_WAVES, 0, 4);
    made->start(IMPLEMENTATIONS, uint64_t(-1), 8);
    *preference = made;
    return BLAS_SUCCESS;
}

int cublasLtMatmulPreferenceDestroy(void *preference) {
    return delete static_cast<PreferenceValues *>(preference), BLAS_SUCCESS;
}

int cublasLtMatmulPreferenceSetAttribute(void *preference, int which, const void *from, size_t bytes) {
    return of<PreferenceValues>(preference).set(which, from, bytes);
}

int cublasLtMatmulPreferenceGetAttribute(void *preference, int which, void *to, size_t bytes, size_t *written) {
    return of<PreferenceValues>(preference).get(which, to, bytes, written);
}

int cublasLtMatmulAlgoGetHeuristic(void *handle, void *desc, void *a, void *b, void *c, void *d,
                                   void *preference, int asked, Heuristic *to, int *found) {
    *found = 0;
    if (!handle) return BLAS_NOT_INITIALIZED;
    Product product;
    if (int status = describe(desc, a, b, c, d, product)) return status;
    if (asked <= 0) return BLAS_INVALID_VALUE;
    auto &wishes = of<PreferenceValues>(preference);
    for (uint64_t workspace : {4ull << 20, 64ull << 10, 0ull}) {
        if (workspace <= wishes.values[MAX_WORKSPACE] && *found < asked) to[(*found)++] = heuristic(workspace, wishes);
    }
    return BLAS_SUCCESS;
}

int cublasLtMatmul(void *handle, void *desc, const void *alpha, const void *a, void *layout_a, const void *b,
                   void *layout_b, const void *beta, const void *c, void *layout_c, void *d, void *layout_d,
                   const Algorithm *algorithm, void *workspace, size_t workspace_bytes, CUstream stream) {
    if (!handle) return BLAS_NOT_INITIALIZED;
    Product product;
    if (int status = describe(desc, layout_a, layout_b, layout_c, layout_d, product)) return status;
    product.alpha = *static_cast<const float *>(alpha);
    product.beta = *static_cast<const float *>(beta);
    product.a.data = a, product.b.data = b, product.c.data = c, product.d.data = d;
    if (mismatch(product)) return BLAS_INVALID_VALUE;
    if (int status = check_algorithm(algorithm, product, workspace, workspace_bytes)) return status;
    size_t used = algorithm ? algorithm->workspace : 0;
    return enqueue(stream, product_work("cublasLt matmul", product, workspace, used)) ? BLAS_EXECUTION_FAILED
                                                                                   : BLAS_SUCCESS;
}

}  // extern "C"
