// Every kernel against a plain reference in float64, on random geometries.
#include "channels.h"
#include "harness.h"
#include "tensors.h"
#include "walk.h"

using namespace divisi;

template <typename T> bool test_enter() {
    Check check = ::check<T>("enter");
    Random random{1};
    for (int i = 0; i < RUNS; i++) {
        Enter p{};
        p.rows = random.between(1, 5), p.pixels = random.of({1, 7, 49, 400}), p.channels = some_channels(random);
        p.padded = p.channels + random.of({0, 0, 1, (8 - p.channels % 8) % 8});
        View<float> samples(p.rows, p.channels * p.pixels, p.channels * p.pixels + 3, 1);
        samples.randomise(random, some_odd(random));
        View<T> to = random_view<T>(random, int64_t(p.rows) * p.pixels, p.padded);
        std::unique_ptr<uint64_t[]> where(new uint64_t[size_t(p.rows)]);
        for (int row = 0; row < p.rows; row++)  // in another order than they lie
            where[size_t(row)] = reinterpret_cast<uint64_t>(&samples.at(p.rows - 1 - row, 0));
        p.samples = where.get(), p.to = to.data(), p.pitch = to.pitch;
        check.run(p, random_blocks(random));
        each_pixel(p.rows, 1, p.pixels, [&](int64_t pixel, int row, int, int x) {
            for (int c = 0; c < p.padded; c++) {
                const double want = c < p.channels ? samples.get(p.rows - 1 - row, c * p.pixels + x) : 0;
                check.value(to.at(pixel, c), want, 0);
            }
        });
        if (!to.gaps_untouched()) check.fail("wrote into a gap");
    }
    return check.report();
}

template <typename T> bool test_pointwise() {
    Check check = ::check<T>("pointwise");
    Random random{2};
    for (int i = 0; i < 2 * RUNS; i++) {
        const int channels = some_channels(random), odd = some_odd(random);
        const int64_t pixels = random.of({1, 5, 130, 1000});
        View<T> from = random_view<T>(random, pixels, channels), to = random_view<T>(random, pixels, channels);
        from.randomise(random, odd);
        View<T> before(pixels, channels, channels, 0);
        for (int64_t pixel = 0; pixel < pixels; pixel++)
            for (int c = 0; c < channels; c++) before.at(pixel, c) = from.at(pixel, c);
        const bool in_place = random.chance(4);
        View<T> &out = in_place ? from : to;
        RandomTail<T> tail(random, pixels, channels, odd);
        Pointwise p{from.data(), out.data(), from.pitch, out.pitch, pixels, channels, tail.tail};
        check.run(p, random_blocks(random));
        for (int64_t pixel = 0; pixel < pixels; pixel++)
            for (int c = 0; c < channels; c++) {
                double size = 2;
                const double want = tail.apply(before.get(pixel, c), pixel, c, size);
                check.value(out.at(pixel, c), want, size);
            }
        if (!out.gaps_untouched()) check.fail("wrote into a gap");
    }
    return check.report();
}

// The sum over a residual that is where the answer goes.
template <typename T> bool test_sum_in_place() {
    Check check = ::check<T>("pointwise");
    Random random{3};
    View<T> from(300, 32, 32, 0), to(300, 32, 40, 0), before(300, 32, 40, 0);
    from.randomise(random, 0), to.randomise(random, 0);
    std::memcpy(static_cast<void *>(before.block.get()), static_cast<void *>(to.block.get()), to.size * sizeof(T));
    check.run(Pointwise{from.data(), to.data(), 32, 40, 300, 32, {nullptr, nullptr, to.data(), 40, RELU, 0, 0}}, 2);
    for (int pixel = 0; pixel < 300; pixel++)
        for (int c = 0; c < 32; c++)
            check.value(to.at(pixel, c), std::max(0.0, from.get(pixel, c) + before.get(pixel, c)), 4);
    return check.report();
}

template <typename T> bool test_pool(bool maximum) {
    Check check = ::check<T>(maximum ? "max_pool" : "mean_pool");
    Random random{4};
    for (int i = 0; i < 2 * RUNS; i++) {
        const Window w = random_window(random, some_channels(random), true);
        View<T> from = random_view<T>(random, int64_t(w.rows) * w.in_height * w.in_width, w.channels);
        View<T> to = random_view<T>(random, int64_t(w.rows) * w.out_height * w.out_width, w.channels);
        from.randomise(random, some_odd(random));
        const Pooling p{from.data(), to.data(), from.pitch, to.pitch, w, random.between(0, 1)};
        check.run(p, random_blocks(random));
        each_pixel(w.rows, w.out_height, w.out_width, [&](int64_t pixel, int row, int oy, int ox) {
            for (int c = 0; c < w.channels; c++) {
                double most = -INFINITY, sum = 0;
                int count = 0;
                each_tap(w, oy, ox, [&](int y, int x, int) {
                    const double v = from.get((int64_t(row) * w.in_height + y) * w.in_width + x, c);
                    most = v > most || std::isnan(v) ? v : most, sum += v, count++;
                });
                const int area = p.count_padding ? w.kernel_height * w.kernel_width : count;
                // A window that dilation carries past the image has no mean.
                const double mean = count == 0 && !p.count_padding ? NAN : sum / area;
                check.value(to.at(pixel, c), maximum ? most : mean, maximum ? 0 : 2);
            }
        });
        if (!to.gaps_untouched()) check.fail("wrote into a gap");
    }
    return check.report();
}

static Regions random_regions(Random &random) {
    Regions p{};
    p.rows = random.between(1, 5), p.channels = random.of({1, 3, 4, 8, 16, 40, 264, 320});
    p.in_height = random.between(1, 13), p.in_width = random.between(1, 13);
    p.out_height = random.chance(2) ? 1 : random.between(1, 15);
    p.out_width = random.chance(2) ? 1 : random.between(1, 15);
    return p;
}

template <typename T> bool test_regions() {
    Check check = ::check<T>("regions");
    Random random{5};
    for (int i = 0; i < RUNS; i++) {
        Regions p = random_regions(random);
        View<T> from = random_view<T>(random, int64_t(p.rows) * p.in_height * p.in_width, p.channels);
        View<T> to = random_view<T>(random, int64_t(p.rows) * p.out_height * p.out_width, p.channels);
        from.randomise(random, some_odd(random));
        p.from = from.data(), p.to = to.data(), p.from_pitch = from.pitch, p.to_pitch = to.pitch;
        check.run(p, random_blocks(random));
        each_pixel(p.rows, p.out_height, p.out_width, [&](int64_t pixel, int row, int oy, int ox) {
            const int top = oy * p.in_height / p.out_height, left = ox * p.in_width / p.out_width;
            const int bottom = ((oy + 1) * p.in_height + p.out_height - 1) / p.out_height;
            const int right = ((ox + 1) * p.in_width + p.out_width - 1) / p.out_width;
            for (int c = 0; c < p.channels; c++) {
                double sum = 0;
                for (int y = top; y < bottom; y++)
                    for (int x = left; x < right; x++)
                        sum += from.get((int64_t(row) * p.in_height + y) * p.in_width + x, c);
                check.value(to.at(pixel, c), sum / ((bottom - top) * (right - left)), 2);
            }
        });
        if (!to.gaps_untouched()) check.fail("wrote into a gap");
    }
    return check.report();
}

struct Neighbours {
    int low, high;
    double share;

    Neighbours(int at, int from, int to) {
        const float scale = float(from) / float(to);
        const float half = (float(at) + 0.5f) * scale;
        const float where = std::max(half - 0.5f, 0.0f);
        low = std::min(int(where), from - 1), high = std::min(low + 1, from - 1);
        share = double(where) - low;
    }
    double between(double a, double b) const { return a * (1 - share) + b * share; }
};

template <typename T> bool test_resize() {
    Check check = ::check<T>("resize");
    Random random{6};
    for (int i = 0; i < RUNS; i++) {
        Resize p = random_regions(random);
        if (random.chance(4)) p.out_height = p.in_height, p.out_width = p.in_width;
        View<T> from = random_view<T>(random, int64_t(p.rows) * p.in_height * p.in_width, p.channels);
        View<T> to = random_view<T>(random, int64_t(p.rows) * p.out_height * p.out_width, p.channels);
        from.randomise(random, some_odd(random));
        p.from = from.data(), p.to = to.data(), p.from_pitch = from.pitch, p.to_pitch = to.pitch;
        check.run(p, random_blocks(random));
        const bool same = p.in_height == p.out_height && p.in_width == p.out_width;
        each_pixel(p.rows, p.out_height, p.out_width, [&](int64_t pixel, int row, int y, int x) {
            const Neighbours v(y, p.in_height, p.out_height), h(x, p.in_width, p.out_width);
            for (int c = 0; c < p.channels; c++) {
                const auto at = [&](int y, int x) { return from.get((int64_t(row) * p.in_height + y) * p.in_width + x, c); };
                const double top = h.between(at(v.low, h.low), at(v.low, h.high));
                const double bottom = h.between(at(v.high, h.low), at(v.high, h.high));
                check.value(to.at(pixel, c), same ? at(y, x) : v.between(top, bottom), 2);
            }
        });
        if (!to.gaps_untouched()) check.fail("wrote into a gap");
    }
    return check.report();
}

// A grouped convolution, depthwise where `kernel` is that.
template <typename T>
void convolve(Check &check, Random &random, const Window &w, int in_channels, int groups, unsigned blocks) {
    const int odd = some_odd(random) * 20, inputs = in_channels / groups, outputs = w.channels / groups;
    const int64_t pixels = int64_t(w.rows) * w.out_height * w.out_width;
    View<T> from = random_view<T>(random, int64_t(w.rows) * w.in_height * w.in_width, in_channels);
    View<T> to = random_view<T>(random, pixels, w.channels);
    View<T> weights(int64_t(w.kernel_height) * w.kernel_width * inputs, w.channels, w.channels, random.of({0, 0, 0, 1}));
    from.randomise(random, odd), weights.randomise(random, 0);
    RandomTail<T> tail(random, pixels, w.channels, odd);
    check.run(Grouped{from.data(), weights.data(), to.data(), from.pitch, to.pitch, w, in_channels, groups, tail.tail}, blocks);
    each_pixel(w.rows, w.out_height, w.out_width, [&](int64_t pixel, int row, int oy, int ox) {
        for (int c = 0; c < w.channels; c++) {
            double sum = 0, size = 0;
            each_tap(w, oy, ox, [&](int y, int x, int tap) {
                for (int i = 0; i < inputs; i++) {
                    const int64_t at = (int64_t(row) * w.in_height + y) * w.in_width + x;
                    sum += from.get(at, c / outputs * inputs + i) * weights.get(int64_t(tap) * inputs + i, c);
                    size += 2;
                }
            });
            const double want = tail.apply(sum, pixel, c, size);
            check.value(to.at(pixel, c), want, size);
        }
    });
    if (!to.gaps_untouched()) check.fail("wrote into a gap");
}

template <typename T> bool test_depthwise() {
    Check check = ::check<T>("depthwise");
    Random random{7};
    for (int i = 0; i < 3 * RUNS; i++) {
        const int channels = some_channels(random);
        convolve<T>(check, random, random_window(random, channels, true), channels, channels, random_blocks(random));
    }
    const int channels = 256 / int(sizeof(T));  // enough for strips of four
    convolve<T>(check, random, {2, channels, 65, 63, 65, 63, 3, 3, 1, 1, 1, 1}, channels, channels, 64);
    convolve<T>(check, random, {2, channels, 129, 126, 65, 63, 3, 3, 2, 1, 1, 1}, channels, channels, 64);
    return check.report();
}

template <typename T> bool test_grouped() {
    Check check = ::check<T>("grouped");
    Random random{8};
    for (int i = 0; i < 3 * RUNS; i++) {
        const int groups = random.of({1, 1, 2, 3, 8}), inputs = random.of({1, 2, 3, 4, 8, 12}), outputs = random.of({1, 2, 4, 5, 8, 16});
        const Window w = random_window(random, groups * outputs, true);
        convolve<T>(check, random, w, groups * inputs, groups, random_blocks(random));
    }
    return check.report();
}

template <typename T> bool test_gather() {
    Check check = ::check<T>("gather");
    Random random{9};
    for (int i = 0; i < 2 * RUNS; i++) {
        const int channels = some_channels(random);
        Window w = random_window(random, 16, true);
        if (random.chance(3)) {  // from a later line on
            const int line = random.between(0, w.out_height - 1);
            w.pad_height -= line * w.stride, w.out_height -= line;
        }
        const int used = w.kernel_height * w.kernel_width * channels, pitch = used + random.of({0, 0, 8, 3, (8 - used % 8) % 8});
        View<T> from = random_view<T>(random, int64_t(w.rows) * w.in_height * w.in_width, channels);
        View<T> to(int64_t(w.rows) * w.out_height * w.out_width, pitch, pitch, random.of({0, 0, 8, 4, 1}));
        from.randomise(random, some_odd(random));
        check.run(Gather{from.data(), to.data(), from.pitch, to.pitch, w, channels}, random_blocks(random));
        each_pixel(w.rows, w.out_height, w.out_width, [&](int64_t pixel, int row, int oy, int ox) {
            std::unique_ptr<double[]> want(new double[size_t(pitch)]());
            each_tap(w, oy, ox, [&](int y, int x, int tap) {
                for (int c = 0; c < channels; c++)
                    want[size_t(tap * channels + c)] = from.get((int64_t(row) * w.in_height + y) * w.in_width + x, c);
            });
            for (int k = 0; k < pitch; k++) check.value(to.at(pixel, k), want[size_t(k)], 0);
        });
        if (!to.gaps_untouched()) check.fail("wrote before the matrix");
    }
    return check.report();
}

template <typename T> bool test_flatten() {
    Check check = ::check<T>("flatten");
    Random random{10};
    for (int i = 0; i < RUNS; i++) {
        const int rows = random.between(1, 5), channels = some_channels(random), pixels = random.of({1, 1, 4, 49, 36});
        View<T> from = random_view<T>(random, int64_t(rows) * pixels, channels);
        View<T> to = random_view<T>(random, rows, channels * pixels);
        from.randomise(random, some_odd(random));
        check.run(Flatten{from.data(), to.data(), from.pitch, to.pitch, rows, channels, pixels}, random_blocks(random));
        each_pixel(rows, 1, pixels, [&](int64_t pixel, int row, int, int x) {
            for (int c = 0; c < channels; c++) check.value(to.at(row, c * pixels + x), from.get(pixel, c), 0);
        });
        if (!to.gaps_untouched()) check.fail("wrote into a gap");
    }
    return check.report();
}

template <typename T> bool test_answer() {
    Check check = ::check<T>("answer");
    Random random{11};
    for (int i = 0; i < RUNS; i++) {
        const int rows = random.between(1, 5), channels = some_channels(random), pixels = random.of({1, 1, 4, 49});
        View<T> from = random_view<T>(random, int64_t(rows) * pixels, channels);
        View<float> to(rows, channels * pixels, channels * pixels, random.of({0, 0, 4, 1}));
        from.randomise(random, some_odd(random));
        check.run(Answer{from.data(), to.data(), from.pitch, rows, channels, pixels}, random_blocks(random));
        each_pixel(rows, 1, pixels, [&](int64_t pixel, int row, int, int x) {
            for (int c = 0; c < channels; c++) check.value(to.at(row, c * pixels + x), from.get(pixel, c), 0);
        });
        if (!to.gaps_untouched()) check.fail("wrote before the answer");
    }
    return check.report();
}

// What each value of a row becomes; a NaN or an infinity makes the whole row NaN, but one of -inf alone
// where that is masked.
template <typename T> std::unique_ptr<double[]> softmax_of(View<T> &from, int row, bool masked) {
    double most = -INFINITY, sum = 0;
    std::unique_ptr<double[]> want(new double[size_t(from.channels)]());
    for (int c = 0; c < from.channels; c++) most = std::fmax(most, from.get(row, c));
    if (masked && most == -INFINITY) return want;
    for (int c = 0; c < from.channels; c++) sum += want[size_t(c)] = std::exp(from.get(row, c) - most);
    for (int c = 0; c < from.channels; c++) want[size_t(c)] /= sum;
    return want;
}

template <typename T, typename To> bool test_softmax(const char *kernel) {
    Check check = ::check<T>(kernel);
    Random random{12};
    for (int i = 0; i < RUNS / 2; i++) {
        const int rows = random.between(1, 5), channels = random.of({1, 2, 10, 100, 255, 256, 257, 1000});
        View<T> from = random_view<T>(random, rows, channels);
        View<To> to = random_view<To>(random, rows, channels);
        from.randomise(random, random.of({0, 0, 2 * channels}));
        if (random.chance(3)) from.at(0, channels - 1) = Kind<T>::make(300);
        const bool masked = random.chance(2);
        if (random.chance(3))
            for (int c = 0; c < channels; c++) from.at(rows - 1, c) = Kind<T>::make(-INFINITY);
        check.run(Softmax{from.data(), to.data(), from.pitch, to.pitch, rows, channels, masked, 0}, random_blocks(random));
        for (int row = 0; row < rows; row++) {
            const std::unique_ptr<double[]> want = softmax_of(from, row, masked);
            for (int c = 0; c < channels; c++) check.value(to.at(row, c), want[size_t(c)], want[size_t(c)]);
        }
        if (!to.gaps_untouched()) check.fail("wrote into a gap");
    }
    return check.report();
}

template <typename T> bool test_all() {
    const bool all[] = {
        test_enter<T>(), test_pointwise<T>(), test_sum_in_place<T>(), test_pool<T>(true), test_pool<T>(false),
        test_regions<T>(), test_resize<T>(), test_depthwise<T>(), test_grouped<T>(), test_gather<T>(),
        test_flatten<T>(), test_softmax<T, T>("softmax"), test_softmax<T, float>("softmax_answer"), test_answer<T>(),
    };
    return std::all_of(std::begin(all), std::end(all), [](bool ok) { return ok; });
}

int main() {
    const bool walks = test_walk(), channels = test_channels(), tensors = test_tensors();
    const bool f32 = test_all<float>(), bf16 = test_all<__nv_bfloat16>(), f16 = test_all<__half>();
    return walks && channels && tensors && f32 && bf16 && f16 ? 0 : 1;
}
