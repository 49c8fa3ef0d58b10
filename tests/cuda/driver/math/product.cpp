#include "product.h"

namespace fake {
namespace {

const char *at_batch(const Operand &operand, int64_t batch) {
    return static_cast<const char *>(operand.data) + batch * operand.batch_stride * int64_t(width(operand.type));
}

float finished(const Product &p, float sum, int64_t row, int64_t batch) {
    float value = sum;
    if (p.bias) value += load(p.bias, batch * p.bias_stride + row, p.bias_type);
    return p.relu ? (value > 0 ? value : 0) : value;
}

void write(const Product &p, const std::vector<float> &sum, int64_t batch) {
    View from = p.c.view(batch), to = p.d.view(batch);
    in_parts(p.columns, double(p.rows) * 4, [&](int64_t first, int64_t end) {
        for (int64_t column = first; column < end; column++) {
            for (int64_t row = 0; row < p.rows; row++) {
                float value = p.alpha * sum[size_t(row * p.columns + column)];
                if (p.beta != 0) {
                    int64_t at = row * from.row_stride + column * from.column_stride;
                    value += p.beta * load(from.data, at, from.type);
                }
                int64_t at = row * to.row_stride + column * to.column_stride;
                store(const_cast<void *>(to.data), at, to.type, finished(p, value, row, batch));
            }
        }
    });
}

void run(const Product &p) {
    std::vector<float> sum(size_t(p.rows * p.columns));
    for (int64_t batch = 0; batch < p.batches; batch++) {
        multiply(p.a.view(batch), p.b.view(batch), p.rows, p.columns, p.depth, p.tf32, sum.data());
        write(p, sum, batch);
    }
}

bool stored_well(const Operand &operand) {
    return operand.ld >= (operand.row_major ? operand.columns : operand.rows);
}

bool is(const Operand &operand, int64_t rows, int64_t columns) {
    if (operand.transposed) std::swap(rows, columns);
    return operand.rows == rows && operand.columns == columns;
}

}  // namespace

View Operand::view(int64_t batch) const {
    int64_t along_rows = row_major ? ld : 1, along_columns = row_major ? 1 : ld;
    if (transposed) std::swap(along_rows, along_columns);
    return {at_batch(*this, batch), type, along_rows, along_columns};
}

Range Operand::range(int64_t batches, const char *what) const {
    if (!rows || !columns) return {reinterpret_cast<uint64_t>(data), 0, what};
    int64_t lines = row_major ? rows : columns, length = row_major ? columns : rows;
    int64_t values = (batches - 1) * batch_stride + (lines - 1) * ld + length;
    return {reinterpret_cast<uint64_t>(data), size_t(values) * width(type), what};
}

const char *mismatch(const Product &p) {
    if (!is(p.a, p.rows, p.depth)) return "A is not rows x depth";
    if (!is(p.b, p.depth, p.columns)) return "B is not depth x columns";
    if (!is(p.d, p.rows, p.columns)) return "D is not rows x columns";
    if (p.beta != 0 && !is(p.c, p.rows, p.columns)) return "C is not rows x columns";
    if (!stored_well(p.a) || !stored_well(p.b) || !stored_well(p.d)) return "a leading dimension is too small";
    return nullptr;
}

Work product_work(const char *name, const Product &p, void *workspace, size_t workspace_bytes) {
    Work work;
    work.name = name;
    work.kind = Kind::Launch;
    work.touches = {p.a.range(p.batches, "A"), p.b.range(p.batches, "B"), p.d.range(p.batches, "D")};
    if (p.beta != 0) work.touches.push_back(p.c.range(p.batches, "C"));
    if (p.bias) {
        size_t values = size_t((p.batches - 1) * p.bias_stride + p.rows);
        work.touches.push_back({reinterpret_cast<uint64_t>(p.bias), values * width(p.bias_type), "bias"});
    }
    if (workspace_bytes) {
        work.touches.push_back({reinterpret_cast<uint64_t>(workspace), workspace_bytes, "workspace"});
    }
    work.run = [p, workspace, workspace_bytes] {
        if (workspace_bytes) std::memset(workspace, 0xFF, workspace_bytes);
        run(p);
    };
    return work;
}

}  // namespace fake
