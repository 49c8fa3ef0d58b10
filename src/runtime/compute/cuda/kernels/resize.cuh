// Bilinear resize with half-pixel centres.
#pragma once
#include "numbers.cuh"
#include "params.h"
#include "walk.cuh"

namespace divisi {

// Two neighbours along one side, and the share of the second.
struct Tap {
    int low, high;
    float share;

    // Rounded after each operation as on the CPU: which neighbours are read must not differ.
    __device__ Tap(int at, int from, int to) {
        const float scale = float(from) / float(to);
        const float where = fmaxf(__fsub_rn(__fmul_rn(float(at) + 0.5f, scale), 0.5f), 0.0f);
        low = int(where) < from - 1 ? int(where) : from - 1;
        high = low + 1 < from - 1 ? low + 1 : from - 1;
        share = where - float(low);
    }

    __device__ float between(float a, float b) const { return a * (1.0f - share) + b * share; }
};

// One output pixel from its four neighbours.
template <typename T, int W>
__device__ inline void blend(const Resize &p, const T *image, const Tap &v, const Tap &h,
                             float (&values)[W]) {
    const T *low = image + int64_t(v.low) * p.in_width * p.from_pitch;
    const T *high = image + int64_t(v.high) * p.in_width * p.from_pitch;
    const int64_t left = int64_t(h.low) * p.from_pitch, right = int64_t(h.high) * p.from_pitch;
    const Pack<T, W> a = fetch<W>(low + left), b = fetch<W>(low + right);
    const Pack<T, W> c = fetch<W>(high + left), d = fetch<W>(high + right);
#pragma unroll
    for (int i = 0; i < W; i++) {
        const float top = h.between(widen(a.values[i]), widen(b.values[i]));
        const float bottom = h.between(widen(c.values[i]), widen(d.values[i]));
        values[i] = v.between(top, bottom);
    }
}

// A thread makes `W` channels of a pixel at a time.
template <typename T, int W> __device__ void resize_packs(const Resize &p) {
    // A neighbour's share of 0 would make NaN of an infinity.
    const bool same = p.in_height == p.out_height && p.in_width == p.out_width;
    Walk<3> at({p.channels / W, p.out_width, p.out_height}, p.rows);
    for (; at.more(); at.next()) {
        const int channel = at.digit[0] * W, x = at.digit[1], y = at.digit[2];
        const T *image = static_cast<const T *>(p.from) + channel +
                         pixel_of(at.last, p.in_height, p.in_width, 0, 0) * p.from_pitch;
        const int64_t pixel = pixel_of(at.last, p.out_height, p.out_width, y, x);
        T *to = static_cast<T *>(p.to) + pixel * p.to_pitch + channel;
        if (same) {
            store<W>(to, fetch<W>(image + (int64_t(y) * p.in_width + x) * p.from_pitch));
            continue;
        }
        float values[W];
        const Tap v(y, p.in_height, p.out_height), h(x, p.in_width, p.out_width);
        blend<T, W>(p, image, v, h, values);
        put<W>(to, values);
    }
}

// Grid: outputs / (16 bytes) threads.
template <typename T> __device__ void resize(const Resize &p) {
    constexpr int W = WIDE<T>;
    if (p.channels % W == 0 && fits<T, W>(p.from, p.from_pitch) && fits<T, W>(p.to, p.to_pitch))
        resize_packs<T, W>(p);
    else
        resize_packs<T, 1>(p);
}

}  // namespace divisi
