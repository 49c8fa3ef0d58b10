// How threads go through the outputs of a kernel.
#pragma once
#include <cstdint>

namespace divisi {

// The lowest digit of `number`, which becomes the digits above it.
__device__ inline uint32_t take_digit(uint64_t &number, uint32_t radix) {
    if (number >> 32 == 0) {  // 64-bit division is several times slower
        const uint32_t low = uint32_t(number), rest = low / radix;
        number = rest;
        return low - rest * radix;
    }
    const uint64_t rest = number / radix;
    const uint32_t digit = uint32_t(number - rest * radix);
    number = rest;
    return digit;
}

// The items of one thread in a grid-stride loop, as numbers of `N` digits, the first one
// fastest, and `last`, which goes up to `end`. Steps are added digit by digit with carry,
// so that only the first item costs divisions (and the step, where there is a second).
template <int N> struct Walk {
    uint32_t digit[N];
    uint64_t last;

    __device__ Walk(const int (&radices)[N], uint64_t end_) : end(end_) {
        const uint64_t first = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x;
        const uint64_t stride = uint64_t(gridDim.x) * blockDim.x;
        uint64_t total = end;
#pragma unroll
        for (int i = 0; i < N; i++) {
            radix[i] = radices[i];
            total *= radix[i];
            step[i] = 0;
        }
        last = split(first, digit);
        last_step = first + stride < total ? split(stride, step) : end;
    }

    __device__ bool more() const { return last < end; }

    __device__ void next() {
        uint32_t carry = 0;
#pragma unroll
        for (int i = 0; i < N; i++) {
            digit[i] += step[i] + carry;
            carry = digit[i] >= radix[i];
            digit[i] -= carry ? radix[i] : 0;
        }
        last += last_step + carry;
    }

  private:
    uint32_t radix[N], step[N];
    uint64_t last_step, end;

    __device__ uint64_t split(uint64_t number, uint32_t (&digits)[N]) const {
#pragma unroll
        for (int i = 0; i < N; i++) digits[i] = take_digit(number, radix[i]);
        return number;
    }
};

// Parts of `size` that cover `all`.
__device__ inline int parts(int all, int size) { return (all + size - 1) / size; }

// Whether `at` lies in `0..side`: negative numbers are large ones.
__device__ inline bool inside(int at, int side) { return uint32_t(at) < uint32_t(side); }

// The pixel of a batch of images, counted over all rows.
__device__ inline int64_t pixel_of(uint64_t row, int height, int width, int y, int x) {
    return (int64_t(row) * height + y) * width + x;
}

}  // namespace divisi
