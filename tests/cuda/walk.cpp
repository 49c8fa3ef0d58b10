#include "walk.h"

#include <cstdio>

#include "emulation/simt.h"

#include "../../src/runtime/compute/cuda/kernels/walk.cuh"

namespace {

// Where a walk should be.
bool is_at(const divisi::Walk<3> &walk, uint64_t number, const int (&radices)[3]) {
    for (int i = 0; i < 3; i++) {
        if (walk.digit[i] != number % uint64_t(radices[i])) return false;
        number /= uint64_t(radices[i]);
    }
    return walk.last == number;
}

// Of a larger grid, only so many blocks have work.
constexpr unsigned MOST = 0xffffffffu / 256;

// Follows one thread of a grid of `blocks` for at most ten items.
bool follow(unsigned block, unsigned blocks, const int (&radices)[3], uint64_t end) {
    simt::here = {{17, 0, 0}, {block, 0, 0}, {256, 1, 1}, {blocks, 1, 1}};
    uint64_t total = end, number = uint64_t(block) * 256 + 17;
    const uint64_t stride = uint64_t(blocks < MOST ? blocks : MOST) * 256;
    for (int radix : radices) total *= uint64_t(radix);
    divisi::Walk<3> walk(radices, end);
    if (block >= MOST) return !walk.more();
    for (int i = 0; i < 10 && number < total; i++, number += stride) {
        if (!walk.more() || !is_at(walk, number, radices)) return false;
        walk.next();
    }
    return number < total || !walk.more();
}

}  // namespace

bool test_walk() {
    const bool ok = follow(0, 1, {1, 1, 1}, 5) && follow(2, 3, {7, 5, 3}, 100) &&
                    follow(16'000'000, MOST, {7, 1000, 13}, 10'000'000) &&
                    follow(MOST - 1, 40'000'000, {7, 1000, 13}, 10'000'000) &&
                    follow(MOST, 40'000'000, {7, 1000, 13}, 10'000'000) &&
                    follow(0, 2'000'000'000, {8, 224, 224}, 1u << 30) &&
                    follow(5, 6, {2'000'000'000, 3, 2'000'000'000}, 4) && follow(9, 10, {3, 3, 3}, 1);
    std::printf("%-20s            %s\n", "walk", ok ? "ok" : "went astray");
    return ok;
}
