// Sums and products of two values, and channels in another order.
#pragma once
#include "tail.cuh"
#include "walk.cuh"

namespace divisi {

template <typename T, int W> __device__ void paired_packs(const Paired &p) {
    for (Walk<1> at({p.channels / W}, p.pixels); at.more(); at.next()) {
        const int64_t pixel = at.last, row = divide(at.last, p.shared);
        const int channel = at.digit[0] * W;
        float values[W], others[W];
        widen(fetch<W>(static_cast<const T *>(p.from) + pixel * p.from_pitch + channel), values);
        widen(fetch<W>(static_cast<const T *>(p.other) + row * p.other_pitch + channel), others);
#pragma unroll
        for (int i = 0; i < W; i++) values[i] = p.product ? values[i] * others[i] : values[i] + others[i];
        finish(p.tail, channel, residual<T, W>(p.tail, channel, pixel), values);
        put<W>(static_cast<T *>(p.to) + pixel * p.to_pitch + channel, values);
    }
}

// Grid: pixels * channels / (16 bytes) threads.
template <typename T> __device__ void paired(const Paired &p) {
    constexpr int W = WIDE<T>;
    const bool wide = p.channels % W == 0 && fits<T, W>(p.from, p.from_pitch) &&
                      fits<T, W>(p.other, p.other_pitch) && fits<T, W>(p.to, p.to_pitch) &&
                      fits<T, W>(p.tail);
    if (wide)
        paired_packs<T, W>(p);
    else
        paired_packs<T, 1>(p);
}

// Grid: pixels * channels threads.
template <typename T> __device__ void shuffle(const Shuffle &p) {
    const int each = p.channels / p.groups;
    for (Walk<2> at({p.groups, each}, p.pixels); at.more(); at.next()) {
        const int group = at.digit[0], place = at.digit[1];
        const T *from = static_cast<const T *>(p.from) + int64_t(at.last) * p.from_pitch;
        T *to = static_cast<T *>(p.to) + int64_t(at.last) * p.to_pitch;
        to[place * p.groups + group] = from[group * each + place];
    }
}

}  // namespace divisi
