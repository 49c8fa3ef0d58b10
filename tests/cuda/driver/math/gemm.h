// Matrix products as the libraries compute them: any widths and strides, float32 sums.
#pragma once
#include <functional>
#include <vector>

#include "numbers.h"

namespace fake {

// Elements lie at row * row_stride + column * column_stride.
struct View {
    const void *data;
    Type type;
    int64_t row_stride, column_stride;
};

// sum[row * columns + column] = a x b, where a is rows x depth, b is depth x columns.
// `tf32`: as tensor cores take float32. The order of additions does not depend on threads.
void multiply(const View &a, const View &b, int64_t rows, int64_t columns, int64_t depth, bool tf32,
              float *sum);

// Calls `part(first, end)` for parts of 0..count, on several threads where it is worth it.
void in_parts(int64_t count, double cost, const std::function<void(int64_t, int64_t)> &part);

}  // namespace fake
