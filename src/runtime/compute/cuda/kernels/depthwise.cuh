// Convolutions in which each channel sees itself alone.
#pragma once
#include "tail.cuh"
#include "walk.cuh"

namespace divisi {

// Kernels of K x K without dilation: a thread makes `W` channels of STRIP neighbouring
// pixels, so that each line of inputs is read and widened once for all of them. Weights
// are widened a line at a time: all of them would cost the registers of other threads.
// So would the lines of a large kernel, if their loads were all on their way at once.
template <typename T, int W, int K, int STRIDE, int STRIP> struct Strip {
    static constexpr int COLUMNS = (STRIP - 1) * STRIDE + K;

    // Adds what line `line` of the image gives to the sums.
    static __device__ inline void add_line(const Grouped &p, const T *line, int left,
                                           const T *weights, float (&sums)[STRIP][W]) {
        Pack<T, W> taps[K], inputs[COLUMNS];
#pragma unroll
        for (int x = 0; x < COLUMNS; x++) {
            const bool there = inside(left + x, p.window.in_width);
            inputs[x] = there ? fetch<W>(line + int64_t(left + x) * p.from_pitch) : zeros<T, W>();
        }
#pragma unroll
        for (int k = 0; k < K; k++) taps[k] = fetch<W>(weights + int64_t(k) * p.window.channels);
        float factors[K][W];
#pragma unroll
        for (int k = 0; k < K; k++) widen(taps[k], factors[k]);
#pragma unroll
        for (int x = 0; x < COLUMNS; x++) add_column(x, inputs[x], factors, sums);
    }

    // A column of inputs belongs to several outputs, to each under another tap.
    static __device__ inline void add_column(int x, const Pack<T, W> &input,
                                             const float (&factors)[K][W], float (&sums)[STRIP][W]) {
        float values[W];
        widen(input, values);
#pragma unroll
        for (int k = 0; k < K; k++) {
            const int out = (x - k) / STRIDE;
            if (x < k || (x - k) % STRIDE != 0 || out >= STRIP) continue;
#pragma unroll
            for (int i = 0; i < W; i++) sums[out][i] += values[i] * factors[k][i];
        }
    }

    static __device__ void run(const Grouped &p) {
        const Window &w = p.window;
        Walk<3> at({w.channels / W, parts(w.out_width, STRIP), w.out_height}, w.rows);
        for (; at.more(); at.next()) {
            const int channel = at.digit[0] * W, first = at.digit[1] * STRIP, y = at.digit[2];
            const int top = y * STRIDE - w.pad_height, left = first * STRIDE - w.pad_width;
            const T *image = static_cast<const T *>(p.from) + channel +
                             pixel_of(at.last, w.in_height, w.in_width, 0, 0) * p.from_pitch;
            const T *weights = static_cast<const T *>(p.weights) + channel;
            float sums[STRIP][W];
#pragma unroll
            for (int out = 0; out < STRIP; out++) fill(sums[out], 0.0f);
#pragma unroll(K <= 3 ? K : 1)
            for (int k = 0; k < K; k++) {
                if (!inside(top + k, w.in_height)) continue;
                const T *line = image + int64_t(top + k) * w.in_width * p.from_pitch;
                add_line(p, line, left, weights + int64_t(k) * K * w.channels, sums);
            }
            write(p, pixel_of(at.last, w.out_height, w.out_width, y, first), first, channel, sums);
        }
    }

    static __device__ inline void write(const Grouped &p, int64_t pixel, int first, int channel,
                                        float (&sums)[STRIP][W]) {
        T *to = static_cast<T *>(p.to) + pixel * p.to_pitch + channel;
#pragma unroll
        for (int out = 0; out < STRIP; out++) {
            if (first + out >= p.window.out_width) break;
            const Pack<T, W> added = residual<T, W>(p.tail, channel, pixel + out);
            finish(p.tail, channel, added, sums[out]);
            put<W>(to + int64_t(out) * p.to_pitch, sums[out]);
        }
    }
};

// Any kernel: a thread makes `W` channels of a pixel.
template <typename T, int W> __device__ void depthwise_any(const Grouped &p) {
    const Window &w = p.window;
    Walk<3> at({w.channels / W, w.out_width, w.out_height}, w.rows);
    for (; at.more(); at.next()) {
        const int channel = at.digit[0] * W, ox = at.digit[1], oy = at.digit[2];
        const T *image = static_cast<const T *>(p.from) + channel +
                         pixel_of(at.last, w.in_height, w.in_width, 0, 0) * p.from_pitch;
        const T *weights = static_cast<const T *>(p.weights) + channel;
        float sums[W];
        fill(sums, 0.0f);
#pragma unroll 1
        for (int ky = 0; ky < w.kernel_height; ky++) {
            const int y = oy * w.stride - w.pad_height + ky * w.dilation;
            if (!inside(y, w.in_height)) continue;
            for (int kx = 0; kx < w.kernel_width; kx++) {
                const int x = ox * w.stride - w.pad_width + kx * w.dilation;
                if (!inside(x, w.in_width)) continue;
                const Pack<T, W> input = fetch<W>(image + (int64_t(y) * w.in_width + x) * p.from_pitch);
                const int64_t tap = ky * w.kernel_width + kx;
                const Pack<T, W> factor = fetch<W>(weights + tap * w.channels);
#pragma unroll
                for (int i = 0; i < W; i++) sums[i] += widen(input.values[i]) * widen(factor.values[i]);
            }
        }
        const int64_t pixel = pixel_of(at.last, w.out_height, w.out_width, oy, ox);
        finish(p.tail, channel, residual<T, W>(p.tail, channel, pixel), sums);
        put<W>(static_cast<T *>(p.to) + pixel * p.to_pitch + channel, sums);
    }
}

// 3 x 3: strips of four where these are enough threads to fill a large GPU.
template <typename T, int W, int STRIDE> __device__ void depthwise_nine(const Grouped &p) {
    const Window &w = p.window;
    const int64_t strips = int64_t(w.rows) * w.out_height * parts(w.out_width, 4);
    if (strips * (w.channels / W) >= 32768)
        Strip<T, W, 3, STRIDE, 4>::run(p);
    else
        Strip<T, W, 3, STRIDE, 1>::run(p);
}

// Grid: outputs / (16 bytes) threads; 3 x 3 needs a quarter of that where it is 131 072 or
// more, 5 x 5 half of it.
template <typename T> __device__ void depthwise(const Grouped &p) {
    constexpr int W = WIDE<T>;
    const Window &w = p.window;
    const bool wide = w.channels % W == 0 && fits<T, W>(p.from, p.from_pitch) &&
                      fits<T, W>(p.to, p.to_pitch) && aligned<T, W>(p.weights) && fits<T, W>(p.tail);
    const int side = w.kernel_height == w.kernel_width && w.dilation == 1 ? w.kernel_width : 0;
    if (!wide)
        depthwise_any<T, 1>(p);
    else if (side == 3 && w.stride == 1)
        depthwise_nine<T, W, 1>(p);
    else if (side == 3 && w.stride == 2)
        depthwise_nine<T, W, 2>(p);
    else if (side == 5 && w.stride == 1)
        Strip<T, W, 5, 1, 2>::run(p);
    else if (side == 5 && w.stride == 2)
        Strip<T, W, 5, 2, 2>::run(p);
    else
        depthwise_any<T, W>(p);
}

}  // namespace divisi
