#include "check.h"

using fake::Type;

extern "C" {
int cudnnCreate(void **);
int cudnnCreateTensorDescriptor(void **);
int cudnnSetTensor4dDescriptorEx(void *, int, int, int, int, int, int, int, int, int);
int cudnnSetTensor4dDescriptor(void *, int, int, int, int, int, int);
int cudnnCreateFilterDescriptor(void **);
int cudnnSetFilter4dDescriptor(void *, int, int, int, int, int, int);
int cudnnCreateConvolutionDescriptor(void **);
int cudnnSetConvolution2dDescriptor(void *, int, int, int, int, int, int, int, int);
int cudnnSetConvolutionGroupCount(void *, int);
int cudnnSetConvolutionMathType(void *, int);
int cudnnGetConvolution2dForwardOutputDim(void *, void *, void *, int *, int *, int *, int *);
int cudnnGetConvolutionForwardWorkspaceSize(void *, void *, void *, void *, void *, int, size_t *);
int cudnnConvolutionForward(void *, const void *, void *, const void *, void *, const void *, void *, int, void *, size_t,
                            const void *, void *, void *);
int cudnnCreateActivationDescriptor(void **);
int cudnnSetActivationDescriptor(void *, int, int, double);
int cudnnConvolutionBiasActivationForward(void *, const void *, void *, const void *, void *, const void *, void *, int, void *,
                                          size_t, const void *, void *, const void *, void *, const void *, void *, void *, void *);
struct Performance { int algorithm, status; float time; size_t memory; int determinism, math; int reserved[3]; };
int cudnnGetConvolutionForwardAlgorithm_v7(void *, void *, void *, void *, void *, int, int *, Performance *);
}

namespace {

struct Case {
    int n, c, h, w, k, window, stride, pad, dilation, groups;
    bool last, fused;  // channels last, in a pitch wider than the channels
    Type type;
};

int number(Type type) { return type == Type::F32 ? 0 : type == Type::F16 ? 2 : 9; }

// Where values lie; `pitch` of a pixel where channels are last.
struct Place {
    int c, h, w, pitch;
    bool last;
    size_t at(int n, int i, int y, int x) const {
        return last ? ((size_t(n) * h + y) * w + x) * pitch + i : ((size_t(n) * c + i) * h + y) * w + x;
    }
    size_t count(int n) const { return last ? size_t(n) * h * w * pitch : size_t(n) * c * h * w; }
    void *descriptor(Type type, int n) const {
        void *made;
        OK(cudnnCreateTensorDescriptor(&made));
        if (last) OK(cudnnSetTensor4dDescriptorEx(made, number(type), n, c, h, w, h * w * pitch, 1, w * pitch, pitch));
        else OK(cudnnSetTensor4dDescriptor(made, 0, number(type), n, c, h, w));
        return made;
    }
};

struct Values { std::vector<float> x, w, z, bias; };

double window_sum(const Case &p, const Place &x, const Place &w, const Values &v, int n, int o, int y, int column) {
    int channels = p.c / p.groups, group = o / (p.k / p.groups);
    double sum = 0;
    for (int i = 0; i < channels; i++)
        for (int r = 0; r < p.window; r++)
            for (int s = 0; s < p.window; s++) {
                int row = y * p.stride - p.pad + r * p.dilation, at = column * p.stride - p.pad + s * p.dilation;
                if (row < 0 || row >= p.h || at < 0 || at >= p.w) continue;
                sum += double(v.x[x.at(n, group * channels + i, row, at)]) * v.w[w.at(o, i, r, s)];
            }
    return sum;
}

void check_case(const Case &p, unsigned seed) {
    int channels = p.c / p.groups;
    Place x{p.c, p.h, p.w, p.c + 5, p.last}, w{channels, p.window, p.window, channels, p.last};
    void *handle, *filter, *how;
    OK(cudnnCreate(&handle));
    OK(cudnnCreateFilterDescriptor(&filter));
    OK(cudnnSetFilter4dDescriptor(filter, number(p.type), p.last ? 1 : 0, p.k, channels, p.window, p.window));
    OK(cudnnCreateConvolutionDescriptor(&how));
    OK(cudnnSetConvolution2dDescriptor(how, p.pad, p.pad, p.stride, p.stride, p.dilation, p.dilation, 1, 0));
    OK(cudnnSetConvolutionGroupCount(how, p.groups));
    OK(cudnnSetConvolutionMathType(how, 3));
    void *x_of = x.descriptor(p.type, p.n);
    int n, k, h, wide;
    OK(cudnnGetConvolution2dForwardOutputDim(how, x_of, filter, &n, &k, &h, &wide));
    Place y{k, h, wide, k + 3, p.last};
    void *y_of = y.descriptor(p.type, n), *bias_of = Place{k, 1, 1, k, false}.descriptor(p.type, 1);
    Array ax(x.count(p.n), p.type), aw(w.count(p.k), p.type), ay(y.count(n), p.type), az(y.count(n), p.type), ab(size_t(k), p.type);
    Values v{rounded(random_values(ax.count, seed), p.type), rounded(random_values(aw.count, seed + 1), p.type),
             rounded(random_values(az.count, seed + 2), p.type), rounded(random_values(ab.count, seed + 3), p.type)};
    ax.put(v.x), aw.put(v.w), az.put(v.z), ab.put(v.bias), ay.put(std::vector<float>(ay.count, 0.0f));
    size_t bytes = 0;
    OK(cudnnGetConvolutionForwardWorkspaceSize(handle, x_of, filter, how, y_of, 1, &bytes));
    Array workspace(bytes / 4 + 1);
    float one = 1, zero = 0;
    if (p.fused) {
        void *relu;
        OK(cudnnCreateActivationDescriptor(&relu));
        OK(cudnnSetActivationDescriptor(relu, 1, 0, 0));
        OK(cudnnConvolutionBiasActivationForward(handle, &one, x_of, ax.data(), filter, aw.data(), how, 1, workspace.data(), bytes,
                                                 &one, y_of, az.data(), bias_of, ab.data(), relu, y_of, ay.data()));
    } else {
        OK(cudnnConvolutionForward(handle, &one, x_of, ax.data(), filter, aw.data(), how, 1, workspace.data(), bytes, &zero, y_of, ay.data()));
    }
    std::vector<float> expected(ay.count, 0.0f);  // what lies between pixels stays as it is
    for (int i = 0; i < n; i++)
        for (int o = 0; o < k; o++)
            for (int row = 0; row < h; row++)
                for (int column = 0; column < wide; column++) {
                    size_t at = y.at(i, o, row, column);
                    double value = window_sum(p, x, w, v, i, o, row, column);
                    if (p.fused) value = std::max(0.0, value + v.z[at] + v.bias[size_t(o)]);
                    expected[at] = float(value);
                }
    CHECK(close(ay.get(), expected, p.type == Type::F32 ? 1e-5f : p.type == Type::F16 ? 1e-3f : 8e-3f));
}

// Bad combinations are refused as cuDNN's pages say.
void refusals() {
    void *handle, *filter, *how, *identity;
    OK(cudnnCreate(&handle));
    OK(cudnnCreateFilterDescriptor(&filter));
    OK(cudnnSetFilter4dDescriptor(filter, 0, 0, 8, 4, 3, 3));
    OK(cudnnCreateConvolutionDescriptor(&how));
    OK(cudnnSetConvolution2dDescriptor(how, 1, 1, 1, 1, 1, 1, 1, 0));
    OK(cudnnCreateActivationDescriptor(&identity));
    OK(cudnnSetActivationDescriptor(identity, 5, 0, 0));
    Place x{4, 5, 5, 4, false}, y{8, 5, 5, 8, false};
    void *x_of = x.descriptor(Type::F32, 1), *y_of = y.descriptor(Type::F32, 1), *bias = Place{8, 1, 1, 8, false}.descriptor(Type::F32, 1);
    Array ax(100), aw(288), ay(200), ab(8);
    float one = 1;
    auto fused = [&](int algorithm, size_t bytes) {
        return cudnnConvolutionBiasActivationForward(handle, &one, x_of, ax.data(), filter, aw.data(), how, algorithm, ax.data(), bytes,
                                                     &one, y_of, ay.data(), bias, ab.data(), identity, y_of, ay.data());
    };
    CHECK(fused(0, 0) == 3000);  // identity goes with algorithm 1 only
    CHECK(fused(1, 0) == 2006);  // the workspace is too small
    Performance found[8];
    int count = 0;
    OK(cudnnGetConvolutionForwardAlgorithm_v7(handle, x_of, filter, how, y_of, 8, &count, found));
    CHECK(count == 8 && found[0].status == 0 && found[7].status != 0 && found[0].math == 0);
    void *wrong = Place{8, 4, 5, 8, false}.descriptor(Type::F32, 1);
    CHECK(cudnnGetConvolutionForwardAlgorithm_v7(handle, x_of, filter, how, wrong, 8, &count, found) == 2000);
}

}  // namespace

void test_convolutions() {
    refusals();
    unsigned seed = 1;
    for (Type type : {Type::F32, Type::BF16, Type::F16})
        for (bool last : {false, true})
            for (bool fused : {false, true}) {
                check_case({2, 6, 9, 7, 10, 3, 1, 1, 1, 1, last, fused, type}, seed++);
                check_case({1, 16, 8, 8, 5, 1, 2, 0, 1, 1, last, fused, type}, seed++);
                check_case({2, 8, 11, 9, 16, 5, 2, 2, 1, 4, last, fused, type}, seed++);
                check_case({1, 12, 7, 7, 12, 3, 1, 2, 2, 12, last, fused, type}, seed++);
            }
    check_case({1, 32, 28, 28, 64, 3, 1, 1, 1, 1, true, true, Type::BF16}, seed++);
}
