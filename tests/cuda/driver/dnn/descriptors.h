// cuDNN's descriptors and handles.
#pragma once
#include "../core/report.h"
#include "../core/settings.h"
#include "../math/convolution.h"

namespace fake {

enum DnnStatus {
    DNN_SUCCESS = 0,
    DNN_NOT_INITIALIZED = 1001,
    DNN_BAD_PARAM = 2000,
    DNN_NULL_POINTER = 2002,
    DNN_SIZE_INSUFFICIENT = 2006,
    DNN_SHAPE_MISMATCH = 2008,
    DNN_NOT_SUPPORTED = 3000,
    DNN_EXECUTION_FAILED = 5000
};

enum DnnType { DNN_FLOAT = 0, DNN_HALF = 2, DNN_BFLOAT16 = 9 };
enum DnnFormat { NCHW = 0, NHWC = 1 };
enum DnnMath { DEFAULT_MATH = 0, TENSOR_OP_MATH = 1, ALLOW_CONVERSION = 2, FMA_MATH = 3 };

struct DnnHandle {
    CUstream stream = nullptr;
};

// What is not a descriptor that was set says so by `set`.
struct TensorDescriptor {
    bool set = false;
    Tensor tensor;
};

struct FilterDescriptor {
    bool set = false;
    int format = NCHW;
    Tensor tensor;
};

struct ConvolutionDescriptor {
    bool set = false;
    int pad_h = 0, pad_w = 0, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
    int mode = 1, compute = DNN_FLOAT, math = DEFAULT_MATH, groups = 1, reorder = 0;
};

struct ActivationDescriptor {
    bool set = false;
    int mode = 1, nan = 0;
    double coefficient = 0;
};

bool dnn_type(int number, Type &type);
int dnn_number(Type type);
// Whether FAKE_CUDNN_REFUSE names it.
bool refuses(const char *what);
// Values follow each other without gaps, in either order.
bool is_packed(const Tensor &tensor);
bool is_channels_last(const Tensor &tensor);

// A status with its reason in the trace and for cudnnGetLastErrorString.
int dnn_error(int status, const char *reason);
const char *last_dnn_error();

inline int queued(CUresult result) { return result ? dnn_error(DNN_EXECUTION_FAILED, "the driver refused") : DNN_SUCCESS; }

}  // namespace fake
