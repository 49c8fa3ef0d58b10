#include "check.h"

using fake::Type;

extern "C" {
int cublasLtCreate(void **);
int cublasLtMatmulDescCreate(void **, int, int);
int cublasLtMatmulDescSetAttribute(void *, int, const void *, size_t);
int cublasLtMatrixLayoutCreate(void **, int, uint64_t, uint64_t, int64_t);
int cublasLtMatrixLayoutSetAttribute(void *, int, const void *, size_t);
int cublasLtMatmulPreferenceCreate(void **);
int cublasLtMatmulPreferenceSetAttribute(void *, int, const void *, size_t);
struct Heuristic { uint64_t algorithm[8]; size_t workspace; int status; float waves; int reserved[4]; };
int cublasLtMatmulAlgoGetHeuristic(void *, void *, void *, void *, void *, void *, void *, int, Heuristic *, int *);
int cublasLtMatmul(void *, void *, const void *, const void *, void *, const void *, void *, const void *, const void *, void *,
                   void *, void *, const void *, void *, size_t, CUstream);
int cublasCreate_v2(void **);
int cublasSgemm_v2(void *, int, int, int, int, int, const float *, const float *, int, const float *, int, const float *, float *, int);
}

namespace {

int number(Type type) { return type == Type::F32 ? 0 : type == Type::F16 ? 2 : 14; }

struct Case {
    int m, n, k;
    bool transposed_a, transposed_b;
    int epilogue;  // 1, 2 relu, 4 bias, 6 both
    int batches;
    Type type;
    float alpha, beta;
};

struct Matrix {
    int rows, columns, ld;
    bool transposed;
    size_t batch_values;

    Matrix(int r, int c, bool transposed, int extra)
        : rows(transposed ? c : r), columns(transposed ? r : c), ld(rows + extra), transposed(transposed),
          batch_values(size_t(ld) * size_t(columns)) {}
    size_t at(int row, int column) const { return transposed ? size_t(row) * ld + column : size_t(column) * ld + row; }
    void *layout(Type type, int batches) const {
        void *made;
        OK(cublasLtMatrixLayoutCreate(&made, number(type), rows, columns, ld));
        int64_t stride = int64_t(batch_values);
        OK(cublasLtMatrixLayoutSetAttribute(made, 5, &batches, 4));
        OK(cublasLtMatrixLayoutSetAttribute(made, 6, &stride, 8));
        return made;
    }
};

std::vector<float> expected(const Case &p, const Matrix &ma, const Matrix &mb, const Matrix &md, const std::vector<float> &a,
                            const std::vector<float> &b, const std::vector<float> &c, const std::vector<float> &bias) {
    std::vector<float> d = c;
    for (int batch = 0; batch < p.batches; batch++)
        for (int i = 0; i < p.m; i++)
            for (int j = 0; j < p.n; j++) {
                double sum = 0;
                for (int l = 0; l < p.k; l++) {
                    sum += double(a[batch * ma.batch_values + ma.at(i, l)]) * b[batch * mb.batch_values + mb.at(l, j)];
                }
                size_t at = batch * md.batch_values + md.at(i, j);
                double value = p.alpha * sum + p.beta * c[at] + (p.epilogue & 4 ? bias[size_t(i)] : 0);
                d[at] = float(p.epilogue & 2 ? std::max(value, 0.0) : value);
            }
    return d;
}

void check_case(const Case &p, unsigned seed) {
    Matrix ma(p.m, p.k, p.transposed_a, 3), mb(p.k, p.n, p.transposed_b, 1), md(p.m, p.n, false, 2);
    Array a(ma.batch_values * p.batches, p.type), b(mb.batch_values * p.batches, p.type), d(md.batch_values * p.batches, p.type);
    Array bias(size_t(p.m), p.type), workspace(1 << 20);
    auto va = rounded(random_values(a.count, seed), p.type), vb = rounded(random_values(b.count, seed + 1), p.type);
    auto vc = rounded(random_values(d.count, seed + 2), p.type), vbias = rounded(random_values(bias.count, seed + 3), p.type);
    a.put(va), b.put(vb), d.put(vc), bias.put(vbias);

    void *handle, *desc, *preference;
    OK(cublasLtCreate(&handle));
    OK(cublasLtMatmulDescCreate(&desc, 68, 0));
    int ta = p.transposed_a, tb = p.transposed_b;
    OK(cublasLtMatmulDescSetAttribute(desc, 3, &ta, 4));
    OK(cublasLtMatmulDescSetAttribute(desc, 4, &tb, 4));
    OK(cublasLtMatmulDescSetAttribute(desc, 7, &p.epilogue, 4));
    OK(cublasLtMatmulDescSetAttribute(desc, 8, &bias.at, 8));
    void *la = ma.layout(p.type, p.batches), *lb = mb.layout(p.type, p.batches), *ld = md.layout(p.type, p.batches);
    OK(cublasLtMatmulPreferenceCreate(&preference));
    size_t room = 1 << 20;
    OK(cublasLtMatmulPreferenceSetAttribute(preference, 1, &room, 8));
    Heuristic found[4];
    int count = 0;
    OK(cublasLtMatmulAlgoGetHeuristic(handle, desc, la, lb, ld, ld, preference, 4, found, &count));
    CHECK(count == 2 && found[0].workspace <= room);
    auto product = [&](size_t bytes) {
        return cublasLtMatmul(handle, desc, &p.alpha, a.data(), la, b.data(), lb, &p.beta, d.data(), ld, d.data(), ld,
                              found[0].algorithm, workspace.data(), bytes, nullptr);
    };
    CHECK(product(found[0].workspace - 1) == 7);  // too little workspace
    OK(product(room));
    float tolerance = p.type == Type::F32 ? 1e-5f : p.type == Type::F16 ? 1e-3f : 8e-3f;
    CHECK(close(d.get(), expected(p, ma, mb, md, va, vb, vc, vbias), tolerance));
}

void sgemm() {
    Array a(6), b(6), c(4);
    a.put({1, 2, 3, 4, 5, 6}), b.put({1, 0, 1, 0, 1, 0}), c.put({0, 0, 0, 0});
    void *handle;
    float one = 1, zero = 0;
    OK(cublasCreate_v2(&handle));
    OK(cublasSgemm_v2(handle, 0, 0, 2, 2, 3, &one, static_cast<float *>(a.data()), 2, static_cast<float *>(b.data()), 3, &zero,
                      static_cast<float *>(c.data()), 2));
    CHECK(close(c.get(), {6, 8, 3, 4}, 1e-6f));
}

}  // namespace

void test_products() {
    sgemm();
    unsigned seed = 1;
    for (Type type : {Type::F32, Type::BF16, Type::F16}) {
        for (int transposed = 0; transposed < 4; transposed++) {
            check_case({37, 41, 300, bool(transposed & 1), bool(transposed & 2), 1, 2, type, 0.5f, 0.25f}, seed++);
        }
        for (int epilogue : {2, 4, 6}) check_case({70, 9, 33, true, false, epilogue, 1, type, 1, 0}, seed++);
    }
    check_case({200, 150, 700, false, false, 6, 1, Type::F32, 1, 1}, seed++);
}
