// Attention: softmax(Q x K * scale + masks) x V of each head, 64 keys after the other, with running
// maxima and sums of the queries (Dao and others, "FlashAttention", arXiv 2205.14135, section 3.1).
// Scores stay in registers and shared memory and are never held all.
#pragma once
#include "products.cuh"

namespace divisi {

// Joins one value of each of the 16 threads that have the same queries.
template <typename Kind> __device__ inline float across_keys(float value) {
    for (int apart = ACROSS / 2; apart > 0; apart /= 2)
        value = Kind::join(value, __shfl_xor_sync(0xffffffffu, value, apart));
    return value;
}

// The queries of a thread: the largest score so far, the sum of exponentials around it, and the
// answers before they are divided by that.
struct Answers {
    float most[EACH], total[EACH], sums[EACH][EACH];

    __device__ Answers() {
        fill(most, -INFINITY);
        fill(total, 0.0f);
        clear(sums);
    }

    // Turns scores into shares of the rows so far, for the product with the values.
    __device__ void share(float (&scores)[EACH][EACH], float (*shares)[PITCH]) {
        const int x = threadIdx.x % ACROSS, y = threadIdx.x / ACROSS * EACH;
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            float best = most[i], sum = 0.0f;
#pragma unroll
            for (int j = 0; j < EACH; j++) best = fmaxf(best, scores[i][j]);
            best = across_keys<Most>(best);
            // Where all is masked so far, differences are taken from 0, so that no share is NaN.
            const float around = best == -INFINITY ? 0.0f : best;
            const float kept = expf(most[i] - around);
#pragma unroll
            for (int j = 0; j < EACH; j++) {
                const float share = expf(scores[i][j] - around);
                shares[x + ACROSS * j][y + i] = share;
                sum += share;
                sums[i][j] *= kept;
            }
            total[i] = total[i] * kept + across_keys<Sum>(sum);
            most[i] = best;
        }
    }
};

// Scales scores and adds masks; keys beyond the last have no share.
template <typename T>
__device__ inline void finish_scores(const Attention &p, const Position &position, uint64_t row, int query, int key,
                                     float scale, float (&scores)[EACH][EACH]) {
    const int x = threadIdx.x % ACROSS, y = threadIdx.x / ACROSS * EACH;
#pragma unroll
    for (int i = 0; i < EACH; i++)
#pragma unroll
        for (int j = 0; j < EACH; j++) {
            const int q = query + y + i, k = key + x + ACROSS * j;
            scores[i][j] = k < p.keys ? scores[i][j] * scale : -INFINITY;
            if (k >= p.keys || q >= p.queries) continue;
            for (int m = 0; m < p.mask_count; m++) {
                const Tensor &mask = p.masks[m];
                const int64_t at = first_of(mask, row, position) + int64_t(q) * mask.strides[6] + int64_t(k) * mask.strides[7];
                scores[i][j] += value_at<T>(mask.at, mask.wide, at);
            }
        }
}

// Divides the sum of a query's values by that of its shares. Where all scores were -inf both are 0.
__device__ inline float guarded_answer(const Attention &p, float total, float sum) {
    const float share = 1.0f / total;
    if (p.guarded == 1 && !(fabsf(share) < INFINITY)) return 0.0f;
    return p.guarded == 2 && total == 0.0f ? sum : sum * share;
}

template <typename T>
__device__ inline void put_answers(const Attention &p, int64_t to, int query, int feature, const Answers &answers) {
    const int x = threadIdx.x % ACROSS, y = threadIdx.x / ACROSS * EACH;
#pragma unroll
    for (int i = 0; i < EACH; i++)
#pragma unroll
        for (int j = 0; j < EACH; j++) {
            const int q = query + y + i, f = feature + x + ACROSS * j;
            if (q >= p.queries || f >= p.features) continue;
            const float value = guarded_answer(p, answers.total[i], answers.sums[i][j]);
            set_at<T>(p.to, to + int64_t(q) * p.to.strides[6] + int64_t(f) * p.to.strides[7], value);
        }
}

// Grid: blocks for rows * heads * ceil(queries / 64) * ceil(features / 64). Blocks of 256 threads
// exactly.
template <typename T> __device__ void attention(const Attention &p) {
    __shared__ float a[DEPTH][PITCH], b[DEPTH][PITCH], shares[TILE][PITCH];
    const float scale = *p.scale;
    Walk<3> tile({parts(p.queries, TILE), parts(p.features, TILE), p.heads}, p.rows, Share::of_block());
    for (; tile.more(); tile.next()) {
        const int query = int(tile.digit[0]) * TILE, feature = int(tile.digit[1]) * TILE;
        const uint64_t row = tile.last;
        const Position position(p.sizes, tile.digit[2]);
        const Lanes<T> queries{p.query.at, first_of(p.query, row, position), p.query.wide != 0,
                               p.queries, p.depth, p.query.strides[6], p.query.strides[7]};
        const Lanes<T> keys{p.key.at, first_of(p.key, row, position), p.key.wide != 0,
                            p.keys, p.depth, p.key.strides[7], p.key.strides[6]};
        const Lanes<T> values{p.value.at, first_of(p.value, row, position), p.value.wide != 0,
                              p.features, p.keys, p.value.strides[7], p.value.strides[6]};
        Answers answers;
        for (int key = 0; key < p.keys; key += TILE) {
            float scores[EACH][EACH];
            clear(scores);
            multiply_lanes(queries, query, keys, key, a, b, scores);
            finish_scores<T>(p, position, row, query, key, scale, scores);
            answers.share(scores, shares);
            for (int part = 0; part < TILE && key + part < p.keys; part += DEPTH) {
                __syncthreads();  // the shares are there, and whoever still reads the last tile
                values.load(b, feature, key + part);
                __syncthreads();
                multiply(shares + part, b, answers.sums);
            }
        }
        put_answers<T>(p, first_of(p.to, row, position), query, feature, answers);
        __syncthreads();  // before the next tile's shares overwrite these
    }
}

}  // namespace divisi
