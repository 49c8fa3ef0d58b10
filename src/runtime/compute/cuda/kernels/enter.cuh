// Into the network: samples to an image batch.
#pragma once
#include "numbers.cuh"
#include "params.h"
#include "walk.cuh"

namespace divisi {

// Grid: one block.
template <typename T> __device__ void place(const Place &p) {
    const unsigned stride = gridDim.x * blockDim.x;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < unsigned(p.count); i += stride)
        p.to[i] = p.addresses[i];
}

// A thread makes packs of `W` channels of one pixel, two at a time. Neighbouring threads
// have neighbouring pixels, whose values neighbour each other in the sample.
template <typename T, int W> __device__ void enter_packs(const Enter &p) {
    constexpr int AHEAD = 2;
    Walk<2> at({p.pixels, p.padded / W}, p.rows);
    while (at.more()) {
        float values[AHEAD][W];
        T *to[AHEAD];
#pragma unroll
        for (int a = 0; a < AHEAD; a++) {
            to[a] = nullptr;
            if (!at.more()) continue;
            const int pixel = at.digit[0], channel = at.digit[1] * W;
            const float *from = reinterpret_cast<const float *>(__ldg(p.samples + at.last));
#pragma unroll
            for (int i = 0; i < W; i++) {
                const bool there = channel + i < p.channels;
                values[a][i] = there ? __ldg(from + int64_t(channel + i) * p.pixels + pixel) : 0.0f;
            }
            to[a] = static_cast<T *>(p.to) + (int64_t(at.last) * p.pixels + pixel) * p.pitch + channel;
            at.next();
        }
#pragma unroll
        for (int a = 0; a < AHEAD; a++)
            if (to[a]) put<W>(to[a], values[a]);
    }
}

// Grid: rows * pixels * padded / (16 bytes) / 2 threads.
template <typename T> __device__ void enter(const Enter &p) {
    if (p.padded % WIDE<T> == 0 && fits<T, WIDE<T>>(p.to, p.pitch))
        enter_packs<T, WIDE<T>>(p);
    else if (p.padded % 4 == 0 && fits<T, 4>(p.to, p.pitch))
        enter_packs<T, 4>(p);
    else
        enter_packs<T, 1>(p);
}

}  // namespace divisi
