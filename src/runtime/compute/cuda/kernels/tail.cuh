// The end that convolutions and pointwise steps share.
#pragma once
#include "numbers.cuh"
#include "params.h"

namespace divisi {

// Comparisons that keep NaN as NaN, which fmaxf and fminf would not.
__device__ inline float clamped(float value, float least, float most) {
    if (value < least) value = least;
    if (value > most) value = most;
    return value;
}

__device__ inline float softplus(float x) { return (x < 0.0f ? 0.0f : x) + log1pf(expf(-fabsf(x))); }

// The activations beyond ReLU and ReLU6. Not inlined: they would make every kernel longer.
static __device__ __noinline__ float curve(float x, Activation activation, float first, float second) {
    switch (activation) {
        case CLIP: return clamped(x, first, second);
        case LEAKY_RELU: return x < 0.0f ? first * x : x;
        case ELU: return x < 0.0f ? first * expm1f(x) : x;
        case SIGMOID: return 1.0f / (1.0f + expf(-x));
        case HARD_SIGMOID: return clamped(first * x + second, 0.0f, 1.0f);
        case SILU: return x / (1.0f + expf(-x));
        case HARD_SWISH: return x * clamped(x * (1.0f / 6.0f) + 0.5f, 0.0f, 1.0f);
        case GELU: return x * (0.5f * erfcf(x * -0.70710678f));
        case GELU_TANH: return x / (1.0f + expf(-1.5957691f * (x + 0.044715f * x * x * x)));
        case TANH: return tanhf(x);
        case SOFTPLUS: return softplus(x);
        case MISH: return x * tanhf(softplus(x));
        case FAKE_QUANTISE: {
            unsigned bounds = __float_as_uint(second);
            float least = -static_cast<float>(bounds >> 16), most = static_cast<float>(bounds & 0xFFFFu);
            return rintf(clamped(__fdiv_rn(x, first), least, most)) * first;
        }
        default: return x;
    }
}

__device__ inline float activate(float value, const Tail &tail) {
    if (tail.activation > RELU6) return curve(value, tail.activation, tail.first, tail.second);
    if (tail.activation != NONE && value < 0.0f) value = 0.0f;
    if (tail.activation == RELU6 && value > 6.0f) value = 6.0f;
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
        values[i] = activate(values[i], tail);
    }
}

}  // namespace divisi
