// The end that convolutions and pointwise steps share.
#pragma once
#include "numbers.cuh"
#include "params.h"

namespace divisi {

// Comparisons that keep NaN as NaN, which fmaxf would not.
__device__ inline float activate(float value, Activation activation) {
    if (activation != NONE && value < 0.0f) value = 0.0f;
    if (activation == RELU6 && value > 6.0f) value = 6.0f;
    return value;
}

// Whether a tail can be applied to `W` channels at a time.
template <typename T, int W> __device__ inline bool fits(const Tail &tail) {
    const bool residual = !tail.residual || fits<T, W>(tail.residual, tail.residual_pitch);
    return residual && aligned<float, W>(tail.scale) && aligned<float, W>(tail.bias);
}

// The residual of a pixel; zeros where there is none. May be where the result goes.
template <typename T, int W>
__device__ inline Pack<T, W> residual(const Tail &tail, int channel, int64_t pixel) {
    if (!tail.residual) return zeros<T, W>();
    return read<W>(static_cast<const T *>(tail.residual) + pixel * tail.residual_pitch + channel);
}

// Applies the tail, with a residual that was read before.
template <typename T, int W>
__device__ inline void finish(const Tail &tail, int channel, const Pack<T, W> &residual,
                              float (&values)[W]) {
    if (tail.scale) {
        const Pack<float, W> scale = fetch<W>(tail.scale + channel);
#pragma unroll
        for (int i = 0; i < W; i++) values[i] *= scale.values[i];
    }
    if (tail.bias) {
        const Pack<float, W> bias = fetch<W>(tail.bias + channel);
#pragma unroll
        for (int i = 0; i < W; i++) values[i] += bias.values[i];
    }
#pragma unroll
    for (int i = 0; i < W; i++) {
        if (tail.residual) values[i] += widen(residual.values[i]);
        values[i] = activate(values[i], tail.activation);
    }
}

}  // namespace divisi
