// Convolutions in groups of any width; with one group, a slow one of any shape.
#pragma once
#include "tail.cuh"
#include "walk.cuh"

namespace divisi {

// A thread makes OUT channels of one group for STRIP neighbouring pixels and reads IN of
// the group's input channels at a time: each weight that is read serves STRIP products,
// each input OUT of them.
template <typename T, int OUT, int IN> struct GroupTile {
    static constexpr int STRIP = 4;

    // Adds one tap: `at` are the pixels that it reads, null where outside of the image.
    static __device__ inline void add_tap(const Grouped &p, const T *const (&at)[STRIP],
                                          const T *weights, int inputs, float (&sums)[STRIP][OUT]) {
#pragma unroll(IN == 1 ? 4 : 1)
        for (int c = 0; c < inputs; c += IN) {
            Pack<T, IN> values[STRIP];
            Pack<T, OUT> factors[IN];
#pragma unroll
            for (int s = 0; s < STRIP; s++) values[s] = at[s] ? fetch<IN>(at[s] + c) : zeros<T, IN>();
#pragma unroll
            for (int i = 0; i < IN; i++)
                factors[i] = fetch<OUT>(weights + int64_t(c + i) * p.window.channels);
#pragma unroll
            for (int i = 0; i < IN; i++) multiply(values, i, factors[i], sums);
        }
    }

    static __device__ inline void multiply(const Pack<T, IN> (&values)[STRIP], int i,
                                           const Pack<T, OUT> &factor, float (&sums)[STRIP][OUT]) {
        float factors[OUT];
        widen(factor, factors);
#pragma unroll
        for (int s = 0; s < STRIP; s++) {
            const float value = widen(values[s].values[i]);
#pragma unroll
            for (int o = 0; o < OUT; o++) sums[s][o] += value * factors[o];
        }
    }

    // Adds a line of taps; `line` is the image's, at the group's first channel.
    static __device__ inline void add_line(const Grouped &p, const T *line, int left,
                                           const T *weights, int inputs, float (&sums)[STRIP][OUT]) {
        const Window &w = p.window;
#pragma unroll 1
        for (int k = 0; k < w.kernel_width; k++) {
            const T *at[STRIP];
#pragma unroll
            for (int s = 0; s < STRIP; s++) {
                const int x = left + s * w.stride + k * w.dilation;
                at[s] = inside(x, w.in_width) ? line + int64_t(x) * p.from_pitch : nullptr;
            }
            add_tap(p, at, weights + int64_t(k) * inputs * w.channels, inputs, sums);
        }
    }

    static __device__ void run(const Grouped &p) {
        const Window &w = p.window;
        const int inputs = p.in_channels / p.groups, outputs = w.channels / p.groups;
        Walk<3> at({w.channels / OUT, parts(w.out_width, STRIP), w.out_height}, w.rows);
        for (; at.more(); at.next()) {
            const int channel = at.digit[0] * OUT, first = at.digit[1] * STRIP, oy = at.digit[2];
            const T *image = static_cast<const T *>(p.from) + int64_t(channel / outputs) * inputs +
                             pixel_of(at.last, w.in_height, w.in_width, 0, 0) * p.from_pitch;
            const T *weights = static_cast<const T *>(p.weights) + channel;
            float sums[STRIP][OUT];
#pragma unroll
            for (int s = 0; s < STRIP; s++) fill(sums[s], 0.0f);
#pragma unroll 1
            for (int k = 0; k < w.kernel_height; k++) {
                const int y = oy * w.stride - w.pad_height + k * w.dilation;
                if (!inside(y, w.in_height)) continue;
                const T *line = image + int64_t(y) * w.in_width * p.from_pitch;
                const int64_t taps = int64_t(k) * w.kernel_width * inputs;
                add_line(p, line, first * w.stride - w.pad_width, weights + taps * w.channels, inputs, sums);
            }
            write(p, pixel_of(at.last, w.out_height, w.out_width, oy, first), first, channel, sums);
        }
    }

    static __device__ inline void write(const Grouped &p, int64_t pixel, int first, int channel,
                                        float (&sums)[STRIP][OUT]) {
        T *to = static_cast<T *>(p.to) + pixel * p.to_pitch + channel;
#pragma unroll
        for (int s = 0; s < STRIP; s++) {
            if (first + s >= p.window.out_width) break;
            const Pack<T, OUT> added = residual<T, OUT>(p.tail, channel, pixel + s);
            finish(p.tail, channel, added, sums[s]);
            put<OUT>(to + int64_t(s) * p.to_pitch, sums[s]);
        }
    }
};

template <typename T, int OUT> __device__ bool outputs_fit(const Grouped &p) {
    return p.window.channels / p.groups % OUT == 0 && p.window.channels % OUT == 0 &&
           fits<T, OUT>(p.to, p.to_pitch) && aligned<T, OUT>(p.weights) && fits<T, OUT>(p.tail);
}

template <typename T, int OUT> __device__ void grouped_outputs(const Grouped &p) {
    if (p.in_channels / p.groups % 4 == 0 && fits<T, 4>(p.from, p.from_pitch))
        GroupTile<T, OUT, 4>::run(p);
    else
        GroupTile<T, OUT, 1>::run(p);
}

// Grid: rows * out_height * ceil(out_width / 4) * channels / W threads, where W is the
// largest of 16 bytes, 4 values and 1 value that divides a group's output channels.
template <typename T> __device__ void grouped(const Grouped &p) {
    if (outputs_fit<T, WIDE<T>>(p))
        grouped_outputs<T, WIDE<T>>(p);
    else if (outputs_fit<T, 4>(p))
        grouped_outputs<T, 4>(p);
    else
        grouped_outputs<T, 1>(p);
}

}  // namespace divisi
