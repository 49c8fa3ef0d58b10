#include "algorithms.h"

#include <algorithm>

namespace fake {
namespace {

template <class T> const T *of(void *handle) {
    auto *found = static_cast<const T *>(handle);
    return found && found->set ? found : nullptr;
}

int64_t output_size(int64_t input, int64_t window, int pad, int stride, int dilation) {
    return (input + 2 * pad - ((window - 1) * dilation + 1)) / stride + 1;
}

void geometry(const ConvolutionDescriptor &how, Convolution &to) {
    to.pad_h = how.pad_h, to.pad_w = how.pad_w;
    to.stride_h = how.stride_h, to.stride_w = how.stride_w;
    to.dilation_h = how.dilation_h, to.dilation_w = how.dilation_w;
    to.groups = how.groups;
}

bool sums_as_offered(Type type, int compute) {
    return compute == DNN_FLOAT || (compute == DNN_HALF && type == Type::F16);
}

int check_kinds(const Described &d) {
    const Convolution &c = d.convolution;
    if (c.x.type != c.w.type || c.x.type != c.y.type) return dnn_error(DNN_NOT_SUPPORTED, "x, w and y are of different types");
    if (!sums_as_offered(c.x.type, d.how->compute)) return dnn_error(DNN_NOT_SUPPORTED, "this compute type does not go with the data's");
    if (d.how->mode != 1) return dnn_error(DNN_NOT_SUPPORTED, "only cross correlation is offered");
    bool last = is_channels_last(c.x) && is_channels_last(c.y);
    if (d.filter->format == NHWC && !last) return dnn_error(DNN_NOT_SUPPORTED, "filters are NHWC, x or y are not");
    bool strided = !is_packed(c.x) || !is_packed(c.y);
    if (strided && refuses("strided")) return dnn_error(DNN_NOT_SUPPORTED, "FAKE_CUDNN_REFUSE: strided");
    if (c.groups > 1 && refuses("grouped")) return dnn_error(DNN_NOT_SUPPORTED, "FAKE_CUDNN_REFUSE: grouped");
    return refuses("all") ? dnn_error(DNN_NOT_SUPPORTED, "FAKE_CUDNN_REFUSE: all") : DNN_SUCCESS;
}

// Data of float32 goes through TF32 unless the descriptor says FMA.
bool goes_through_tf32(const Described &d) {
    return settings().tf32 && d.convolution.x.type == Type::F32 && d.how->math != FMA_MATH;
}

}  // namespace

int output_sizes(void *x_handle, void *w_handle, void *how_handle, int *sizes) {
    auto *x = of<TensorDescriptor>(x_handle);
    auto *w = of<FilterDescriptor>(w_handle);
    auto *how = of<ConvolutionDescriptor>(how_handle);
    if (!x || !w || !how) return dnn_error(DNN_NULL_POINTER, "a descriptor is missing or not set");
    if (x->tensor.c != w->tensor.c * how->groups || w->tensor.n % how->groups) {
        return dnn_error(DNN_BAD_PARAM, "channels of x, w and groups do not go together");
    }
    sizes[0] = int(x->tensor.n);
    sizes[1] = int(w->tensor.n);
    sizes[2] = int(output_size(x->tensor.h, w->tensor.h, how->pad_h, how->stride_h, how->dilation_h));
    sizes[3] = int(output_size(x->tensor.w, w->tensor.w, how->pad_w, how->stride_w, how->dilation_w));
    return sizes[2] > 0 && sizes[3] > 0 ? DNN_SUCCESS : dnn_error(DNN_BAD_PARAM, "the output is empty");
}

int describe(void *x, void *w, void *how, void *y, Described &to) {
    int sizes[4];
    if (int status = output_sizes(x, w, how, sizes)) return status;
    auto *out = of<TensorDescriptor>(y);
    if (!out) return dnn_error(DNN_NULL_POINTER, "y's descriptor is missing or not set");
    const Tensor &t = out->tensor;
    if (t.n != sizes[0] || t.c != sizes[1] || t.h != sizes[2] || t.w != sizes[3]) {
        return dnn_error(DNN_BAD_PARAM, "y does not have the output's sizes");
    }
    to.filter = of<FilterDescriptor>(w);
    to.how = of<ConvolutionDescriptor>(how);
    to.convolution.x = of<TensorDescriptor>(x)->tensor;
    to.convolution.w = to.filter->tensor;
    to.convolution.y = t;
    geometry(*to.how, to.convolution);
    to.convolution.tf32 = goes_through_tf32(to);
    return check_kinds(to);
}

int offers(const Described &d, int algorithm) {
    const Convolution &c = d.convolution;
    bool plain = c.dilation_h == 1 && c.dilation_w == 1 && c.stride_h == 1 && c.stride_w == 1;
    bool first = d.filter->format == NCHW && c.x.sw == 1 && c.y.sw == 1;
    bool three = c.w.h == 3 && c.w.w == 3, five = c.w.h == 5 && c.w.w == 5;
    bool yes = false;
    switch (algorithm) {
        case IMPLICIT_GEMM: case IMPLICIT_PRECOMP_GEMM: yes = true; break;
        case GEMM: yes = first && c.groups == 1 && c.dilation_h == 1 && c.dilation_w == 1; break;
        case FFT: case FFT_TILING: yes = first && plain && c.x.type != Type::BF16 && c.x.h < 250 && c.x.w < 250; break;
        case WINOGRAD: yes = first && plain && three; break;
        case WINOGRAD_NONFUSED: yes = first && plain && (three || five); break;
    }
    return yes ? DNN_SUCCESS : dnn_error(DNN_NOT_SUPPORTED, "the algorithm is not offered for this convolution");
}

size_t workspace_bytes(const Described &d, int algorithm) {
    const Convolution &c = d.convolution;
    size_t pixels = size_t(c.y.n * c.y.h * c.y.w), depth = size_t(c.w.c * c.w.h * c.w.w);
    size_t values = size_t(c.x.values() + c.y.values() + c.w.values());
    switch (algorithm) {
        case IMPLICIT_PRECOMP_GEMM: return (depth * 8 + 4096 + 255) / 256 * 256;
        case GEMM: return pixels * depth * width(c.x.type);
        case FFT: case FFT_TILING: return values * 8;
        case WINOGRAD_NONFUSED: return values * 4;
        default: return 0;
    }
}

}  // namespace fake
