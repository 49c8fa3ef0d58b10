// Attention of bfloat16 and half on tensor cores: as `attention.cuh`, with scores, shares and answers
// in shared memory between the products. Sums are float32, shares are rounded as values are.
#pragma once
#ifdef __CUDACC__
#include <mma.h>
#endif

#include "attention.cuh"

namespace divisi {

namespace cores = nvcuda::wmma;

// Sides of what one product of a warp takes, and pitches: multiples of 16 bytes at which
// neighbouring lines lie in other banks.
constexpr int CORE = 16, DEPTH_PITCH = DEPTH + 8, VALUE_PITCH = TILE + 8, SCORE_PITCH = TILE + 4;
// Shares lie where the scores of their query were.
constexpr int SHARE_PITCH = 2 * SCORE_PITCH;

// Lines of a matrix of each of which some values are taken, `run_step` apart.
template <typename T> struct Runs {
    const void *from;
    int64_t first;
    bool wide;
    int lines, values, line_step, run_step;

    // 64 lines of `COUNT` values, zeros where there are none.
    template <int COUNT, int TO_PITCH> __device__ void load(T *to, int line0, int value0) const {
        const T *narrow_from = static_cast<const T *>(from) + first;
        const bool packed = !wide && run_step == 1 && fits<T, WIDE<T>>(narrow_from, line_step);
        constexpr int W = WIDE<T>, PACKS = COUNT / W;
        for (int i = threadIdx.x; i < TILE * PACKS; i += blockDim.x) {
            const int line = i / PACKS, value = i % PACKS * W;
            const int64_t at = int64_t(line0 + line) * line_step + int64_t(value0 + value) * run_step;
            T *place = to + line * TO_PITCH + value;
            if (packed && line0 + line < lines && value0 + value + W <= values) {
                store<W>(place, fetch<W>(narrow_from + at));
                continue;
            }
            for (int v = 0; v < W; v++) {
                const bool there = line0 + line < lines && value0 + value + v < values;
                narrow(there ? value_at<T>(from, wide, first + at + int64_t(v) * run_step) : 0.0f, place + v);
            }
        }
    }
};

// The shared memory of a block.
template <typename T> struct CoreTiles {
    union {
        struct {
            T query[TILE * DEPTH_PITCH], key[TILE * DEPTH_PITCH];
        };
        T value[TILE * VALUE_PITCH];
    };
    union {
        float score[TILE * SCORE_PITCH];
        T share[TILE * SHARE_PITCH];
    };
    float answer[TILE * SCORE_PITCH];

    __device__ CoreTiles() {}
};

// The part of a tile that a warp makes: 16 lines and 32 columns.
struct WarpPart {
    int line, column;

    __device__ WarpPart() : line(int(threadIdx.x) / 64 * CORE), column(int(threadIdx.x) / 32 % 2 * (TILE / 2)) {}
};

template <typename T> using Left = cores::fragment<cores::matrix_a, CORE, CORE, CORE, T, cores::row_major>;
template <typename T> using Right = cores::fragment<cores::matrix_b, CORE, CORE, CORE, T, cores::row_major>;
template <typename T> using Turned = cores::fragment<cores::matrix_b, CORE, CORE, CORE, T, cores::col_major>;
typedef cores::fragment<cores::accumulator, CORE, CORE, CORE, float> CoreSums;

// Scores of 64 queries and 64 keys.
template <typename T>
__device__ inline void core_scores(CoreTiles<T> &tiles, const Runs<T> &queries, int query, const Runs<T> &keys, int key) {
    const WarpPart part;
    CoreSums sums[2];
    for (CoreSums &sum : sums) cores::fill_fragment(sum, 0.0f);
    for (int depth = 0; depth < queries.values; depth += DEPTH) {
        __syncthreads();  // whoever still reads the last tiles
        queries.template load<DEPTH, DEPTH_PITCH>(tiles.query, query, depth);
        keys.template load<DEPTH, DEPTH_PITCH>(tiles.key, key, depth);
        __syncthreads();
#pragma unroll
        for (int d = 0; d < DEPTH; d += CORE) {
            Left<T> left;
            cores::load_matrix_sync(left, tiles.query + part.line * DEPTH_PITCH + d, DEPTH_PITCH);
#pragma unroll
            for (int j = 0; j < 2; j++) {
                Turned<T> right;
                cores::load_matrix_sync(right, tiles.key + (part.column + j * CORE) * DEPTH_PITCH + d, DEPTH_PITCH);
                cores::mma_sync(sums[j], left, right, sums[j]);
            }
        }
    }
#pragma unroll
    for (int j = 0; j < 2; j++)
        cores::store_matrix_sync(tiles.score + part.line * SCORE_PITCH + part.column + j * CORE, sums[j], SCORE_PITCH,
                                 cores::mem_row_major);
}

// Adds shares times values to the answers.
template <typename T> __device__ inline void core_answers(CoreTiles<T> &tiles) {
    const WarpPart part;
#pragma unroll
    for (int j = 0; j < 2; j++) {
        float *answer = tiles.answer + part.line * SCORE_PITCH + part.column + j * CORE;
        CoreSums sum;
        cores::load_matrix_sync(sum, answer, SCORE_PITCH, cores::mem_row_major);
#pragma unroll
        for (int k = 0; k < TILE; k += CORE) {
            Left<T> left;
            Right<T> right;
            cores::load_matrix_sync(left, tiles.share + part.line * SHARE_PITCH + k, SHARE_PITCH);
            cores::load_matrix_sync(right, tiles.value + k * VALUE_PITCH + part.column + j * CORE, VALUE_PITCH);
            cores::mma_sync(sum, left, right, sum);
        }
        cores::store_matrix_sync(answer, sum, SCORE_PITCH, cores::mem_row_major);
    }
}

// A query of four threads, each of which has every fourth key or feature.
constexpr int SHARERS = 4, OWN = TILE / SHARERS;

template <typename Kind> __device__ inline float across_sharers(float value) {
    for (int apart = SHARERS / 2; apart > 0; apart /= 2)
        value = Kind::join(value, __shfl_xor_sync(0xffffffffu, value, apart));
    return value;
}

// A score of a query and a key, with scale and masks.
template <typename T>
__device__ inline float finished_score(const Attention &p, const Position &position, uint64_t row, int q, int k,
                                       float score) {
    if (k >= p.keys) return -INFINITY;
    for (int m = 0; m < p.mask_count && q < p.queries; m++) {
        const Tensor &mask = p.masks[m];
        const int64_t at = first_of(mask, row, position) + int64_t(q) * mask.strides[6] + int64_t(k) * mask.strides[7];
        score += value_at<T>(mask.at, mask.wide, at);
    }
    return score;
}

// Grid and blocks as for `attention`.
template <typename T> __device__ void attention_on_cores(const Attention &p) {
    __shared__ __align__(32) CoreTiles<T> tiles;
    const float scale = *p.scale;
    const int line = int(threadIdx.x) / SHARERS, own = int(threadIdx.x) % SHARERS;
    Walk<3> tile({parts(p.queries, TILE), parts(p.features, TILE), p.heads}, p.rows, Share::of_block());
    for (; tile.more(); tile.next()) {
        const int query = int(tile.digit[0]) * TILE, feature = int(tile.digit[1]) * TILE;
        const uint64_t row = tile.last;
        const Position position(p.sizes, tile.digit[2]);
        const Runs<T> queries{p.query.at, first_of(p.query, row, position), p.query.wide != 0,
                              p.queries, p.depth, p.query.strides[6], p.query.strides[7]};
        const Runs<T> keys{p.key.at, first_of(p.key, row, position), p.key.wide != 0,
                           p.keys, p.depth, p.key.strides[7], p.key.strides[6]};
        const Runs<T> values{p.value.at, first_of(p.value, row, position), p.value.wide != 0,
                             p.keys, p.features, p.value.strides[6], p.value.strides[7]};
        float most = -INFINITY, total = 0.0f;
        for (int key = 0; key < p.keys; key += TILE) {
            core_scores(tiles, queries, query, keys, key);
            __syncthreads();  // the scores are there, and nobody reads queries and keys any more
            values.template load<TILE, VALUE_PITCH>(tiles.value, key, feature);
            float scores[OWN], best = most, sum = 0.0f;
#pragma unroll
            for (int i = 0; i < OWN; i++) {
                const int column = own + SHARERS * i;
                const float score = tiles.score[line * SCORE_PITCH + column] * scale;
                scores[i] = finished_score<T>(p, position, row, query + line, key + column, score);
                best = fmaxf(best, scores[i]);
            }
            best = across_sharers<Most>(best);
            // Where all is masked so far, differences are taken from 0, so that no share is NaN.
            const float around = best == -INFINITY ? 0.0f : best, kept = expf(most - around);
            __syncwarp();  // shares overwrite the scores of the query, which its other threads have read
#pragma unroll
            for (int i = 0; i < OWN; i++) {
                const int column = own + SHARERS * i;
                const float share = expf(scores[i] - around);
                sum += share;
                narrow(share, tiles.share + line * SHARE_PITCH + column);
                float *answer = tiles.answer + line * SCORE_PITCH + column;
                *answer = key == 0 ? 0.0f : *answer * kept;
            }
            total = total * kept + across_sharers<Sum>(sum);
            most = best;
            __syncthreads();  // shares and values are there
            core_answers(tiles);
        }
        __syncthreads();  // the answers are there
        const int64_t to = first_of(p.to, row, position) + int64_t(query + line) * p.to.strides[6];
        for (int i = 0; i < OWN && query + line < p.queries; i++) {
            const int column = own + SHARERS * i, f = feature + column;
            const float value = guarded_answer(p, total, tiles.answer[line * SCORE_PITCH + column]);
            if (f < p.features) set_at<T>(p.to, to + int64_t(f) * p.to.strides[7], value);
        }
        __syncthreads();  // before the next tile's scores overwrite these
    }
}

template <> __device__ inline void attention<__nv_bfloat16>(const Attention &p) { attention_on_cores<__nv_bfloat16>(p); }
template <> __device__ inline void attention<__half>(const Attention &p) { attention_on_cores<__half>(p); }

}  // namespace divisi
