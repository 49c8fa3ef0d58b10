// Operations on tensors of any rank, whose values lie at even distances along each axis.
#pragma once
#include "numbers.cuh"
#include "params.h"
#include "softmax.cuh"
#include "walk.cuh"

namespace divisi {

constexpr int AXES = 8;

// A position among sizes, the last axis fastest.
struct Position {
    int32_t index[AXES];

    __device__ Position(const int32_t (&sizes)[AXES], uint32_t number) {
#pragma unroll
        for (int axis = AXES - 1; axis >= 0; axis--) {
            index[axis] = 0;
            if (sizes[axis] == 1) continue;  // the same for all threads
            const uint32_t above = number / uint32_t(sizes[axis]);
            index[axis] = int32_t(number - above * uint32_t(sizes[axis]));
            number = above;
        }
    }

    // How far it is from the first one.
    __device__ int64_t along(const int32_t (&strides)[AXES]) const {
        int64_t far = 0;
#pragma unroll
        for (int axis = 0; axis < AXES; axis++) far += int64_t(index[axis]) * strides[axis];
        return far;
    }
};

template <typename T> __device__ inline float value_at(const void *from, bool wide, int64_t at) {
    return wide ? static_cast<const float *>(from)[at] : widen(static_cast<const T *>(from)[at]);
}

template <typename T> __device__ inline float value_at(const Tensor &from, uint64_t row, const Position &position) {
    return value_at<T>(from.at, from.wide, int64_t(row) * from.row + position.along(from.strides));
}

template <typename T> __device__ inline void set_at(const Tensor &to, int64_t at, float value) {
    if (to.wide)
        static_cast<float *>(const_cast<void *>(to.at))[at] = value;
    else
        narrow(value, static_cast<T *>(const_cast<void *>(to.at)) + at);
}

__device__ inline bool is_nan(float value) { return value != value; }

// Extremes that keep NaN.
__device__ inline float least(float a, float b) { return b < a || is_nan(b) ? b : a; }
__device__ inline float most(float a, float b) { return b > a || is_nan(b) ? b : a; }

// Not inlined: it would be there as often as it is called.
static __device__ __noinline__ float mapped(int function, float a, float b) {
    switch (function) {
        case ABS: return fabsf(a);
        case NEG: return -a;
        case SIGN: return is_nan(a) ? a : float(a > 0.0f) - float(a < 0.0f);
        case SQRT: return sqrtf(a);
        case RECIPROCAL: return 1.0f / a;
        case EXP: return expf(a);
        case LOG: return logf(a);
        case ERF: return erff(a);
        case SIN: return sinf(a);
        case COS: return cosf(a);
        case FLOOR: return floorf(a);
        case CEIL: return ceilf(a);
        case ROUND: return rintf(a);
        case TRUNCATE: return truncf(a);
        case NOT: return a == 0.0f;
        case NOT_ZERO: return a != 0.0f;
        case IS_NAN: return is_nan(a);
        case NAN_TO_ZERO: return is_nan(a) ? 0.0f : a;
        case TO_F16: return __half2float(__float2half_rn(a));
        case TO_BF16: return __bfloat162float(__float2bfloat16_rn(a));
        case ADD: return a + b;
        case SUB: return a - b;
        case MUL: return a * b;
        case DIV: return a / b;
        case INTEGER_DIV: return truncf(a / b);
        case POW: return b == 2.0f ? a * a : powf(a, b);
        case MIN: return least(a, b);
        case MAX: return most(a, b);
        case MOD: return a - b * floorf(a / b);
        case EQUAL: return a == b;
        case LESS: return a < b;
        case LESS_OR_EQUAL: return a <= b;
        case GREATER: return a > b;
        case GREATER_OR_EQUAL: return a >= b;
        case AND: return (a != 0.0f) & (b != 0.0f);
        case OR: return (a != 0.0f) | (b != 0.0f);
        case XOR: return (a != 0.0f) ^ (b != 0.0f);
        case REMAINDER: return fmodf(a, b);
        default: return a;
    }
}

// Grid: rows * values threads.
template <typename T> __device__ void map(const Map &p) {
    for (Walk<1> at({p.values}, p.rows); at.more(); at.next()) {
        const Position position(p.sizes, at.digit[0]);
        float value = p.number;
        if (p.function == CHOICE) {
            const bool chosen = value_at<T>(p.first, at.last, position) != 0.0f;
            value = value_at<T>(chosen ? p.second : p.third, at.last, position);
        } else if (p.function != FILL) {
            const float a = value_at<T>(p.first, at.last, position);
            const float b = p.function >= ADD ? value_at<T>(p.second, at.last, position) : 0.0f;
            value = p.function == COPY ? a : mapped(p.function, a, b);
        }
        set_at<T>(p.to, int64_t(at.last) * p.to.row + position.along(p.to.strides), value);
    }
}

// Grid: rows * before * listed * after threads.
template <typename T> __device__ void lookup(const Lookup &p) {
    Walk<3> at({p.after, p.listed, p.before}, p.rows);
    for (; at.more(); at.next()) {
        const int64_t row = at.last;
        float index = value_at<T>(p.indices, p.wide_indices, row * p.indices_row + at.digit[1]);
        index = index < 0.0f ? index + float(p.count) : index;
        const bool known = index >= 0.0f && index < float(p.count);
        const int64_t line = int64_t(at.digit[2]) * p.count + (known ? int64_t(index) : 0);
        const float value = known ? value_at<T>(p.table, p.wide_table, row * p.table_row + line * p.after + at.digit[0]) : NAN;
        const int64_t to = row * p.to_row + (int64_t(at.digit[2]) * p.listed + at.digit[1]) * p.after + at.digit[0];
        if (p.wide_to)
            static_cast<float *>(p.to)[to] = value;
        else
            narrow(value, static_cast<T *>(p.to) + to);
    }
}

// Grid: rows * values threads.
template <typename T> __device__ void scan(const Scan &p) {
    for (Walk<1> at({p.values}, p.rows); at.more(); at.next()) {
        const Position position(p.sizes, at.digit[0]);
        const int64_t from = int64_t(at.last) * p.from.row + position.along(p.from.strides);
        const int64_t to = int64_t(at.last) * p.to.row + position.along(p.to.strides);
        float all = p.product ? 1.0f : 0.0f;
        for (int i = 0; i < p.count; i++) {
            const int place = p.reverse ? p.count - 1 - i : i;
            const float value = value_at<T>(p.from.at, p.from.wide, from + int64_t(place) * p.from_step);
            const float next = p.product ? all * value : all + value;
            set_at<T>(p.to, to + int64_t(place) * p.to_step, p.exclusive ? all : next);
            all = next;
        }
    }
}

}  // namespace divisi
