// Softmax of rows.
#pragma once
#include "numbers.cuh"
#include "params.h"

namespace divisi {

struct Most {
    // As on the CPU a NaN is passed over here: the sum will have it.
    static __device__ float join(float a, float b) { return fmaxf(a, b); }
};

struct Sum {
    static __device__ float join(float a, float b) { return a + b; }
};

// Joins one value of each thread of a block of whole warps; every thread has the result.
template <typename Kind> __device__ inline float across_block(float value, float start) {
    __shared__ float warps[32];
    for (int apart = 16; apart > 0; apart /= 2)
        value = Kind::join(value, __shfl_xor_sync(0xffffffffu, value, apart));
    __syncthreads();  // whoever still reads the last result
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
    __syncthreads();
    value = start;
    for (unsigned i = 0; i < blockDim.x / 32; i++) value = Kind::join(value, warps[i]);
    return value;
}

// A block takes a row at a time. Any block of whole warps will do.
// Grid: rows blocks.
template <typename T, typename To> __device__ void softmax(const Softmax &p) {
    for (int64_t row = blockIdx.x; row < p.rows; row += gridDim.x) {
        const T *from = static_cast<const T *>(p.from) + row * p.from_pitch;
        To *to = static_cast<To *>(p.to) + row * p.to_pitch;
        float most = -INFINITY, sum = 0.0f;
        for (int c = threadIdx.x; c < p.channels; c += blockDim.x)
            most = fmaxf(most, widen(from[c]));
        most = across_block<Most>(most, -INFINITY);
        // Differences from 0 make shares of 0 where all is -inf, and NaN where NaN is among it.
        const bool masked = p.masked && most == -INFINITY;
        if (masked) most = 0.0f;
        for (int c = threadIdx.x; c < p.channels; c += blockDim.x) sum += expf(widen(from[c]) - most);
        sum = across_block<Sum>(sum, 0.0f);
        if (masked && sum == 0.0f) sum = 1.0f;
        for (int c = threadIdx.x; c < p.channels; c += blockDim.x)
            narrow(expf(widen(from[c]) - most) / sum, to + c);
    }
}

}  // namespace divisi
