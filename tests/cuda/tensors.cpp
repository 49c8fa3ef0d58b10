// Operations on tensors of any rank, against plain references in float64.
#include "tensors.h"

#include <functional>
#include <vector>

#include "harness.h"

using namespace divisi;

// A tensor of `rows` rows that lies anyhow: axes in any order, with gaps, from any value on.
template <typename T> struct Strided {
    std::vector<int> sizes;
    Tensor tensor{};
    std::vector<float> wide;
    std::vector<T> narrow;

    // Axes named in `repeated` have the stride 0.
    Strided(Random &random, int rows, const std::vector<int> &sizes, unsigned repeated = 0) : sizes(sizes) {
        std::vector<size_t> order(sizes.size());
        for (size_t i = 0; i < order.size(); i++) order[i] = i;
        for (size_t i = order.size(); i > 1; i--) std::swap(order[i - 1], order[size_t(random.between(0, int(i) - 1))]);
        int stride = random.of({1, 1, 1, 2});
        for (size_t axis : order) {
            const bool same = repeated >> axis & 1;
            tensor.strides[8 - sizes.size() + axis] = same ? 0 : stride;
            if (!same) stride *= sizes[axis];
        }
        tensor.row = stride + random.of({0, 0, 5});
        const size_t count = size_t(tensor.row) * size_t(rows) + 3;
        tensor.wide = random.chance(3);
        const int offset = random.of({0, 0, 1, 3});
        if (tensor.wide) wide.resize(count), tensor.at = wide.data() + offset;
        else narrow.resize(count), tensor.at = narrow.data() + offset;
        for (size_t i = 0; i < count; i++) set(i, random.value());
    }

    void set(size_t at, float value) {
        if (tensor.wide) wide[at] = value;
        else narrow[at] = Kind<T>::make(value);
    }
    size_t place(int row, const std::vector<int> &index) const {
        int64_t at = row * tensor.row;
        for (size_t axis = 0; axis < index.size(); axis++) at += index[axis] * tensor.strides[8 - index.size() + axis];
        return size_t(at);
    }
    double get(int row, const std::vector<int> &index) const {
        const size_t at = place(row, index);
        return tensor.wide ? double(static_cast<const float *>(tensor.at)[at]) : Kind<T>::get(static_cast<const T *>(tensor.at)[at]);
    }
    void value(Check &check, int row, const std::vector<int> &index, double want, double size) const {
        const size_t at = place(row, index);
        if (tensor.wide) check.value(static_cast<const float *>(tensor.at)[at], want, size);
        else check.value(static_cast<const T *>(tensor.at)[at], want, size);
    }
};

// Calls `each(row, index)` for all positions.
static void each_position(int rows, const std::vector<int> &sizes, const std::function<void(int, const std::vector<int> &)> &each) {
    int count = 1;
    for (int size : sizes) count *= size;
    for (int row = 0; row < rows; row++)
        for (int number = 0; number < count; number++) {
            std::vector<int> index(sizes.size());
            int rest = number;
            for (size_t axis = sizes.size(); axis-- > 0; rest /= sizes[axis]) index[axis] = rest % sizes[axis];
            each(row, index);
        }
}

static std::vector<int> random_sizes(Random &random) {
    std::vector<int> sizes(size_t(random.between(1, 4)));
    for (int &size : sizes) size = random.of({1, 2, 3, 5, 8, 33});
    return sizes;
}

// Writes sizes behind sizes of 1; returns how many positions there are.
static int place_sizes(int32_t (&to)[8], const std::vector<int> &sizes, size_t end = 8) {
    int count = 1;
    for (int32_t &size : to) size = 1;
    for (size_t axis = 0; axis < sizes.size(); axis++) count *= to[end - sizes.size() + axis] = sizes[axis];
    return count;
}

template <typename T> bool test_map() {
    Check check = ::check<T>("map");
    Random random{17};
    for (int i = 0; i < RUNS; i++) {
        const int rows = random.between(1, 3);
        const std::vector<int> sizes = random_sizes(random);
        const Strided<T> a(random, rows, sizes, unsigned(random.between(0, 15))), b(random, rows, sizes, unsigned(random.between(0, 15)));
        const Strided<T> c(random, rows, sizes), to(random, rows, sizes);
        Map p{a.tensor, b.tensor, c.tensor, to.tensor, {}, rows, 0, random.of({FILL, COPY, ABS, SIGN, EXP, TO_F16, ADD, SUB, MUL, MAX, LESS, REMAINDER, CHOICE}), 2.5f, 0};
        p.values = place_sizes(p.sizes, sizes);
        check.run(p, random_blocks(random));
        each_position(rows, sizes, [&](int row, const std::vector<int> &index) {
            const double x = a.get(row, index), y = b.get(row, index);
            const double want = p.function == FILL     ? 2.5
                                : p.function == COPY   ? x
                                : p.function == ABS    ? std::fabs(x)
                                : p.function == SIGN   ? (std::isnan(x) ? x : double(x > 0) - double(x < 0))
                                : p.function == EXP    ? std::exp(x)
                                : p.function == TO_F16 ? double(__half2float(__float2half_rn(float(x))))
                                : p.function == REMAINDER ? std::fmod(x, y)
                                : p.function == ADD    ? x + y
                                : p.function == SUB    ? x - y
                                : p.function == MUL    ? x * y
                                : p.function == MAX    ? std::max(x, y)
                                : p.function == LESS   ? double(x < y)
                                : x != 0               ? y
                                                       : c.get(row, index);
            to.value(check, row, index, want, 4);
        });
    }
    return check.report();
}

template <typename T> bool test_reduce() {
    Check check = ::check<T>("reduce");
    Random random{18};
    for (int i = 0; i < RUNS; i++) {
        const int rows = random.between(1, 3);
        const std::vector<int> kept = {random.of({1, 3, 7})}, along = {random.of({1, 2, 9}), random.of({1, 5, 40})};
        const Strided<T> from(random, rows, {kept[0], along[0], along[1]}), to(random, rows, kept);
        Reduce p{from.tensor, to.tensor, {}, {}, {}, rows, 0, 0, random.between(SUM, ARG_MIN), 0};
        p.from.strides[7] = from.tensor.strides[5];
        p.steps[6] = from.tensor.strides[6], p.steps[7] = from.tensor.strides[7];
        p.values = place_sizes(p.sizes, kept), p.count = place_sizes(p.along, along);
        p.together = p.reduction < ARG_MAX && random.chance(2);
        check.run(p, random_blocks(random));
        each_position(rows, kept, [&](int row, const std::vector<int> &index) {
            double sum = 0, size = 0, most = -INFINITY, least = INFINITY, product = 1, squares = 0;
            int at_most = 0, at_least = 0;
            for (int n = 0; n < p.count; n++) {
                const double v = from.get(row, {index[0], n / along[1], n % along[1]});
                sum += v, size += std::fabs(v), squares += v * v, product *= v;
                if (v > most) most = v, at_most = n;
                if (v < least) least = v, at_least = n;
            }
            const double all[] = {sum, sum / p.count, most, least, product, size, std::sqrt(squares), squares, double(at_most), double(at_least)};
            to.value(check, row, index, all[p.reduction], p.reduction == PRODUCT ? 2 * std::fabs(product) * p.count : size + squares);
        });
    }
    return check.report();
}

template <typename T> bool test_scan() {
    Check check = ::check<T>("scan");
    Random random{19};
    for (int i = 0; i < RUNS / 2; i++) {
        const int rows = random.between(1, 3), lines = random.of({1, 4, 70}), count = random.of({1, 2, 30});
        const Strided<T> from(random, rows, {lines, count}), to(random, rows, {lines, count});
        Scan p{from.tensor, to.tensor, {}, rows, 0, count, from.tensor.strides[7], to.tensor.strides[7], random.between(0, 1), random.between(0, 1), 0, 0};
        // Products of many values leave the range of a half.
        p.product = count <= 2 && random.chance(2);
        p.from.strides[7] = from.tensor.strides[6], p.to.strides[7] = to.tensor.strides[6];
        p.values = place_sizes(p.sizes, {lines});
        check.run(p, random_blocks(random));
        each_position(rows, {lines, count}, [&](int row, const std::vector<int> &index) {
            double all = p.product ? 1 : 0;
            for (int n = 0; n < count; n++) {
                const bool before = p.reverse ? n > index[1] : n < index[1];
                if (!before && (n != index[1] || p.exclusive)) continue;
                const double value = from.get(row, {index[0], n});
                all = p.product ? all * value : all + value;
            }
            to.value(check, row, index, all, 2 * count + std::fabs(all));
        });
    }
    return check.report();
}

template <typename T> bool test_lookup() {
    Check check = ::check<T>("lookup");
    Random random{20};
    for (int i = 0; i < RUNS; i++) {
        const int rows = random.between(1, 3), before = random.of({1, 3}), count = random.of({1, 5, 300}), after = random.of({1, 4, 33}), listed = random.of({1, 7});
        std::vector<T> table(size_t(rows * before * count * after)), to(size_t(rows * before * listed * after));
        std::vector<float> indices(size_t(rows * listed));
        for (T &v : table) v = Kind<T>::make(random.value());
        for (float &v : indices) v = random.chance(9) ? std::nanf("") : float(random.between(-count - 1, count));
        const Lookup p{table.data(), indices.data(), to.data(), before * count * after, listed, before * listed * after, rows, before, count, after, listed, 0, 1, 0, 0};
        check.run(p, random_blocks(random));
        each_position(rows, {before, listed, after}, [&](int row, const std::vector<int> &index) {
            double at = double(indices[size_t(row * listed + index[1])]);
            at = at < 0 ? at + count : at;
            const bool known = at >= 0 && at < count;
            const size_t place = known ? size_t(((row * before + index[0]) * count + int(at)) * after + index[2]) : 0;
            check.value(to[size_t(((row * before + index[0]) * listed + index[1]) * after + index[2])], known ? Kind<T>::get(table[place]) : NAN, 0);
        });
    }
    return check.report();
}

template <typename T> bool test_product() {
    Check check = ::check<T>("product");
    Random random{21};
    for (int i = 0; i < RUNS / 3; i++) {
        const int rows = random.between(1, 2), matrices = random.of({1, 3}), lines = random.of({1, 5, 64, 70}), depth = random.of({1, 31, 33, 64}), columns = random.of({1, 7, 64, 65});
        const Strided<T> left(random, rows, {matrices, lines, depth}), right(random, rows, {matrices, depth, columns}), to(random, rows, {matrices, lines, columns});
        MatrixProduct p{left.tensor, right.tensor, to.tensor, {}, rows, matrices, lines, depth, columns};
        place_sizes(p.sizes, {matrices}, 6);
        check.run(p, random_blocks(random));
        each_position(rows, {matrices, lines, columns}, [&](int row, const std::vector<int> &index) {
            double sum = 0, size = 0;
            for (int d = 0; d < depth; d++) {
                const double term = left.get(row, {index[0], index[1], d}) * right.get(row, {index[0], d, index[2]});
                sum += term, size += std::fabs(term);
            }
            to.value(check, row, index, sum, size);
        });
    }
    return check.report();
}

// A mask of a query: scores of some keys are not looked at.
template <typename T> void hide(Random &random, Strided<T> &mask, int rows, int heads, int queries, int keys) {
    each_position(rows, {heads, queries, keys}, [&](int row, const std::vector<int> &index) {
        if (!random.chance(3)) return;
        const size_t first = size_t(mask.tensor.wide ? static_cast<const float *>(mask.tensor.at) - mask.wide.data()
                                                     : static_cast<const T *>(mask.tensor.at) - mask.narrow.data());
        mask.set(first + mask.place(row, index), -INFINITY);
    });
}

template <typename T> bool test_attention() {
    Check check = ::check<T>("attention");
    Random random{22};
    for (int i = 0; i < RUNS / 3; i++) {
        const int rows = random.between(1, 2), heads = random.of({1, 3}), queries = random.of({1, 5, 70}), keys = random.of({1, 33, 64, 150}), depth = random.of({1, 8, 40}), features = random.of({1, 8, 66});
        const Strided<T> query(random, rows, {heads, queries, depth}), key(random, rows, {heads, depth, keys}), value(random, rows, {heads, keys, features}), to(random, rows, {heads, queries, features});
        Strided<T> mask(random, rows, {heads, queries, keys});
        hide(random, mask, rows, heads, queries, keys);
        const float scale = 0.3f;
        Attention p{query.tensor, key.tensor, value.tensor, to.tensor, {mask.tensor, mask.tensor, mask.tensor}, &scale, {}, rows, heads, queries, keys, depth, features, random.between(0, 3), random.between(0, 2), 0};
        place_sizes(p.sizes, {heads}, 6);
        check.run(p, random_blocks(random));
        each_position(rows, {heads, queries}, [&](int row, const std::vector<int> &index) {
            std::vector<double> shares(size_t(keys), 0.0);
            double most = -INFINITY, total = 0;
            for (int k = 0; k < keys; k++) {
                double score = 0;
                for (int d = 0; d < depth; d++) score += query.get(row, {index[0], index[1], d}) * key.get(row, {index[0], d, k});
                score = score * double(scale) + (p.mask_count ? p.mask_count * mask.get(row, {index[0], index[1], k}) : 0);
                shares[size_t(k)] = score, most = std::max(most, score);
            }
            for (double &share : shares) share = most == -INFINITY ? 0 : std::exp(share - most), total += share;
            for (int f = 0; f < features; f++) {
                double sum = 0;
                for (int k = 0; k < keys; k++) sum += shares[size_t(k)] * value.get(row, {index[0], k, f});
                const double want = total == 0 ? (p.guarded ? 0 : NAN) : sum / total;
                // Scores are as large as the depth, and exponentials know them to that share. Narrow
                // types round shares too, before they are added up.
                const double rounded = Kind<T>::STEP * 2 / 2e-6;
                to.value(check, row, {index[0], index[1], f}, want, 8 + depth + rounded);
            }
        });
    }
    return check.report();
}

template <typename T> bool all_of_tensors() {
    const bool all[] = {test_map<T>(), test_reduce<T>(), test_scan<T>(), test_lookup<T>(), test_product<T>(), test_attention<T>()};
    return std::all_of(std::begin(all), std::end(all), [](bool ok) { return ok; });
}

bool test_tensors() {
    const bool f32 = all_of_tensors<float>(), bf16 = all_of_tensors<__nv_bfloat16>(), f16 = all_of_tensors<__half>();
    return f32 && bf16 && f16;
}
