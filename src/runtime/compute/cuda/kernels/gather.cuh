// Windows as rows of a matrix, for convolutions that a matrix product does.
#pragma once
#include "numbers.cuh"
#include "params.h"
#include "walk.cuh"

namespace divisi {

// The pack that a thread has to copy, null where it lies outside of the image.
template <typename T> struct Tapped {
    const T *from;
    T *to;

    // Digits are pack, column and line of the kernel, column and line of the output.
    __device__ Tapped(const Gather &p, const Walk<5> &at, int channel) {
        const Window &w = p.window;
        const int kx = at.digit[1], ky = at.digit[2], ox = at.digit[3], oy = at.digit[4];
        const int x = ox * w.stride - w.pad_width + kx * w.dilation;
        const int y = oy * w.stride - w.pad_height + ky * w.dilation;
        from = nullptr;
        if (inside(x, w.in_width) && inside(y, w.in_height)) {
            const int64_t pixel = pixel_of(at.last, w.in_height, w.in_width, y, x);
            from = static_cast<const T *>(p.from) + pixel * p.from_pitch + channel;
        }
        const int64_t line = pixel_of(at.last, w.out_height, w.out_width, oy, ox);
        const int tap = ky * w.kernel_width + kx;
        to = static_cast<T *>(p.to) + line * p.to_pitch + int64_t(tap) * p.in_channels + channel;
    }
};

// A thread copies `W` channels of one tap, two of them at a time.
template <typename T, int W> __device__ void gather_packs(const Gather &p) {
    constexpr int AHEAD = 2;
    const Window &w = p.window;
    Walk<5> at({p.in_channels / W, w.kernel_width, w.kernel_height, w.out_width, w.out_height}, w.rows);
    while (at.more()) {
        Pack<T, W> packs[AHEAD];
        T *to[AHEAD];
#pragma unroll
        for (int a = 0; a < AHEAD; a++) {
            to[a] = nullptr;
            if (!at.more()) continue;
            const Tapped<T> tapped(p, at, at.digit[0] * W);
            packs[a] = tapped.from ? fetch<W>(tapped.from) : zeros<T, W>();
            to[a] = tapped.to;
            at.next();
        }
#pragma unroll
        for (int a = 0; a < AHEAD; a++)
            if (to[a]) store<W>(to[a], packs[a]);
    }
}

// Zeros between the end of a matrix row and the next.
template <typename T> __device__ void gather_gaps(const Gather &p) {
    const Window &w = p.window;
    const int used = w.kernel_height * w.kernel_width * p.in_channels;
    if (p.to_pitch == used) return;
    const uint64_t lines = uint64_t(w.rows) * w.out_height * w.out_width;
    for (Walk<1> at({p.to_pitch - used}, lines); at.more(); at.next())
        store<1>(static_cast<T *>(p.to) + at.last * p.to_pitch + used + at.digit[0], zeros<T, 1>());
}

// Grid: matrix rows * kernel area * in_channels / W / 2 threads, where W is the largest
// of 16 bytes, 4 values and 1 value that divides the channels (and both pitches).
template <typename T> __device__ void gather(const Gather &p) {
    constexpr int W = WIDE<T>;
    if (p.in_channels % W == 0 && fits<T, W>(p.from, p.from_pitch) && fits<T, W>(p.to, p.to_pitch))
        gather_packs<T, W>(p);
    else if (p.in_channels % 4 == 0 && fits<T, 4>(p.from, p.from_pitch) && fits<T, 4>(p.to, p.to_pitch))
        gather_packs<T, 4>(p);
    else
        gather_packs<T, 1>(p);
    gather_gaps<T>(p);
}

}  // namespace divisi
