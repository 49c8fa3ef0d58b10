// Images as vectors, channels slowest: inside of a network, and as its answer.
#pragma once
#include "numbers.cuh"
#include "params.h"
#include "walk.cuh"

namespace divisi {

// A thread reads `W` channels of one pixel. Neighbouring threads have neighbouring
// pixels, whose values of a channel neighbour each other in the vector.
template <typename T, int W, typename To>
__device__ void turn(const T *from, int pitch, To *to, int64_t to_pitch, int rows, int channels,
                     int pixels) {
    for (Walk<2> at({pixels, channels / W}, rows); at.more(); at.next()) {
        const int pixel = at.digit[0], channel = at.digit[1] * W;
        const Pack<T, W> pack = fetch<W>(from + (int64_t(at.last) * pixels + pixel) * pitch + channel);
        To *line = to + at.last * to_pitch + int64_t(channel) * pixels + pixel;
#pragma unroll
        for (int i = 0; i < W; i++) narrow(widen(pack.values[i]), line + int64_t(i) * pixels);
    }
}

// The same where an image is one pixel: vectors stay as they are.
template <typename T, int W, typename To>
__device__ void keep(const T *from, int pitch, To *to, int64_t to_pitch, int rows, int channels) {
    for (Walk<1> at({channels / W}, rows); at.more(); at.next()) {
        const int channel = at.digit[0] * W;
        float values[W];
        widen(fetch<W>(from + int64_t(at.last) * pitch + channel), values);
        put<W>(to + at.last * to_pitch + channel, values);
    }
}

template <typename T, typename To>
__device__ void turn_any(const T *from, int pitch, To *to, int64_t to_pitch, int rows, int channels,
                         int pixels) {
    constexpr int W = WIDE<T>;
    const bool reads = channels % W == 0 && fits<T, W>(from, pitch);
    const bool writes = to_pitch % W == 0 && aligned<To, W>(to);
    if (pixels == 1 && reads && writes)
        keep<T, W>(from, pitch, to, to_pitch, rows, channels);
    else if (reads)
        turn<T, W>(from, pitch, to, to_pitch, rows, channels, pixels);
    else
        turn<T, 1>(from, pitch, to, to_pitch, rows, channels, pixels);
}

// Grid: values / (16 bytes) threads.
template <typename T> __device__ void flatten(const Flatten &p) {
    turn_any(static_cast<const T *>(p.from), p.from_pitch, static_cast<T *>(p.to), p.to_pitch, p.rows,
             p.channels, p.pixels);
}

// Grid: values / (16 bytes) threads.
template <typename T> __device__ void answer(const Answer &p) {
    turn_any(static_cast<const T *>(p.from), p.from_pitch, p.to, int64_t(p.channels) * p.pixels, p.rows,
             p.channels, p.pixels);
}

}  // namespace divisi
