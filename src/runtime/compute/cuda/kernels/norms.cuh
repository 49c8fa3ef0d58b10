// Norms across the channels of each pixel.
#pragma once
#include "softmax.cuh"
#include "tail.cuh"
#include "walk.cuh"

namespace divisi {

// A block takes a pixel at a time. Any block of whole warps will do.
// Grid: pixels blocks.
template <typename T> __device__ void layer_norm(const LayerNorm &p) {
    for (int64_t pixel = blockIdx.x; pixel < p.pixels; pixel += gridDim.x) {
        const T *from = static_cast<const T *>(p.from) + pixel * p.from_pitch;
        T *to = static_cast<T *>(p.to) + pixel * p.to_pitch;
        float sum = 0.0f, squares = 0.0f;
        for (int c = threadIdx.x; c < p.channels; c += blockDim.x) sum += widen(from[c]);
        const float mean = across_block<Sum>(sum, 0.0f) / float(p.channels);
        for (int c = threadIdx.x; c < p.channels; c += blockDim.x) {
            const float apart = widen(from[c]) - mean;
            squares += apart * apart;
        }
        const float variance = across_block<Sum>(squares, 0.0f) / float(p.channels);
        const float factor = 1.0f / sqrtf(variance + p.eps);
        for (int c = threadIdx.x; c < p.channels; c += blockDim.x) {
            float values[1] = {(widen(from[c]) - mean) * factor};
            finish(p.tail, c, residual<T, 1>(p.tail, c, pixel), values);
            put<1>(to + c, values);
        }
    }
}

// Grid: pixels * channels threads.
template <typename T> __device__ void response_norm(const ResponseNorm &p) {
    for (Walk<1> at({p.channels}, p.pixels); at.more(); at.next()) {
        const int own = at.digit[0];
        const int first = own > p.before ? own - p.before : 0;
        const int last = p.channels - 1 - own > p.behind ? own + p.behind : p.channels - 1;
        const T *from = static_cast<const T *>(p.from) + int64_t(at.last) * p.from_pitch;
        float sum = 0.0f;
        for (int c = first; c <= last; c++) sum += widen(from[c]) * widen(from[c]);
        float values[1] = {widen(from[own]) / powf(p.k + p.share * sum, p.beta)};
        put<1>(static_cast<T *>(p.to) + int64_t(at.last) * p.to_pitch + own, values);
    }
}

}  // namespace divisi
