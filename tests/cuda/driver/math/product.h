// D = epilogue(alpha * op(A) * op(B) + beta * C), in batches, as work of a stream.
#pragma once
#include "../core/queue.h"
#include "gemm.h"

namespace fake {

struct Operand {
    const void *data = nullptr;
    Type type = Type::F32;
    int64_t rows = 0, columns = 0, ld = 0;  // as it is stored
    int64_t batch_stride = 0;
    bool row_major = false, transposed = false;

    View view(int64_t batch) const;
    Range range(int64_t batches, const char *what) const;
};

struct Product {
    Operand a, b, c, d;
    int64_t rows = 0, columns = 0, depth = 0, batches = 1;
    float alpha = 1, beta = 0;
    bool tf32 = false;
    const void *bias = nullptr;  // a value a row of D
    Type bias_type = Type::F32;
    int64_t bias_stride = 0;
    bool relu = false;
};

// What it needs to be called: shapes that fit. Empty where they do, else what does not.
const char *mismatch(const Product &product);

// The work; `workspace` bytes are spoiled by it.
Work product_work(const char *name, const Product &product, void *workspace, size_t workspace_bytes);

}  // namespace fake
