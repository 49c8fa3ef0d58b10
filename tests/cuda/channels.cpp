// Sums and products, shuffles, and norms across channels, against plain references in float64.
#include "channels.h"

#include "harness.h"

using namespace divisi;

template <typename T> bool test_paired() {
    Check check = ::check<T>("paired");
    Random random{13};
    for (int i = 0; i < RUNS; i++) {
        const int channels = some_channels(random), shared = random.of({1, 1, 7, 49}), odd = some_odd(random);
        const int64_t others = random.of({1, 3, 5}), pixels = others * shared;
        View<T> from = random_view<T>(random, pixels, channels), other = random_view<T>(random, others, channels);
        View<T> to = random_view<T>(random, pixels, channels);
        from.randomise(random, odd), other.randomise(random, odd);
        RandomTail<T> tail(random, pixels, channels, odd);
        const int product = random.between(0, 1);
        check.run(Paired{from.data(), other.data(), to.data(), from.pitch, other.pitch, to.pitch, product, pixels,
                         channels, shared, tail.tail}, random_blocks(random));
        for (int64_t pixel = 0; pixel < pixels; pixel++)
            for (int c = 0; c < channels; c++) {
                const double a = from.get(pixel, c), b = other.get(pixel / shared, c);
                double size = 4;
                const double want = tail.apply(product ? a * b : a + b, pixel, c, size);
                check.value(to.at(pixel, c), want, size);
            }
        if (!to.gaps_untouched()) check.fail("wrote into a gap");
    }
    return check.report();
}

template <typename T> bool test_shuffle() {
    Check check = ::check<T>("shuffle");
    Random random{14};
    for (int i = 0; i < RUNS; i++) {
        const int groups = random.of({1, 2, 3, 4}), each = random.of({1, 3, 8, 29}), channels = groups * each;
        const int64_t pixels = random.of({1, 5, 130});
        View<T> from = random_view<T>(random, pixels, channels), to = random_view<T>(random, pixels, channels);
        from.randomise(random, some_odd(random));
        check.run(Shuffle{from.data(), to.data(), from.pitch, to.pitch, pixels, channels, groups}, random_blocks(random));
        for (int64_t pixel = 0; pixel < pixels; pixel++)
            for (int c = 0; c < channels; c++)
                check.value(to.at(pixel, c), from.get(pixel, c % groups * each + c / groups), 0);
        if (!to.gaps_untouched()) check.fail("wrote into a gap");
    }
    return check.report();
}

template <typename T> bool test_response_norm() {
    Check check = ::check<T>("response_norm");
    Random random{15};
    for (int i = 0; i < RUNS; i++) {
        const int channels = some_channels(random), before = random.between(0, 4), behind = random.between(0, 4);
        const int64_t pixels = random.of({1, 5, 130});
        View<T> from = random_view<T>(random, pixels, channels), to = random_view<T>(random, pixels, channels);
        from.randomise(random, some_odd(random));
        check.run(ResponseNorm{from.data(), to.data(), from.pitch, to.pitch, pixels, channels, before, behind, 0.25f,
                               0.75f, 1.5f}, random_blocks(random));
        for (int64_t pixel = 0; pixel < pixels; pixel++)
            for (int c = 0; c < channels; c++) {
                double sum = 0;
                for (int near = std::max(0, c - before); near <= std::min(channels - 1, c + behind); near++)
                    sum += from.get(pixel, near) * from.get(pixel, near);
                check.value(to.at(pixel, c), from.get(pixel, c) / std::pow(1.5 + 0.25 * sum, 0.75), 4);
            }
        if (!to.gaps_untouched()) check.fail("wrote into a gap");
    }
    return check.report();
}

template <typename T> bool test_layer_norm() {
    Check check = ::check<T>("layer_norm");
    Random random{16};
    for (int i = 0; i < RUNS / 2; i++) {
        const int channels = random.of({1, 2, 10, 100, 255, 256, 257, 768});
        const int64_t pixels = random.of({1, 5, 9});
        View<T> from = random_view<T>(random, pixels, channels), to = random_view<T>(random, pixels, channels);
        from.randomise(random, random.of({0, 0, 2 * channels}));
        RandomTail<T> tail(random, pixels, channels, 0);
        check.run(LayerNorm{from.data(), to.data(), from.pitch, to.pitch, pixels, channels, 1e-3f, tail.tail},
                  random_blocks(random));
        for (int64_t pixel = 0; pixel < pixels; pixel++) {
            double sum = 0, squares = 0;
            for (int c = 0; c < channels; c++) sum += from.get(pixel, c) / channels;
            for (int c = 0; c < channels; c++) squares += std::pow(from.get(pixel, c) - sum, 2) / channels;
            for (int c = 0; c < channels; c++) {
                double size = 8;
                const double normed = (from.get(pixel, c) - sum) / std::sqrt(squares + double(1e-3f));
                const double want = tail.apply(normed, pixel, c, size);
                check.value(to.at(pixel, c), want, size);
            }
        }
        if (!to.gaps_untouched()) check.fail("wrote into a gap");
    }
    return check.report();
}

template <typename T> bool all_of_channels() {
    const bool all[] = {test_paired<T>(), test_shuffle<T>(), test_response_norm<T>(), test_layer_norm<T>()};
    return std::all_of(std::begin(all), std::end(all), [](bool ok) { return ok; });
}

bool test_channels() {
    const bool f32 = all_of_channels<float>(), bf16 = all_of_channels<__nv_bfloat16>(), f16 = all_of_channels<__half>();
    return f32 && bf16 && f16;
}
