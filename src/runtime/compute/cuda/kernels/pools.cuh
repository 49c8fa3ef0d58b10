// Maxima and means over sliding windows.
#pragma once
#include "numbers.cuh"
#include "params.h"
#include "walk.cuh"

namespace divisi {

struct Maximum {
    static __device__ float start() { return -INFINITY; }
    // A NaN wins over every number, so that it reaches the answer.
    static __device__ float join(float best, float value) {
        return value > best || value != value ? value : best;
    }
    static __device__ float end(float best, float) { return best; }
};

struct Mean {
    static __device__ float start() { return 0.0f; }
    static __device__ float join(float sum, float value) { return sum + value; }
    static __device__ float end(float sum, float share) { return sum * share; }
};

template <typename Kind, typename T, int W>
__device__ inline void join(float (&all)[W], const Pack<T, W> &pack) {
#pragma unroll
    for (int i = 0; i < W; i++) all[i] = Kind::join(all[i], widen(pack.values[i]));
}

// Joins a window of 3 x 3 whose loads are all on their way at once; returns how many
// pixels lie inside of the image.
template <typename T, int W, typename Kind>
__device__ inline int join_nine(const Window &w, const T *image, int pitch, int top, int left,
                                float (&all)[W]) {
    Pack<T, W> packs[9];
    bool there[9];
#pragma unroll
    for (int tap = 0; tap < 9; tap++) {
        const int y = top + tap / 3, x = left + tap % 3;
        there[tap] = inside(y, w.in_height) && inside(x, w.in_width);
        if (there[tap]) packs[tap] = fetch<W>(image + (int64_t(y) * w.in_width + x) * pitch);
    }
    int count = 0;
#pragma unroll
    for (int tap = 0; tap < 9; tap++) {
        if (!there[tap]) continue;
        join<Kind>(all, packs[tap]);
        count++;
    }
    return count;
}

// The same for any window.
template <typename T, int W, typename Kind>
__device__ inline int join_any(const Window &w, const T *image, int pitch, int top, int left,
                               float (&all)[W]) {
    int count = 0;
#pragma unroll 1
    for (int ky = 0; ky < w.kernel_height; ky++) {
        const int y = top + ky * w.dilation;
        if (!inside(y, w.in_height)) continue;
        const T *line = image + int64_t(y) * w.in_width * pitch;
#pragma unroll 4
        for (int kx = 0; kx < w.kernel_width; kx++) {
            const int x = left + kx * w.dilation;
            if (!inside(x, w.in_width)) continue;
            join<Kind>(all, fetch<W>(line + int64_t(x) * pitch));
            count++;
        }
    }
    return count;
}

// A thread makes `W` channels of a pixel at a time.
template <typename T, int W, typename Kind, bool NINE> __device__ void pool_packs(const Pooling &p) {
    const Window &w = p.window;
    const int area = w.kernel_height * w.kernel_width;
    Walk<3> at({w.channels / W, w.out_width, w.out_height}, w.rows);
    for (; at.more(); at.next()) {
        const int channel = at.digit[0] * W, x = at.digit[1], y = at.digit[2];
        const T *image = static_cast<const T *>(p.from) + channel +
                         pixel_of(at.last, w.in_height, w.in_width, 0, 0) * p.from_pitch;
        const int top = y * w.stride - w.pad_height, left = x * w.stride - w.pad_width;
        float all[W];
        fill(all, Kind::start());
        const int count = NINE ? join_nine<T, W, Kind>(w, image, p.from_pitch, top, left, all)
                               : join_any<T, W, Kind>(w, image, p.from_pitch, top, left, all);
        const float share = 1.0f / float(p.count_padding ? area : count);
#pragma unroll
        for (int i = 0; i < W; i++) all[i] = Kind::end(all[i], share);
        const int64_t pixel = pixel_of(at.last, w.out_height, w.out_width, y, x);
        put<W>(static_cast<T *>(p.to) + pixel * p.to_pitch + channel, all);
    }
}

// Grid: outputs / (16 bytes) threads.
template <typename T, typename Kind> __device__ void pool(const Pooling &p) {
    constexpr int W = WIDE<T>;
    const Window &w = p.window;
    const bool nine = w.kernel_height == 3 && w.kernel_width == 3 && w.dilation == 1;
    const bool wide = w.channels % W == 0 && fits<T, W>(p.from, p.from_pitch) &&
                      fits<T, W>(p.to, p.to_pitch);
    if (wide && nine)
        pool_packs<T, W, Kind, true>(p);
    else if (wide)
        pool_packs<T, W, Kind, false>(p);
    else
        pool_packs<T, 1, Kind, false>(p);
}

}  // namespace divisi
