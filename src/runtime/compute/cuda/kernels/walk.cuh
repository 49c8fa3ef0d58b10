// How threads go through the outputs of a kernel.
#pragma once
#include <cstdint>

namespace divisi {

// Who takes which items: every `stride`-th from the `first` on. Both have 32 bits, since
// 64-bit divisions are long; blocks beyond those have nothing to do.
struct Share {
    uint32_t first, stride;
    bool any;

    static __device__ Share of_thread() {
        const uint32_t most = 0xffffffffu / blockDim.x, blocks = gridDim.x < most ? gridDim.x : most;
        return {blockIdx.x * blockDim.x + threadIdx.x, blocks * blockDim.x, blockIdx.x < most};
    }
    static __device__ Share of_block() { return {blockIdx.x, gridDim.x, true}; }
};

// The items of one share in a grid-stride loop, as numbers of `N` digits, the first one
// fastest, and `last`, which goes up to `end`. Steps are added digit by digit with carry,
// so that only the first item costs divisions (and the step, where there is a second).
template <int N> struct Walk {
    uint32_t digit[N];
    uint64_t last;

    __device__ Walk(const int (&radices)[N], uint64_t end_, Share share = Share::of_thread())
        : end(end_) {
        uint64_t total = end;
#pragma unroll
        for (int i = 0; i < N; i++) {
            radix[i] = radices[i];
            total *= radix[i];
            step[i] = 0;
        }
        last = share.any ? split(share.first, digit) : end;
        last_step = uint64_t(share.first) + share.stride < total ? split(share.stride, step) : end;
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

    // The digits of a number, and what is above them.
    __device__ uint32_t split(uint32_t number, uint32_t (&digits)[N]) const {
#pragma unroll
        for (int i = 0; i < N; i++) {
            const uint32_t above = number / radix[i];
            digits[i] = number - above * radix[i];
            number = above;
        }
        return number;
    }
};

// 64-bit division is a hundred instructions: once is enough, for the images of which hardly
// any is so large.
static __device__ __noinline__ uint64_t divide_long(uint64_t a, uint32_t b) { return a / b; }
__device__ inline uint64_t divide(uint64_t a, uint32_t b) {
    return a >> 32 == 0 ? uint32_t(a) / b : divide_long(a, b);
}

// Parts of `size` that cover `all`.
__device__ inline int parts(int all, int size) { return (all + size - 1) / size; }

// Whether `at` lies in `0..side`: negative numbers are large ones.
__device__ inline bool inside(int at, int side) { return uint32_t(at) < uint32_t(side); }

// The pixel of a batch of images, counted over all rows.
__device__ inline int64_t pixel_of(uint64_t row, int height, int width, int y, int x) {
    return (int64_t(row) * height + y) * width + x;
}

}  // namespace divisi
