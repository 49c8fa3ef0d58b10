#include "descriptors.h"

#include <algorithm>
#include <string>

using namespace fake;

namespace fake {

namespace {
thread_local std::string last_error = "no error";
}

bool dnn_type(int number, Type &type) {
    switch (number) {
        case DNN_FLOAT: type = Type::F32; return true;
        case DNN_HALF: type = Type::F16; return true;
        case DNN_BFLOAT16: type = Type::BF16; return true;
        default: return false;
    }
}

int dnn_number(Type type) {
    return type == Type::F32 ? DNN_FLOAT : type == Type::F16 ? DNN_HALF : DNN_BFLOAT16;
}

bool refuses(const char *what) {
    const std::string all = "," + settings().refuse + ",";
    return all.find("," + std::string(what) + ",") != std::string::npos || all == ",all,";
}

bool is_channels_last(const Tensor &t) {
    return (t.sc == 1 || t.c == 1) && t.sw >= t.c;
}

bool is_packed(const Tensor &t) {
    bool rows = t.sc == t.h * t.w && t.sh == t.w && t.sw == 1;
    bool last = t.sc == 1 && t.sh == t.w * t.c && t.sw == t.c;
    return t.sn == t.c * t.h * t.w && (rows || last);
}

int dnn_error(int status, const char *reason) {
    last_error = reason;
    trace("cuDNN: status %d: %s", status, reason);
    return status;
}

const char *last_dnn_error() { return last_error.c_str(); }

}  // namespace fake

namespace {

template <class T> T &of(void *handle) { return *static_cast<T *>(handle); }

template <class T> int create(void **to) {
    if (!to) return DNN_NULL_POINTER;
    *to = new T;
    return DNN_SUCCESS;
}

template <class T> int destroy(void *handle) {
    delete static_cast<T *>(handle);
    return DNN_SUCCESS;
}

void pack(Tensor &t, int format) {
    t.sn = t.c * t.h * t.w;
    t.sc = format == NHWC ? 1 : t.h * t.w;
    t.sh = format == NHWC ? t.w * t.c : t.w;
    t.sw = format == NHWC ? t.c : 1;
}

int set_tensor(Tensor &t, int type, const int *dims, const int *strides, int format) {
    if (!dnn_type(type, t.type)) return dnn_error(DNN_NOT_SUPPORTED, "a type of data that is not offered");
    if (std::any_of(dims, dims + 4, [](int d) { return d <= 0; })) return dnn_error(DNN_BAD_PARAM, "a size that is not positive");
    t.n = dims[0], t.c = dims[1], t.h = dims[2], t.w = dims[3];
    if (!strides) return pack(t, format), DNN_SUCCESS;
    if (std::any_of(strides, strides + 4, [](int s) { return s <= 0; })) return dnn_error(DNN_BAD_PARAM, "a stride that is not positive");
    t.sn = strides[0], t.sc = strides[1], t.sh = strides[2], t.sw = strides[3];
    return DNN_SUCCESS;
}

int set_descriptor(void *handle, int type, const int *dims, const int *strides, int format) {
    if (!handle) return DNN_NULL_POINTER;
    auto &descriptor = of<TensorDescriptor>(handle);
    if (int status = set_tensor(descriptor.tensor, type, dims, strides, format)) return status;
    descriptor.set = true;
    return DNN_SUCCESS;
}

// Tensors of other than 4 sizes get sizes of 1 at their end.
int set_any(void *handle, int type, int count, const int *dims, const int *strides, int format) {
    if (count < 3 || count > 4) return dnn_error(DNN_NOT_SUPPORTED, "tensors have 3 or 4 sizes here");
    int four[4] = {1, 1, 1, 1}, along[4] = {1, 1, 1, 1};
    std::copy(dims, dims + count, four);
    if (strides) std::copy(strides, strides + count, along);
    return set_descriptor(handle, type, four, strides ? along : nullptr, format);
}

int set_filter(void *handle, int type, int format, const int *dims) {
    if (!handle) return DNN_NULL_POINTER;
    if (format != NCHW && format != NHWC) return DNN_NOT_SUPPORTED;
    auto &filter = of<FilterDescriptor>(handle);
    if (int status = set_tensor(filter.tensor, type, dims, nullptr, format)) return status;
    filter.format = format;
    filter.set = true;
    return DNN_SUCCESS;
}

}  // namespace

extern "C" {

int cudnnCreate(void **handle) {
    CUcontext context = nullptr;
    cuCtxGetCurrent(&context);
    return context ? create<DnnHandle>(handle) : dnn_error(DNN_NOT_INITIALIZED, "no context is current");
}

int cudnnDestroy(void *handle) { return destroy<DnnHandle>(handle); }
int cudnnSetStream(void *handle, CUstream stream) { return of<DnnHandle>(handle).stream = stream, DNN_SUCCESS; }
int cudnnGetStream(void *handle, CUstream *stream) { return *stream = of<DnnHandle>(handle).stream, DNN_SUCCESS; }
size_t cudnnGetVersion(void) { return 91300; }
size_t cudnnGetMaxDeviceVersion(void) { return 1000; }
size_t cudnnGetCudartVersion(void) { return 13000; }
int cudnnOpsVersionCheck(void) { return DNN_SUCCESS; }
int cudnnCnnVersionCheck(void) { return DNN_SUCCESS; }
int cudnnAdvVersionCheck(void) { return DNN_SUCCESS; }

const char *cudnnGetErrorString(int status) {
    switch (status) {
        case DNN_SUCCESS: return "CUDNN_STATUS_SUCCESS";
        case DNN_NOT_INITIALIZED: return "CUDNN_STATUS_NOT_INITIALIZED";
        case DNN_NOT_SUPPORTED: return "CUDNN_STATUS_NOT_SUPPORTED";
        case DNN_EXECUTION_FAILED: return "CUDNN_STATUS_EXECUTION_FAILED";
        default: return "CUDNN_STATUS_BAD_PARAM";
    }
}

void cudnnGetLastErrorString(char *to, size_t room) { std::snprintf(to, room, "%s", last_dnn_error()); }

int cudnnCreateTensorDescriptor(void **to) { return create<TensorDescriptor>(to); }
int cudnnDestroyTensorDescriptor(void *handle) { return destroy<TensorDescriptor>(handle); }
int cudnnCreateFilterDescriptor(void **to) { return create<FilterDescriptor>(to); }
int cudnnDestroyFilterDescriptor(void *handle) { return destroy<FilterDescriptor>(handle); }
int cudnnCreateConvolutionDescriptor(void **to) { return create<ConvolutionDescriptor>(to); }
int cudnnDestroyConvolutionDescriptor(void *handle) { return destroy<ConvolutionDescriptor>(handle); }
int cudnnCreateActivationDescriptor(void **to) { return create<ActivationDescriptor>(to); }
int cudnnDestroyActivationDescriptor(void *handle) { return destroy<ActivationDescriptor>(handle); }

int cudnnSetTensor4dDescriptor(void *handle, int format, int type, int n, int c, int h, int w) {
    int dims[4] = {n, c, h, w};
    if (format != NCHW && format != NHWC) return DNN_NOT_SUPPORTED;
    return set_descriptor(handle, type, dims, nullptr, format);
}

int cudnnSetTensor4dDescriptorEx(void *handle, int type, int n, int c, int h, int w, int sn, int sc, int sh, int sw) {
    int dims[4] = {n, c, h, w}, strides[4] = {sn, sc, sh, sw};
    return set_descriptor(handle, type, dims, strides, NCHW);
}

int cudnnSetTensorNdDescriptor(void *handle, int type, int count, const int *dims, const int *strides) {
    return set_any(handle, type, count, dims, strides, NCHW);
}

int cudnnSetTensorNdDescriptorEx(void *handle, int format, int type, int count, const int *dims) {
    return set_any(handle, type, count, dims, nullptr, format);
}

int cudnnGetTensor4dDescriptor(void *handle, int *type, int *n, int *c, int *h, int *w, int *sn, int *sc, int *sh, int *sw) {
    const Tensor &t = of<TensorDescriptor>(handle).tensor;
    *type = dnn_number(t.type);
    *n = int(t.n), *c = int(t.c), *h = int(t.h), *w = int(t.w);
    *sn = int(t.sn), *sc = int(t.sc), *sh = int(t.sh), *sw = int(t.sw);
    return DNN_SUCCESS;
}

int cudnnGetTensorSizeInBytes(void *handle, size_t *bytes) {
    return *bytes = of<TensorDescriptor>(handle).tensor.range("").bytes, DNN_SUCCESS;
}

int cudnnSetFilter4dDescriptor(void *handle, int type, int format, int k, int c, int h, int w) {
    int dims[4] = {k, c, h, w};
    return set_filter(handle, type, format, dims);
}

int cudnnSetFilterNdDescriptor(void *handle, int type, int format, int count, const int *dims) {
    if (count != 4) return dnn_error(DNN_NOT_SUPPORTED, "filters have 4 sizes here");
    return set_filter(handle, type, format, dims);
}

int cudnnSetConvolution2dDescriptor(void *handle, int pad_h, int pad_w, int stride_h, int stride_w, int dilation_h,
                                    int dilation_w, int mode, int compute) {
    if (!handle) return DNN_NULL_POINTER;
    if (pad_h < 0 || pad_w < 0 || stride_h < 1 || stride_w < 1 || dilation_h < 1 || dilation_w < 1) return DNN_BAD_PARAM;
    auto &c = of<ConvolutionDescriptor>(handle);
    c.pad_h = pad_h, c.pad_w = pad_w, c.stride_h = stride_h, c.stride_w = stride_w;
    c.dilation_h = dilation_h, c.dilation_w = dilation_w, c.mode = mode, c.compute = compute;
    c.set = true;
    return DNN_SUCCESS;
}

int cudnnSetConvolutionNdDescriptor(void *handle, int count, const int *pad, const int *stride, const int *dilation,
                                    int mode, int compute) {
    if (count != 2) return dnn_error(DNN_NOT_SUPPORTED, "convolutions have 2 axes here");
    return cudnnSetConvolution2dDescriptor(handle, pad[0], pad[1], stride[0], stride[1], dilation[0], dilation[1], mode, compute);
}

int cudnnSetConvolutionMathType(void *handle, int math) { return of<ConvolutionDescriptor>(handle).math = math, DNN_SUCCESS; }
int cudnnGetConvolutionMathType(void *handle, int *math) { return *math = of<ConvolutionDescriptor>(handle).math, DNN_SUCCESS; }
int cudnnSetConvolutionReorderType(void *handle, int type) { return of<ConvolutionDescriptor>(handle).reorder = type, DNN_SUCCESS; }

int cudnnSetConvolutionGroupCount(void *handle, int groups) {
    if (groups < 1) return DNN_BAD_PARAM;
    return of<ConvolutionDescriptor>(handle).groups = groups, DNN_SUCCESS;
}

int cudnnSetActivationDescriptor(void *handle, int mode, int nan, double coefficient) {
    if (!handle) return DNN_NULL_POINTER;
    of<ActivationDescriptor>(handle) = {true, mode, nan, coefficient};
    return DNN_SUCCESS;
}

}  // extern "C"
