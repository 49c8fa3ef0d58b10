// A blocked product: panels of both sides are packed as float32, and a small kernel keeps
// its sums in registers.
#include "gemm.h"

#include <algorithm>
#include <thread>

#include "../core/settings.h"

namespace fake {
namespace {

constexpr int64_t ROWS = 8, COLUMNS = 32, DEPTH = 256;
constexpr int64_t LANES = 16;
constexpr int64_t SLICE = 64;  // of a line, so that a panel's part stays in the first cache
typedef float Vector __attribute__((vector_size(LANES * 4), aligned(4)));

int64_t blocks(int64_t count, int64_t size) { return (count + size - 1) / size; }

// Room that a thread keeps for its next product: fresh pages cost more than small products.
float *room(int which, int64_t count) {
    thread_local std::vector<float> kept[3];
    constexpr int64_t LINE = 16;
    if (int64_t(kept[which].size()) < count + LINE) kept[which].resize(size_t(count + LINE));
    auto at = reinterpret_cast<uintptr_t>(kept[which].data());
    return kept[which].data() + (64 - at % 64) % 64 / 4;
}

template <Type type> float at(const void *data, int64_t index) { return load(data, index, type); }

// Packs `count` lines of `length` values into panels of `panel` lines, [panel][length][panel],
// with zeros where lines are missing.
template <Type type>
void pack_as(const View &from, int64_t line_stride, int64_t step, int64_t count, int64_t length,
             int64_t panel, bool tf32, float *to) {
    in_parts(blocks(count, panel), double(panel * length) * 2, [&](int64_t first, int64_t end) {
        for (int64_t p = first; p < end; p++) {
            float *out = to + p * panel * length;
            int64_t here = std::min(panel, count - p * panel);
            for (int64_t slice = 0; slice < length; slice += SLICE) {
                int64_t stop = std::min(length, slice + SLICE);
                for (int64_t l = 0; l < here; l++) {
                    int64_t start = (p * panel + l) * line_stride;
                    for (int64_t i = slice; i < stop; i++) {
                        float value = at<type>(from.data, start + i * step);
                        out[i * panel + l] = tf32 ? to_tf32(value) : value;
                    }
                }
            }
            for (int64_t l = here; l < panel; l++) {
                for (int64_t i = 0; i < length; i++) out[i * panel + l] = 0;
            }
        }
    });
}

void pack(const View &from, int64_t line_stride, int64_t step, int64_t count, int64_t length,
          int64_t panel, bool tf32, float *to) {
    bool rounded = tf32 && from.type == Type::F32;
    auto packer = from.type == Type::F32    ? pack_as<Type::F32>
                  : from.type == Type::BF16 ? pack_as<Type::BF16>
                                            : pack_as<Type::F16>;
    packer(from, line_stride, step, count, length, panel, rounded, to);
}

// sums (ROWS x COLUMNS, at a pitch) += a panel of each.
void tile(const float *a, const float *b, int64_t depth, float *sums, int64_t pitch, bool first) {
    Vector sum[ROWS][2];
    for (int64_t r = 0; r < ROWS; r++) {
        for (int64_t v = 0; v < 2; v++) {
            Vector before = {};
            if (!first) std::memcpy(&before, sums + r * pitch + v * LANES, sizeof before);
            sum[r][v] = before;
        }
    }
    for (int64_t k = 0; k < depth; k++, a += ROWS, b += COLUMNS) {
        Vector left, right;
        std::memcpy(&left, b, sizeof left);
        std::memcpy(&right, b + LANES, sizeof right);
#pragma GCC unroll 8
        for (int64_t r = 0; r < ROWS; r++) {
            sum[r][0] += a[r] * left;
            sum[r][1] += a[r] * right;
        }
    }
    for (int64_t r = 0; r < ROWS; r++) {
        std::memcpy(sums + r * pitch, &sum[r][0], sizeof(Vector));
        std::memcpy(sums + r * pitch + LANES, &sum[r][1], sizeof(Vector));
    }
}

struct Product {
    int64_t rows, columns, depth;
    const float *a, *b;
    float *sum;
};

// One panel of rows against all columns, a slice of the depth at a time.
void row_panel(const Product &p, int64_t row_panel, float *wide, int64_t pitch) {
    const float *a = p.a + row_panel * ROWS * p.depth;
    for (int64_t k = 0; k < p.depth; k += DEPTH) {
        int64_t depth = std::min(DEPTH, p.depth - k);
        for (int64_t c = 0; c < blocks(p.columns, COLUMNS); c++) {
            const float *b = p.b + c * COLUMNS * p.depth + k * COLUMNS;
            tile(a + k * ROWS, b, depth, wide + c * COLUMNS, pitch, k == 0);
        }
    }
    int64_t here = std::min(ROWS, p.rows - row_panel * ROWS);
    for (int64_t r = 0; r < here; r++) {
        std::memcpy(p.sum + (row_panel * ROWS + r) * p.columns, wide + r * pitch, size_t(p.columns) * 4);
    }
}

}  // namespace

void in_parts(int64_t count, double cost, const std::function<void(int64_t, int64_t)> &part) {
    int64_t worth = int64_t(double(count) * cost / 2e6) + 1;
    int64_t parts = std::min({int64_t(settings().threads), count, worth});
    if (parts <= 1) return part(0, count);
    std::vector<std::thread> others;
    for (int64_t i = 1; i < parts; i++) {
        others.emplace_back(part, count * i / parts, count * (i + 1) / parts);
    }
    part(0, count / parts);
    for (auto &other : others) other.join();
}

void multiply(const View &a, const View &b, int64_t rows, int64_t columns, int64_t depth, bool tf32,
              float *sum) {
    if (depth == 0) return std::fill(sum, sum + rows * columns, 0.0f);
    int64_t pitch = blocks(columns, COLUMNS) * COLUMNS;
    float *left = room(0, blocks(rows, ROWS) * ROWS * depth), *right = room(1, pitch * depth);
    pack(a, a.row_stride, a.column_stride, rows, depth, ROWS, tf32, left);
    pack(b, b.column_stride, b.row_stride, columns, depth, COLUMNS, tf32, right);
    Product product{rows, columns, depth, left, right, sum};
    in_parts(blocks(rows, ROWS), double(ROWS) * columns * depth, [&](int64_t first, int64_t end) {
        float *wide = room(2, ROWS * pitch);
        for (int64_t p = first; p < end; p++) row_panel(product, p, wide, pitch);
    });
}

}  // namespace fake
