// What the tests of kernels share: random geometries, views with gaps, runs, comparison.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <memory>
#include <string>

#include "../../src/runtime/compute/cuda/kernels/params.h"
#include "emulation/table.h"

// Numbers that are the same in every run (SplitMix64).
struct Random {
    uint64_t state;

    uint64_t next() {
        uint64_t z = state += 0x9e3779b97f4a7c15u;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }
    int between(int least, int most) { return least + int(next() % uint64_t(most - least + 1)); }
    bool chance(int one_in) { return next() % uint64_t(one_in) == 0; }
    int of(std::initializer_list<int> list) { return list.begin()[next() % list.size()]; }
    // -2 .. 2
    float value() { return float(int64_t(next() >> 40) - (1 << 23)) / float(1 << 22); }
};

// The types of values: how a kernel's name ends, and how far neighbours are apart.
template <typename T> struct Kind;
template <> struct Kind<float> {
    static constexpr const char *SUFFIX = "f32";
    static constexpr double STEP = 1.2e-7, LEAST = 1e-30;
    static float make(float v) { return v; }
    static double get(float v) { return double(v); }
};
template <> struct Kind<__nv_bfloat16> {
    static constexpr const char *SUFFIX = "bf16";
    static constexpr double STEP = 0.0040, LEAST = 1e-30;
    static __nv_bfloat16 make(float v) { return __float2bfloat16_rn(v); }
    static double get(__nv_bfloat16 v) { return double(__bfloat162float(v)); }
};
template <> struct Kind<__half> {
    static constexpr const char *SUFFIX = "f16";
    static constexpr double STEP = 0.0005, LEAST = 6e-8;
    static __half make(float v) { return __float2half_rn(v); }
    static double get(__half v) { return double(__half2float(v)); }
};

// What gaps and outputs hold before a kernel runs.
constexpr float UNTOUCHED = -1984.0f;

// Pixels of some channels at a pitch in a block of memory that ends with the last value.
// The block begins `offset` values before the first.
template <typename T> struct View {
    int64_t pixels;
    int channels, pitch, offset;
    size_t size;
    std::unique_ptr<T[]> block;

    View(int64_t pixels, int channels, int pitch, int offset)
        : pixels(pixels), channels(channels), pitch(pitch), offset(offset),
          size(size_t(offset + (pixels - 1) * pitch + channels)), block(new T[size]) {
        for (size_t i = 0; i < size; i++) block[i] = Kind<T>::make(UNTOUCHED);
    }

    T *data() { return block.get() + offset; }
    T &at(int64_t pixel, int channel) { return data()[pixel * pitch + channel]; }
    double get(int64_t pixel, int channel) { return Kind<T>::get(at(pixel, channel)); }

    // One in `odd` values is NaN or infinite; none where `odd` is 0.
    void randomise(Random &random, int odd) {
        for (int64_t p = 0; p < pixels; p++)
            for (int c = 0; c < channels; c++) at(p, c) = Kind<T>::make(random.value());
        if (odd == 0) return;
        for (int64_t p = 0; p < pixels; p++)
            for (int c = 0; c < channels; c++)
                if (random.chance(odd)) at(p, c) = Kind<T>::make(strange(random));
    }

    static float strange(Random &random) {
        const float infinity = std::numeric_limits<float>::infinity();
        const int which = random.between(0, 2);
        return which == 0 ? std::nanf("") : which == 1 ? infinity : -infinity;
    }

    bool gaps_untouched() {
        for (size_t i = 0; i < size; i++) {
            const int64_t from_first = int64_t(i) - offset;
            const bool gap = from_first < 0 || from_first % pitch >= channels;
            if (gap && Kind<T>::get(block[i]) != double(UNTOUCHED)) return false;
        }
        return true;
    }
};

// How a view may lie: packed, with gaps, at any address.
struct Lie {
    int more, offset;

    explicit Lie(Random &random)
        : more(random.of({0, 0, 0, 8, 16, 4, 3})), offset(random.of({0, 0, 0, 8, 16, 4, 1, 3})) {}
};
template <typename T> View<T> random_view(Random &random, int64_t pixels, int channels) {
    const Lie lie(random);
    return View<T>(pixels, channels, channels + lie.more, lie.offset);
}

// Counts comparisons and remembers the first that failed.
struct Check {
    std::string name, trouble;
    double worst = 0;
    int cases = 0;

    template <typename P> void run(const P &params, unsigned blocks) {
        size_t count;
        const KernelEntry *table = divisi_kernels(&count);
        const auto found = std::find_if(table, table + count, [&](const KernelEntry &e) { return e.name == name; });
        if (found == table + count || found->params_bytes != sizeof(P)) return fail("no such kernel");
        found->run(&params, {blocks, 1, 1}, {256, 1, 1}, 0);
        cases++;
    }

    void fail(const std::string &why) {
        if (trouble.empty()) trouble = "case " + std::to_string(cases) + ": " + why;
    }

    // `step` is how much a value's rounding may change it, `size` the sum of what was
    // added up: float32 sums are as exact as that allows.
    void value(double got, double want, double step, double least, double size) {
        if (std::isnan(want) ? std::isnan(got) : got == want) return;
        const double allowed = step * std::fabs(want) + 2e-6 * size + least;
        const double error = std::fabs(got - want) / allowed;
        if (error <= 1) worst = std::max(worst, error);
        else fail("found " + std::to_string(got) + ", expected " + std::to_string(want));
    }

    template <typename T> void value(T got, double want, double size) {
        value(Kind<T>::get(got), want, Kind<T>::STEP, Kind<T>::LEAST, size);
    }

    // Prints the kernel's line; returns whether all was well.
    bool report() const {
        std::printf("%-20s %4d runs  %s", name.c_str(), cases, trouble.empty() ? "ok" : trouble.c_str());
        std::printf("  (worst error %.2f of what is allowed)\n", worst);
        return trouble.empty() && cases > 0;
    }
};

template <typename T> Check check(const char *kernel) { return Check{std::string(kernel) + "_" + Kind<T>::SUFFIX, "", 0, 0}; }

// Runs of a kernel with one type.
constexpr int RUNS = 60;

inline int some_channels(Random &random) { return random.of({1, 3, 4, 8, 12, 16, 24, 32, 40, 5}); }
// In one of three cases there are NaN and infinities.
inline int some_odd(Random &random) { return random.of({0, 0, 30}); }

// Any grid will do.
inline unsigned random_blocks(Random &random) { return unsigned(random.of({1, 2, 7, 64})); }

// The end of a step, and what belongs to it.
template <typename T> struct RandomTail {
    std::unique_ptr<float[]> scale, bias;
    std::unique_ptr<View<T>> residual;
    divisi::Tail tail;

    RandomTail(Random &random, int64_t pixels, int channels, int odd) : tail{} {
        if (random.chance(2)) tail.scale = (scale = values(random, channels)).get();
        if (random.chance(2)) tail.bias = (bias = values(random, channels)).get();
        if (random.chance(2)) {
            residual.reset(new View<T>(random_view<T>(random, pixels, channels)));
            residual->randomise(random, odd);
            tail.residual = residual->data();
            tail.residual_pitch = residual->pitch;
        }
        tail.activation = divisi::Activation(random.chance(2) ? random.between(0, 2) : random.between(3, 14));
        tail.first = -0.5f, tail.second = 0.75f;
    }

    static std::unique_ptr<float[]> values(Random &random, int channels) {
        std::unique_ptr<float[]> all(new float[size_t(channels)]);
        for (int c = 0; c < channels; c++) all[size_t(c)] = random.value();
        return all;
    }

    // What becomes of a value; `size` grows by what is added.
    double apply(double v, int64_t pixel, int c, double &size) {
        if (scale) v *= double(scale[size_t(c)]), size *= std::fabs(double(scale[size_t(c)]));
        if (bias) v += double(bias[size_t(c)]), size += 2;
        if (residual) v += residual->get(pixel, c), size += 2;
        return activated(v);
    }

    // The formulas of the activations; comparisons keep NaN.
    double activated(double x) const {
        const auto clamped = [](double v, double least, double most) { return v < least ? least : v > most ? most : v; };
        const double a = double(tail.first), b = double(tail.second);
        const double softplus = (x < 0 ? 0 : x) + std::log1p(std::exp(-std::fabs(x)));
        switch (tail.activation) {
            case divisi::NONE: return x;
            case divisi::RELU: return x < 0 ? 0 : x;
            case divisi::RELU6: return clamped(x, 0, 6);
            case divisi::CLIP: return clamped(x, a, b);
            case divisi::LEAKY_RELU: return x < 0 ? a * x : x;
            case divisi::ELU: return x < 0 ? a * std::expm1(x) : x;
            case divisi::SIGMOID: return 1 / (1 + std::exp(-x));
            case divisi::HARD_SIGMOID: return clamped(a * x + b, 0, 1);
            case divisi::SILU: return x / (1 + std::exp(-x));
            case divisi::HARD_SWISH: return x * clamped(x / 6 + 0.5, 0, 1);
            case divisi::GELU: return x * std::erfc(-x / std::sqrt(2.0)) / 2;
            case divisi::GELU_TANH: return x / (1 + std::exp(-2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
            case divisi::TANH: return std::tanh(x);
            case divisi::SOFTPLUS: return softplus;
            case divisi::MISH: return x * std::tanh(softplus);
            case divisi::FAKE_QUANTISE: {
                unsigned bounds;
                std::memcpy(&bounds, &tail.second, sizeof bounds);
                return std::nearbyint(clamped(x / a, -double(bounds >> 16), double(bounds & 0xFFFFu))) * a;
            }
        }
        return NAN;
    }
};

// A window that fits its image.
inline divisi::Window random_window(Random &random, int channels, bool dilated) {
    divisi::Window w{};
    w.rows = random.between(1, 5);
    w.channels = channels;
    w.kernel_height = random.of({1, 2, 3, 3, 3, 5, 7});
    w.kernel_width = random.chance(4) ? random.between(1, 5) : w.kernel_height;
    w.stride = random.of({1, 1, 2, 2, 3});
    w.dilation = dilated && random.chance(4) ? 2 : 1;
    w.pad_height = random.between(0, w.kernel_height / 2);
    w.pad_width = random.between(0, w.kernel_width / 2);
    const int reach_height = w.dilation * (w.kernel_height - 1) + 1, reach_width = w.dilation * (w.kernel_width - 1) + 1;
    w.in_height = std::max(1, reach_height - 2 * w.pad_height) + random.between(0, 9);
    w.in_width = std::max(1, reach_width - 2 * w.pad_width) + random.between(0, 9);
    w.out_height = (w.in_height + 2 * w.pad_height - reach_height) / w.stride + 1;
    w.out_width = (w.in_width + 2 * w.pad_width - reach_width) / w.stride + 1;
    return w;
}

// Calls `each(in_y, in_x, tap)` for what a window reads inside of the image.
template <typename F> void each_tap(const divisi::Window &w, int oy, int ox, F each) {
    for (int ky = 0; ky < w.kernel_height; ky++)
        for (int kx = 0; kx < w.kernel_width; kx++) {
            const int y = oy * w.stride - w.pad_height + ky * w.dilation;
            const int x = ox * w.stride - w.pad_width + kx * w.dilation;
            if (y >= 0 && y < w.in_height && x >= 0 && x < w.in_width) each(y, x, ky * w.kernel_width + kx);
        }
}

// Calls `each(output pixel, row, y, x)`.
template <typename F> void each_pixel(int rows, int height, int width, F each) {
    int64_t pixel = 0;
    for (int row = 0; row < rows; row++)
        for (int y = 0; y < height; y++)
            for (int x = 0; x < width; x++) each(pixel++, row, y, x);
}
