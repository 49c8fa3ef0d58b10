// Means over regions that cover the image.
#pragma once
#include "numbers.cuh"
#include "params.h"
#include "walk.cuh"

namespace divisi {

// Where region `at` of `to` lies along a side of `from`: its ends are rounded outwards.
__device__ inline int region_start(int at, int from, int to) {
    return int(divide(uint64_t(at) * uint32_t(from), to));
}
__device__ inline int region_end(int at, int from, int to) {
    return int(divide(uint64_t(at + 1) * uint32_t(from) + uint32_t(to) - 1, to));
}

struct Region {
    int top, left, height, width;

    __device__ Region(const Regions &p, int y, int x)
        : top(region_start(y, p.in_height, p.out_height)),
          left(region_start(x, p.in_width, p.out_width)),
          height(region_end(y, p.in_height, p.out_height) - top),
          width(region_end(x, p.in_width, p.out_width) - left) {}
};

// Adds each `step`-th pixel of a region, from the `first` on.
template <typename T, int W>
__device__ inline void add_region(const Regions &p, const Region &region, const T *image, int first,
                                  int step, float (&sums)[W]) {
    int y = first / region.width, x = first % region.width;
    const int down = step / region.width, right = step % region.width;
#pragma unroll 4
    for (int pixel = first; pixel < region.height * region.width; pixel += step) {
        const int64_t at = int64_t(region.top + y) * p.in_width + region.left + x;
        const Pack<T, W> pack = fetch<W>(image + at * p.from_pitch);
#pragma unroll
        for (int i = 0; i < W; i++) sums[i] += widen(pack.values[i]);
        x += right;
        y += down + (x >= region.width);
        x -= x >= region.width ? region.width : 0;
    }
}

template <typename T> __device__ inline const T *image_of(const Regions &p, uint64_t row) {
    return static_cast<const T *>(p.from) + pixel_of(row, p.in_height, p.in_width, 0, 0) * p.from_pitch;
}

// Writes the mean of a region whose sum is known.
template <typename T, int W>
__device__ inline void put_mean(const Regions &p, const Region &region, uint64_t row, int y, int x,
                                int channel, float (&sums)[W]) {
    const float share = 1.0f / float(region.height * region.width);
#pragma unroll
    for (int i = 0; i < W; i++) sums[i] *= share;
    const int64_t pixel = pixel_of(row, p.out_height, p.out_width, y, x);
    put<W>(static_cast<T *>(p.to) + pixel * p.to_pitch + channel, sums);
}

// Small regions: a thread makes `W` channels of an output pixel.
template <typename T, int W> __device__ void regions_alone(const Regions &p) {
    Walk<3> at({p.channels / W, p.out_width, p.out_height}, p.rows);
    for (; at.more(); at.next()) {
        const int channel = at.digit[0] * W, x = at.digit[1], y = at.digit[2];
        const Region region(p, y, x);
        float sums[W];
        fill(sums, 0.0f);
        add_region<T, W>(p, region, image_of<T>(p, at.last) + channel, 0, 1, sums);
        put_mean<T, W>(p, region, at.last, y, x, channel, sums);
    }
}

constexpr int SLICES = 8, SLICE = 32;  // of a block's 256 threads

// Large regions have few outputs: a block makes 32 packs of an output pixel, and its eight
// warps share the region's pixels.
template <typename T, int W> __device__ void regions_together(const Regions &p) {
    __shared__ float partial[SLICES][W][SLICE];
    const int lane = threadIdx.x % SLICE, slice = threadIdx.x / SLICE;
    const int packs = p.channels / W, across = parts(packs, SLICE);
    Walk<3> tile({across, p.out_width, p.out_height}, p.rows, Share::of_block());
    for (; tile.more(); tile.next()) {
        const int pack = tile.digit[0] * SLICE + lane, channel = pack * W;
        const int x = tile.digit[1], y = tile.digit[2];
        const uint64_t row = tile.last;
        const Region region(p, y, x);
        float sums[W];
        fill(sums, 0.0f);
        if (pack < packs)
            add_region<T, W>(p, region, image_of<T>(p, row) + channel, slice, SLICES, sums);
#pragma unroll
        for (int i = 0; i < W; i++) partial[slice][i][lane] = sums[i];
        __syncthreads();
        if (slice == 0 && pack < packs) {
            for (int s = 1; s < SLICES; s++)
#pragma unroll
                for (int i = 0; i < W; i++) sums[i] += partial[s][i][lane];
            put_mean<T, W>(p, region, row, y, x, channel, sums);
        }
        __syncthreads();  // before the next tile's sums overwrite these
    }
}

template <typename T, int W> __device__ void regions_packs(const Regions &p) {
    const int64_t pixels = int64_t(p.in_height) * p.in_width;
    if (pixels >= int64_t(16) * p.out_height * p.out_width)
        regions_together<T, W>(p);
    else
        regions_alone<T, W>(p);
}

// Grid: blocks for rows * out_height * out_width * ceil(channels / (16 bytes) / 32), or
// outputs / (16 bytes) threads if that is less. Blocks of 256 threads exactly.
template <typename T> __device__ void regions(const Regions &p) {
    constexpr int W = WIDE<T>;
    if (p.channels % W == 0 && fits<T, W>(p.from, p.from_pitch) && fits<T, W>(p.to, p.to_pitch))
        regions_packs<T, W>(p);
    else
        regions_packs<T, 1>(p);
}

}  // namespace divisi
