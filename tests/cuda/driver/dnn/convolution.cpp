// The calls about convolutions.
#include <algorithm>
#include <vector>

#include "algorithms.h"

using namespace fake;

namespace {

struct Performance {
    int algorithm, status;
    float time;
    size_t memory;
    int determinism, math;
    int reserved[3];
};

// The best first, those that are not offered last.
constexpr int PREFERRED[] = {IMPLICIT_PRECOMP_GEMM, WINOGRAD, WINOGRAD_NONFUSED, IMPLICIT_GEMM, GEMM, FFT_TILING, FFT, DIRECT};

Performance performance(const Described &described, int algorithm, float time, size_t room) {
    Performance made{};
    made.algorithm = algorithm;
    made.status = offers(described, algorithm);
    made.memory = workspace_bytes(described, algorithm);
    if (!made.status && made.memory > room) made.status = DNN_NOT_SUPPORTED;
    made.time = made.status ? -1 : time;
    made.determinism = 1;
    made.math = described.convolution.x.type == Type::F32 && !described.convolution.tf32 ? FMA_MATH : described.how->math;
    return made;
}

int list(const Described &described, int asked, size_t room, bool measured, int *found, Performance *to) {
    if (asked < 1 || !found || !to) return DNN_BAD_PARAM;
    std::vector<Performance> all;
    float time = 0.01f;
    for (int algorithm : PREFERRED) all.push_back(performance(described, algorithm, measured ? time += 0.01f : -1, room));
    std::stable_partition(all.begin(), all.end(), [](auto &p) { return p.status == DNN_SUCCESS; });
    *found = std::min(asked, int(all.size()));
    std::copy(all.begin(), all.begin() + *found, to);
    return DNN_SUCCESS;
}

int prepare(void *handle, void *x, void *w, void *how, void *y, Described &described) {
    if (!handle) return dnn_error(DNN_NOT_INITIALIZED, "no handle");
    return describe(x, w, how, y, described);
}

float number(const void *value) { return *static_cast<const float *>(value); }
void *writable(const void *data) { return const_cast<void *>(data); }

int check_workspace(const Described &described, int algorithm, void *workspace, size_t bytes) {
    if (int status = offers(described, algorithm)) return status;
    size_t needed = workspace_bytes(described, algorithm);
    if (bytes < needed) {
        warn("cuDNN: a workspace of %zu bytes was given, the algorithm needs %zu", bytes, needed);
        return dnn_error(DNN_SIZE_INSUFFICIENT, "the workspace is too small");
    }
    bool missing = needed && !workspace;
    return missing ? dnn_error(DNN_NULL_POINTER, "the workspace is missing") : DNN_SUCCESS;
}

int run(void *handle, const char *name, Described &d, int algorithm, void *workspace) {
    Work work = convolution_work(name, d.convolution, workspace, workspace_bytes(d, algorithm));
    return queued(enqueue(static_cast<DnnHandle *>(handle)->stream, std::move(work)));
}

int check_activation(const ActivationDescriptor *activation, int algorithm) {
    constexpr int RELU = 1, IDENTITY = 5;
    if (!activation || !activation->set) return dnn_error(DNN_NULL_POINTER, "the activation's descriptor is missing");
    if (activation->mode != RELU && activation->mode != IDENTITY) return dnn_error(DNN_NOT_SUPPORTED, "the activation must be relu or identity");
    if (activation->mode == IDENTITY && algorithm != IMPLICIT_PRECOMP_GEMM) {
        return dnn_error(DNN_NOT_SUPPORTED, "identity goes with IMPLICIT_PRECOMP_GEMM only");
    }
    if (activation->mode == IDENTITY && refuses("identity")) return dnn_error(DNN_NOT_SUPPORTED, "FAKE_CUDNN_REFUSE: identity");
    return DNN_SUCCESS;
}

// z has y's sizes and type; the bias is a value a channel, of y's type.
int check_fused(const Tensor &y, const TensorDescriptor *z, const TensorDescriptor *bias) {
    if (!z || !bias || !z->set || !bias->set) return dnn_error(DNN_NULL_POINTER, "z's or the bias's descriptor is missing");
    const Tensor &t = z->tensor, &b = bias->tensor;
    if (t.n != y.n || t.c != y.c || t.h != y.h || t.w != y.w || t.type != y.type) return dnn_error(DNN_BAD_PARAM, "z is not like y");
    if (b.n != 1 || b.c != y.c || b.h != 1 || b.w != 1) return dnn_error(DNN_BAD_PARAM, "the bias is not 1 x channels x 1 x 1");
    if (b.type != y.type) return dnn_error(DNN_NOT_SUPPORTED, "the bias is not of y's type");
    return refuses("fused") ? dnn_error(DNN_NOT_SUPPORTED, "FAKE_CUDNN_REFUSE: fused") : DNN_SUCCESS;
}

}  // namespace

extern "C" {

int cudnnGetConvolution2dForwardOutputDim(void *how, void *x, void *w, int *n, int *c, int *h, int *width) {
    int sizes[4];
    if (int status = output_sizes(x, w, how, sizes)) return status;
    *n = sizes[0], *c = sizes[1], *h = sizes[2], *width = sizes[3];
    return DNN_SUCCESS;
}

int cudnnGetConvolutionNdForwardOutputDim(void *how, void *x, void *w, int count, int *to) {
    return count == 4 ? output_sizes(x, w, how, to) : DNN_BAD_PARAM;
}

int cudnnGetConvolutionForwardAlgorithmMaxCount(void *, int *count) { return *count = ALGORITHMS, DNN_SUCCESS; }

int cudnnGetConvolutionForwardAlgorithm_v7(void *handle, void *x, void *w, void *how, void *y, int asked, int *found, Performance *to) {
    Described described;
    if (int status = prepare(handle, x, w, how, y, described)) return status;
    return list(described, asked, size_t(-1), false, found, to);
}

int cudnnFindConvolutionForwardAlgorithm(void *handle, void *x, void *w, void *how, void *y, int asked, int *found, Performance *to) {
    Described described;
    if (int status = prepare(handle, x, w, how, y, described)) return status;
    if (forbidden_in_capture()) return dnn_error(DNN_EXECUTION_FAILED, "measuring is not allowed during a capture");
    return list(described, asked, size_t(-1), true, found, to);
}

// Measures with the data given: y is written.
int cudnnFindConvolutionForwardAlgorithmEx(void *handle, void *x_of, const void *x, void *w_of, const void *w, void *how,
                                           void *y_of, void *y, int asked, int *found, Performance *to, void *workspace, size_t bytes) {
    Described described;
    if (int status = prepare(handle, x_of, w_of, how, y_of, described)) return status;
    if (forbidden_in_capture()) return dnn_error(DNN_EXECUTION_FAILED, "measuring is not allowed during a capture");
    described.convolution.x.data = writable(x), described.convolution.w.data = writable(w), described.convolution.y.data = y;
    Work work = convolution_work("cudnn find", described.convolution, workspace, workspace ? bytes : 0);
    CUstream stream = static_cast<DnnHandle *>(handle)->stream;
    if (enqueue(stream, std::move(work)) || synchronise(stream)) return dnn_error(DNN_EXECUTION_FAILED, "the driver refused");
    return list(described, asked, bytes, true, found, to);
}

int cudnnGetConvolutionForwardWorkspaceSize(void *handle, void *x, void *w, void *how, void *y, int algorithm, size_t *bytes) {
    Described described;
    if (int status = prepare(handle, x, w, how, y, described)) return status;
    if (int status = offers(described, algorithm)) return status;
    return *bytes = workspace_bytes(described, algorithm), DNN_SUCCESS;
}

int cudnnConvolutionForward(void *handle, const void *alpha, void *x_of, const void *x, void *w_of, const void *w, void *how,
                            int algorithm, void *workspace, size_t bytes, const void *beta, void *y_of, void *y) {
    Described d;
    if (int status = prepare(handle, x_of, w_of, how, y_of, d)) return status;
    if (int status = check_workspace(d, algorithm, workspace, bytes)) return status;
    if (!x || !w || !y) return dnn_error(DNN_NULL_POINTER, "x, w or y is missing");
    Convolution &c = d.convolution;
    c.x.data = writable(x), c.w.data = writable(w), c.y.data = y;
    c.alpha = number(alpha), c.beta = number(beta);
    return run(handle, "cudnn convolution", d, algorithm, workspace);
}

int cudnnConvolutionBiasActivationForward(void *handle, const void *alpha1, void *x_of, const void *x, void *w_of, const void *w,
                                          void *how, int algorithm, void *workspace, size_t bytes, const void *alpha2, void *z_of,
                                          const void *z, void *bias_of, const void *bias, void *activation, void *y_of, void *y) {
    Described d;
    if (int status = prepare(handle, x_of, w_of, how, y_of, d)) return status;
    auto *act = static_cast<ActivationDescriptor *>(activation);
    if (int status = check_activation(act, algorithm)) return status;
    auto *z_descriptor = static_cast<TensorDescriptor *>(z_of), *b = static_cast<TensorDescriptor *>(bias_of);
    if (int status = check_fused(d.convolution.y, z_descriptor, b)) return status;
    if (int status = check_workspace(d, algorithm, workspace, bytes)) return status;
    if (!x || !w || !y || !z || !bias) return dnn_error(DNN_NULL_POINTER, "x, w, z, bias or y is missing");
    Convolution &c = d.convolution;
    c.x.data = writable(x), c.w.data = writable(w), c.y.data = y;
    c.alpha = number(alpha1), c.alpha2 = number(alpha2);
    c.z = z_descriptor->tensor, c.z.data = writable(z);
    c.bias = bias;
    c.relu = {act->mode == 1, act->nan != 0, 0};
    return run(handle, "cudnn fused convolution", d, algorithm, workspace);
}

}  // extern "C"
