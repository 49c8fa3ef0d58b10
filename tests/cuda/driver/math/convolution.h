// Convolutions over tensors of any strides, as work of a stream.
#pragma once
#include "../core/queue.h"
#include "gemm.h"

namespace fake {

// Images (n, c, h, w) or filters (k, c, r, s), with the strides of each.
struct Tensor {
    void *data = nullptr;
    Type type = Type::F32;
    int64_t n = 0, c = 0, h = 0, w = 0;
    int64_t sn = 0, sc = 0, sh = 0, sw = 0;

    int64_t values() const { return n * c * h * w; }
    Range range(const char *what) const;
    int64_t at(int64_t i, int64_t j, int64_t y, int64_t x) const { return i * sn + j * sc + y * sh + x * sw; }
};

struct Relu {
    bool on = false, keeps_nan = false;
    float ceiling = 0;  // 0: none
    float operator()(float value) const;
};

struct Convolution {
    Tensor x, w, y;
    int64_t pad_h = 0, pad_w = 0, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1, groups = 1;
    bool tf32 = false;
    float alpha = 1, beta = 0;  // beta: of what y had
    // Fused: y = relu(alpha * convolution + alpha2 * z + bias).
    float alpha2 = 0;
    Tensor z;
    const void *bias = nullptr;
    Relu relu;
};

Work convolution_work(const char *name, const Convolution &convolution, void *workspace, size_t bytes);

}  // namespace fake
