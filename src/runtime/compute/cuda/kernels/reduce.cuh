// One value for many along axes of a tensor.
#pragma once
#include "tensors.cuh"

namespace divisi {

__device__ inline float start_of(int reduction) {
    return reduction == PRODUCT ? 1.0f : reduction == MOST ? -INFINITY : reduction == LEAST ? INFINITY : 0.0f;
}

__device__ inline float taken(int reduction, float value) {
    if (reduction == L1) return fabsf(value);
    return reduction == L2 || reduction == SUM_OF_SQUARES ? value * value : value;
}

__device__ inline float joined(int reduction, float a, float b) {
    switch (reduction) {
        case PRODUCT: return a * b;
        case MOST: return most(a, b);
        case LEAST: return least(a, b);
        default: return a + b;
    }
}

__device__ inline float reduced(int reduction, float value, int count) {
    return reduction == MEAN ? value / float(count) : reduction == L2 ? sqrtf(value) : value;
}

// As `across_block` of softmax, of what `joined` joins.
__device__ inline float joined_across_block(int reduction, float value) {
    __shared__ float warps[32];
    for (int apart = 16; apart > 0; apart /= 2)
        value = joined(reduction, value, __shfl_xor_sync(0xffffffffu, value, apart));
    __syncthreads();  // whoever still reads the last result
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
    __syncthreads();
    value = warps[0];
    for (unsigned i = 1; i < blockDim.x / 32; i++) value = joined(reduction, value, warps[i]);
    return value;
}

// Value number `number` of those that become one.
template <typename T> __device__ inline float value_along(const Reduce &p, int64_t first, int number) {
    const Position position(p.along, uint32_t(number));
    return value_at<T>(p.from.at, p.from.wide, first + position.along(p.steps));
}

// The first position of the best value.
template <typename T> __device__ inline float best_position(const Reduce &p, int64_t first) {
    float best = value_along<T>(p, first, 0);
    int found = 0;
    for (int i = 1; i < p.count; i++) {
        const float value = value_along<T>(p, first, i);
        if (p.reduction == ARG_MAX ? value > best : value < best) best = value, found = i;
    }
    return float(found);
}

template <typename T> __device__ void reduce_alone(const Reduce &p) {
    for (Walk<1> at({p.values}, p.rows); at.more(); at.next()) {
        const Position position(p.sizes, at.digit[0]);
        const int64_t first = int64_t(at.last) * p.from.row + position.along(p.from.strides);
        float value = start_of(p.reduction);
        if (p.reduction == ARG_MAX || p.reduction == ARG_MIN) {
            value = best_position<T>(p, first);
        } else {
            for (int i = 0; i < p.count; i++)
                value = joined(p.reduction, value, taken(p.reduction, value_along<T>(p, first, i)));
            value = reduced(p.reduction, value, p.count);
        }
        set_at<T>(p.to, int64_t(at.last) * p.to.row + position.along(p.to.strides), value);
    }
}

template <typename T> __device__ void reduce_together(const Reduce &p) {
    for (Walk<1> at({p.values}, p.rows, Share::of_block()); at.more(); at.next()) {
        const Position position(p.sizes, at.digit[0]);
        const int64_t first = int64_t(at.last) * p.from.row + position.along(p.from.strides);
        float value = start_of(p.reduction);
        for (int i = threadIdx.x; i < p.count; i += blockDim.x)
            value = joined(p.reduction, value, taken(p.reduction, value_along<T>(p, first, i)));
        value = reduced(p.reduction, joined_across_block(p.reduction, value), p.count);
        if (threadIdx.x == 0) set_at<T>(p.to, int64_t(at.last) * p.to.row + position.along(p.to.strides), value);
    }
}

// Grid: rows * values threads, or as many blocks where these work `together`, each of whole warps.
template <typename T> __device__ void reduce(const Reduce &p) {
    if (p.together)
        reduce_together<T>(p);
    else
        reduce_alone<T>(p);
}

}  // namespace divisi
