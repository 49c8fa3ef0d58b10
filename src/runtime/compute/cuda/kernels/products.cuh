// Products of matrices that lie anywhere at even distances, in tiles that go through shared memory.
#pragma once
#include "tensors.cuh"

namespace divisi {

// A block of 256 threads makes 64 x 64 values, 4 x 4 each, and takes 32 of the depth at a time.
constexpr int TILE = 64, DEPTH = 32, PITCH = TILE + 1, EACH = 4, ACROSS = TILE / EACH;

// Lanes of a matrix (its lines or its columns) along the depth of a product.
template <typename T> struct Lanes {
    const void *from;
    int64_t first;
    bool wide;
    int lanes, depth, lane_step, depth_step;

    // Lanes from `lane` on and depths from `depth` on, zeros where there are none.
    __device__ void load(float (&tile)[DEPTH][PITCH], int lane0, int depth0) const {
        const bool by_depth = depth_step <= lane_step;
        for (int i = threadIdx.x; i < TILE * DEPTH; i += blockDim.x) {
            const int lane = by_depth ? i / DEPTH : i % TILE, d = by_depth ? i % DEPTH : i / TILE;
            const bool there = lane0 + lane < lanes && depth0 + d < depth;
            const int64_t at = first + int64_t(lane0 + lane) * lane_step + int64_t(depth0 + d) * depth_step;
            tile[d][lane] = there ? value_at<T>(from, wide, at) : 0.0f;
        }
    }
};

// sums[i][j] += left[.][own line i] * right[.][own column j], of 32 depths.
__device__ inline void multiply(const float (*left)[PITCH], const float (*right)[PITCH], float (&sums)[EACH][EACH]) {
    const int x = threadIdx.x % ACROSS, y = threadIdx.x / ACROSS * EACH;
#pragma unroll 8
    for (int d = 0; d < DEPTH; d++) {
        float lines[EACH], columns[EACH];
#pragma unroll
        for (int i = 0; i < EACH; i++) lines[i] = left[d][y + i], columns[i] = right[d][x + ACROSS * i];
#pragma unroll
        for (int i = 0; i < EACH; i++)
#pragma unroll
            for (int j = 0; j < EACH; j++) sums[i][j] += lines[i] * columns[j];
    }
}

// The product of two from a lane of each on.
template <typename T>
__device__ inline void multiply_lanes(const Lanes<T> &left, int line, const Lanes<T> &right, int column,
                                       float (&a)[DEPTH][PITCH], float (&b)[DEPTH][PITCH],
                                       float (&sums)[EACH][EACH]) {
    for (int depth = 0; depth < left.depth; depth += DEPTH) {
        __syncthreads();  // whoever still reads the last tiles
        left.load(a, line, depth);
        right.load(b, column, depth);
        __syncthreads();
        multiply(a, b, sums);
    }
}

__device__ inline int64_t first_of(const Tensor &tensor, uint64_t row, const Position &position) {
    return int64_t(row) * tensor.row + position.along(tensor.strides);
}

__device__ inline void clear(float (&sums)[EACH][EACH]) {
#pragma unroll
    for (int i = 0; i < EACH; i++) fill(sums[i], 0.0f);
}

// Grid: blocks for rows * matrices * ceil(lines / 64) * ceil(columns / 64). Blocks of 256 threads
// exactly. Strides of matrices along the last two axes are none of `sizes`.
template <typename T> __device__ void product(const MatrixProduct &p) {
    __shared__ float a[DEPTH][PITCH], b[DEPTH][PITCH];
    const int x = threadIdx.x % ACROSS, y = threadIdx.x / ACROSS * EACH;
    Walk<3> tile({parts(p.columns, TILE), parts(p.lines, TILE), p.matrices}, p.rows, Share::of_block());
    for (; tile.more(); tile.next()) {
        const int column = int(tile.digit[0]) * TILE, line = int(tile.digit[1]) * TILE;
        const Position position(p.sizes, tile.digit[2]);
        const Lanes<T> left{p.left.at, first_of(p.left, tile.last, position), p.left.wide != 0,
                            p.lines, p.depth, p.left.strides[6], p.left.strides[7]};
        const Lanes<T> right{p.right.at, first_of(p.right, tile.last, position), p.right.wide != 0,
                             p.columns, p.depth, p.right.strides[7], p.right.strides[6]};
        float sums[EACH][EACH];
        clear(sums);
        multiply_lanes(left, line, right, column, a, b, sums);
        const int64_t to = first_of(p.to, tile.last, position);
#pragma unroll
        for (int i = 0; i < EACH; i++)
#pragma unroll
            for (int j = 0; j < EACH; j++) {
                const int l = line + y + i, c = column + x + ACROSS * j;
                if (l < p.lines && c < p.columns)
                    set_at<T>(p.to, to + int64_t(l) * p.to.strides[6] + int64_t(c) * p.to.strides[7], sums[i][j]);
            }
    }
}

}  // namespace divisi
