// Tensor cores for a plain C++ compiler: every thread of a warp has whole matrices, and one of
// them writes. What threads share has to be ordered by barriers, as on a GPU.
#pragma once
#include "fibers.h"

namespace nvcuda::wmma {

struct matrix_a;
struct matrix_b;
struct accumulator;
struct row_major;
struct col_major;
enum layout_t { mem_row_major, mem_col_major };

constexpr int SIDE = 16;

inline float number(float v) { return v; }
inline float number(__nv_bfloat16 v) { return __bfloat162float(v); }
inline float number(__half v) { return __half2float(v); }

template <typename Use, int M, int N, int K, typename T, typename Layout = void> struct fragment {
    static_assert(M == SIDE && N == SIDE && K == SIDE, "the one shape that is emulated");
    float values[SIDE][SIDE];
};

template <typename F> void fill_fragment(F &to, float value) {
    for (auto &line : to.values)
        for (float &v : line) v = value;
}

// Reads with the strides of lines and columns.
template <typename F, typename T> void read_strided(F &to, const T *from, unsigned line, unsigned column) {
    for (unsigned l = 0; l < SIDE; l++)
        for (unsigned c = 0; c < SIDE; c++) to.values[l][c] = number(from[l * line + c * column]);
}
template <typename Use, typename T>
void load_matrix_sync(fragment<Use, 16, 16, 16, T, row_major> &to, const T *from, unsigned pitch) {
    read_strided(to, from, pitch, 1);
}
template <typename Use, typename T>
void load_matrix_sync(fragment<Use, 16, 16, 16, T, col_major> &to, const T *from, unsigned pitch) {
    read_strided(to, from, 1, pitch);
}
template <typename F> void load_matrix_sync(F &to, const float *from, unsigned pitch, layout_t layout) {
    read_strided(to, from, layout == mem_row_major ? pitch : 1, layout == mem_row_major ? 1 : pitch);
}

template <typename F> void store_matrix_sync(float *to, const F &from, unsigned pitch, layout_t layout) {
    if (simt::here.thread.x % 32 != 0) return;
    for (unsigned l = 0; l < SIDE; l++)
        for (unsigned c = 0; c < SIDE; c++)
            to[layout == mem_row_major ? l * pitch + c : c * pitch + l] = from.values[l][c];
}

template <typename A, typename B, typename C> void mma_sync(C &to, const A &a, const B &b, const C &add) {
    if (simt::here.thread.x % 32 != 0) return;
    C sums = add;
    for (int l = 0; l < SIDE; l++)
        for (int k = 0; k < SIDE; k++)
            for (int c = 0; c < SIDE; c++) sums.values[l][c] += a.values[l][k] * b.values[k][c];
    to = sums;
}

}  // namespace nvcuda::wmma
