// Activations, sums of tensors and softmax.
#include <cmath>

#include "descriptors.h"

using namespace fake;

namespace {

float number(const void *value) { return *static_cast<const float *>(value); }

Tensor tensor(void *descriptor, const void *data) {
    Tensor made = static_cast<TensorDescriptor *>(descriptor)->tensor;
    made.data = const_cast<void *>(data);
    return made;
}

bool same_sizes(const Tensor &a, const Tensor &b) { return a.n == b.n && a.c == b.c && a.h == b.h && a.w == b.w; }

template <class Body> void each(const Tensor &t, Body body) {
    for (int64_t n = 0; n < t.n; n++)
        for (int64_t h = 0; h < t.h; h++)
            for (int64_t w = 0; w < t.w; w++)
                for (int64_t c = 0; c < t.c; c++) body(n, c, h, w);
}

// y = alpha * value + beta * y, at each place.
template <class Value> int apply(void *handle, const char *name, float alpha, const Tensor &x, float beta, const Tensor &y, Value value) {
    Work work;
    work.name = name;
    work.kind = Kind::Launch;
    work.touches = {x.range("x"), y.range("y")};
    work.run = [=] {
        each(y, [&](int64_t n, int64_t c, int64_t h, int64_t w) {
            int64_t at = y.at(n, c, h, w);
            float result = alpha * value(n, c, h, w);
            if (beta != 0) result += beta * load(y.data, at, y.type);
            store(y.data, at, y.type, result);
        });
    };
    return queued(enqueue(static_cast<DnnHandle *>(handle)->stream, std::move(work)));
}

float activated(const ActivationDescriptor &how, float v) {
    switch (how.mode) {
        case 0: return 1 / (1 + std::exp(-v));
        case 1: return Relu{true, how.nan != 0, 0}(v);
        case 2: return std::tanh(v);
        case 3: return Relu{true, how.nan != 0, float(how.coefficient)}(v);
        case 4: return v > 0 ? v : float(how.coefficient) * std::expm1(v);
        case 6: return v / (1 + std::exp(-v));
        default: return v;
    }
}

struct Softmax {
    Tensor x, y;
    bool by_channel, logarithm;
    float alpha, beta;

    void over(int64_t n, int64_t h0, int64_t h1, int64_t w0, int64_t w1) const {
        float top = -INFINITY, sum = 0;
        auto places = [&](auto body) {
            for (int64_t c = 0; c < x.c; c++)
                for (int64_t h = h0; h < h1; h++)
                    for (int64_t w = w0; w < w1; w++) body(c, h, w);
        };
        auto value = [&](int64_t c, int64_t h, int64_t w) { return load(x.data, x.at(n, c, h, w), x.type); };
        places([&](auto c, auto h, auto w) { top = std::max(top, value(c, h, w)); });
        places([&](auto c, auto h, auto w) { sum += std::exp(value(c, h, w) - top); });
        places([&](auto c, auto h, auto w) {
            float v = value(c, h, w) - top, result = alpha * (logarithm ? v - std::log(sum) : std::exp(v) / sum);
            int64_t at = y.at(n, c, h, w);
            if (beta != 0) result += beta * load(y.data, at, y.type);
            store(y.data, at, y.type, result);
        });
    }

    void run() const {
        for (int64_t n = 0; n < x.n; n++) {
            if (!by_channel) over(n, 0, x.h, 0, x.w);
            else for (int64_t h = 0; h < x.h; h++)
                for (int64_t w = 0; w < x.w; w++) over(n, h, h + 1, w, w + 1);
        }
    }
};

}  // namespace

extern "C" {

int cudnnActivationForward(void *handle, void *activation, const void *alpha, void *x_of, const void *x, const void *beta,
                           void *y_of, void *y) {
    Tensor from = tensor(x_of, x), to = tensor(y_of, y);
    if (!same_sizes(from, to) || from.type != to.type) return dnn_error(DNN_BAD_PARAM, "y is not like x");
    ActivationDescriptor how = *static_cast<ActivationDescriptor *>(activation);
    return apply(handle, "cudnn activation", number(alpha), from, number(beta), to,
                 [=](int64_t n, int64_t c, int64_t h, int64_t w) {
                     return activated(how, load(from.data, from.at(n, c, h, w), from.type));
                 });
}

// C = alpha * A + beta * C; sizes of 1 of A are repeated.
int cudnnAddTensor(void *handle, const void *alpha, void *a_of, const void *a, const void *beta, void *c_of, void *c) {
    Tensor from = tensor(a_of, a), to = tensor(c_of, c);
    auto fits = [](int64_t small, int64_t large) { return small == large || small == 1; };
    bool repeats = fits(from.n, to.n) && fits(from.c, to.c) && fits(from.h, to.h) && fits(from.w, to.w);
    if (!repeats || from.type != to.type) return dnn_error(DNN_BAD_PARAM, "A cannot be repeated to C");
    return apply(handle, "cudnn add", number(alpha), from, number(beta), to, [=](int64_t n, int64_t k, int64_t h, int64_t w) {
        int64_t at = from.at(from.n > 1 ? n : 0, from.c > 1 ? k : 0, from.h > 1 ? h : 0, from.w > 1 ? w : 0);
        return load(from.data, at, from.type);
    });
}

int cudnnSoftmaxForward(void *handle, int algorithm, int mode, const void *alpha, void *x_of, const void *x, const void *beta,
                        void *y_of, void *y) {
    Softmax softmax{tensor(x_of, x), tensor(y_of, y), mode == 1, algorithm == 2, number(alpha), number(beta)};
    if (!same_sizes(softmax.x, softmax.y)) return dnn_error(DNN_BAD_PARAM, "y is not like x");
    Work work;
    work.name = "cudnn softmax";
    work.kind = Kind::Launch;
    work.touches = {softmax.x.range("x"), softmax.y.range("y")};
    work.run = [softmax] { softmax.run(); };
    return queued(enqueue(static_cast<DnnHandle *>(handle)->stream, std::move(work)));
}

}  // extern "C"
