// Windows are gathered as rows of a matrix and multiplied with the filters; a convolution
// with few channels a group goes window by window.
#include "convolution.h"

#include <algorithm>

namespace fake {
namespace {

constexpr int64_t ROOM = 8 << 20;  // values gathered at a time

struct Shape {
    int64_t pixels, channels, outputs, depth;  // of a group
    bool channels_last;                        // how the filters lie

    explicit Shape(const Convolution &c)
        : pixels(c.y.n * c.y.h * c.y.w), channels(c.w.c), outputs(c.w.n / c.groups),
          depth(c.w.c * c.w.h * c.w.w), channels_last(c.w.sc == 1 && c.w.c > 1) {}
};

// Where a value of the window lies in the depth.
int64_t place(const Shape &shape, const Convolution &c, int64_t r, int64_t s, int64_t channel) {
    return shape.channels_last ? (r * c.w.w + s) * shape.channels + channel
                               : (channel * c.w.h + r) * c.w.w + s;
}

template <Type type>
void gather_pixel(const Convolution &c, const Shape &shape, int64_t group, int64_t pixel, float *to) {
    int64_t image = pixel / (c.y.h * c.y.w), y = pixel / c.y.w % c.y.h, x = pixel % c.y.w;
    int64_t step = place(shape, c, 0, 0, 1) - place(shape, c, 0, 0, 0);
    for (int64_t r = 0; r < c.w.h; r++) {
        int64_t row = y * c.stride_h - c.pad_h + r * c.dilation_h;
        for (int64_t s = 0; s < c.w.w; s++) {
            int64_t column = x * c.stride_w - c.pad_w + s * c.dilation_w;
            float *out = to + place(shape, c, r, s, 0);
            bool inside = row >= 0 && row < c.x.h && column >= 0 && column < c.x.w;
            int64_t from = inside ? c.x.at(image, group * shape.channels, row, column) : 0;
            for (int64_t i = 0; i < shape.channels; i++) {
                out[i * step] = inside ? load(c.x.data, from + i * c.x.sc, type) : 0.0f;
            }
        }
    }
}

void gather(const Convolution &c, const Shape &shape, int64_t group, int64_t first, int64_t count, float *to) {
    auto one = c.x.type == Type::F32    ? gather_pixel<Type::F32>
               : c.x.type == Type::BF16 ? gather_pixel<Type::BF16>
                                        : gather_pixel<Type::F16>;
    in_parts(count, double(shape.depth) * 2, [&](int64_t from, int64_t end) {
        for (int64_t i = from; i < end; i++) one(c, shape, group, first + i, to + i * shape.depth);
    });
}

// What happens to the sums of one pixel, outputs of a group from `first` on.
template <Type type>
void finish_pixel(const Convolution &c, int64_t pixel, int64_t first, int64_t count, const float *sums) {
    int64_t image = pixel / (c.y.h * c.y.w), y = pixel / c.y.w % c.y.h, x = pixel % c.y.w;
    int64_t to = c.y.at(image, first, y, x), added = c.z.at(image, first, y, x);
    for (int64_t o = 0; o < count; o++) {
        float value = c.alpha * sums[o];
        if (c.beta != 0) value += c.beta * load(c.y.data, to + o * c.y.sc, type);
        if (c.alpha2 != 0) value += c.alpha2 * load(c.z.data, added + o * c.z.sc, type);
        if (c.bias) value += load(c.bias, first + o, type);
        store(c.y.data, to + o * c.y.sc, type, c.relu(value));
    }
}

void finish(const Convolution &c, int64_t pixel, int64_t first, int64_t count, const float *sums) {
    auto one = c.y.type == Type::F32    ? finish_pixel<Type::F32>
               : c.y.type == Type::BF16 ? finish_pixel<Type::BF16>
                                        : finish_pixel<Type::F16>;
    one(c, pixel, first, count, sums);
}

// The filters of a group as a matrix of depth x outputs.
View filters(const Convolution &c, const Shape &shape, int64_t group) {
    auto *first = static_cast<const char *>(c.w.data) + group * shape.outputs * c.w.sn * int64_t(width(c.w.type));
    return {first, c.w.type, 1, c.w.sn};
}

// Where windows are single pixels side by side, the image is the matrix already.
bool is_matrix(const Convolution &c) {
    bool single = c.w.h == 1 && c.w.w == 1 && c.stride_h == 1 && c.stride_w == 1 && !c.pad_h && !c.pad_w;
    bool rows = c.x.h == 1 || c.x.sh == c.x.w * c.x.sw;
    return single && rows && (c.x.n == 1 || c.x.sn == c.x.h * c.x.w * c.x.sw);
}

View pixels(const Convolution &c, const Shape &shape, int64_t group, int64_t first) {
    int64_t values = first * c.x.sw + group * shape.channels * c.x.sc;
    auto *from = static_cast<const char *>(c.x.data) + values * int64_t(width(c.x.type));
    return {from, c.x.type, c.x.sw, c.x.sc};
}

void by_matrix(const Convolution &c, const Shape &shape, int64_t group) {
    thread_local std::vector<float> windows, sums;
    bool in_place = is_matrix(c);
    int64_t most = std::max<int64_t>(64, ROOM / std::max(shape.depth, shape.outputs));
    for (int64_t first = 0; first < shape.pixels; first += most) {
        int64_t count = std::min(most, shape.pixels - first);
        if (!in_place && int64_t(windows.size()) < count * shape.depth) windows.resize(size_t(count * shape.depth));
        if (int64_t(sums.size()) < count * shape.outputs) sums.resize(size_t(count * shape.outputs));
        if (!in_place) gather(c, shape, group, first, count, windows.data());
        View rows = in_place ? pixels(c, shape, group, first) : View{windows.data(), Type::F32, shape.depth, 1};
        multiply(rows, filters(c, shape, group), count, shape.outputs, shape.depth, c.tf32, sums.data());
        const float *sum = sums.data();
        in_parts(count, double(shape.outputs) * 4, [&, sum](int64_t from, int64_t end) {
            for (int64_t i = from; i < end; i++) {
                finish(c, first + i, group * shape.outputs, shape.outputs, sum + i * shape.outputs);
            }
        });
    }
}

void by_window(const Convolution &c, const Shape &shape, int64_t group) {
    in_parts(shape.pixels, double(shape.depth * shape.outputs) * 4, [&](int64_t from, int64_t end) {
        std::vector<float> window(size_t(shape.depth)), sums(size_t(shape.outputs));
        for (int64_t pixel = from; pixel < end; pixel++) {
            gather(c, shape, group, pixel, 1, window.data());
            for (int64_t o = 0; o < shape.outputs; o++) {
                View weights = filters(c, shape, group);
                float sum = 0;
                for (int64_t i = 0; i < shape.depth; i++) {
                    float weight = load(weights.data, o * c.w.sn + i, c.w.type);
                    sum += c.tf32 ? to_tf32(window[size_t(i)]) * to_tf32(weight) : window[size_t(i)] * weight;
                }
                sums[size_t(o)] = sum;
            }
            finish(c, pixel, group * shape.outputs, shape.outputs, sums.data());
        }
    });
}

void run(const Convolution &c) {
    Shape shape(c);
    for (int64_t group = 0; group < c.groups; group++) {
        if (shape.outputs < 4) by_window(c, shape, group);
        else by_matrix(c, shape, group);
    }
}

}  // namespace

Range Tensor::range(const char *what) const {
    if (values() == 0) return {reinterpret_cast<uint64_t>(data), 0, what};
    int64_t last = at(n - 1, c - 1, h - 1, w - 1);
    return {reinterpret_cast<uint64_t>(data), size_t(last + 1) * width(type), what};
}

float Relu::operator()(float value) const {
    if (!on) return value;
    if (value != value) return keeps_nan ? value : 0;
    float positive = value > 0 ? value : 0;
    return ceiling > 0 ? std::min(positive, ceiling) : positive;
}

Work convolution_work(const char *name, const Convolution &c, void *workspace, size_t bytes) {
    Work work;
    work.name = name;
    work.kind = Kind::Launch;
    work.touches = {c.x.range("x"), c.w.range("w"), c.y.range("y")};
    if (c.alpha2 != 0) work.touches.push_back(c.z.range("z"));
    if (c.bias) work.touches.push_back({reinterpret_cast<uint64_t>(c.bias), size_t(c.w.n) * width(c.y.type), "bias"});
    if (bytes) work.touches.push_back({reinterpret_cast<uint64_t>(workspace), bytes, "workspace"});
    work.run = [c, workspace, bytes] {
        if (bytes) std::memset(workspace, 0xFF, bytes);
        run(c);
    };
    return work;
}

}  // namespace fake
