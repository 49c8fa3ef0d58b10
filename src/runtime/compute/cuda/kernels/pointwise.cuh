// Copies, sums, norms and activations.
#pragma once
#include "tail.cuh"
#include "walk.cuh"

namespace divisi {

// A thread has two packs on their way before it needs the first: these kernels do
// nothing but wait for memory.
template <typename T, int W> __device__ void pointwise_packs(const Pointwise &p) {
    constexpr int AHEAD = 2;
    Walk<1> at({p.channels / W}, p.pixels);
    while (at.more()) {
        Pack<T, W> from[AHEAD], added[AHEAD];
        int64_t pixel[AHEAD];
        int channel[AHEAD];
#pragma unroll
        for (int a = 0; a < AHEAD; a++) {
            pixel[a] = -1;
            if (!at.more()) continue;
            pixel[a] = at.last;
            channel[a] = at.digit[0] * W;
            from[a] = read<W>(static_cast<const T *>(p.from) + pixel[a] * p.from_pitch + channel[a]);
            added[a] = residual<T, W>(p.tail, channel[a], pixel[a]);
            at.next();
        }
#pragma unroll
        for (int a = 0; a < AHEAD; a++) {
            if (pixel[a] < 0) break;
            float values[W];
            widen(from[a], values);
            finish(p.tail, channel[a], added[a], values);
            put<W>(static_cast<T *>(p.to) + pixel[a] * p.to_pitch + channel[a], values);
        }
    }
}

// Grid: pixels * channels / (16 bytes) threads, or half of that where they are many.
template <typename T> __device__ void pointwise(const Pointwise &p) {
    constexpr int W = WIDE<T>;
    const bool wide = p.channels % W == 0 && fits<T, W>(p.from, p.from_pitch) &&
                      fits<T, W>(p.to, p.to_pitch) && fits<T, W>(p.tail);
    if (wide)
        pointwise_packs<T, W>(p);
    else
        pointwise_packs<T, 1>(p);
}

}  // namespace divisi
