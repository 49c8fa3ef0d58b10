// Small helpers of the self test.
#pragma once
#include <cuda.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "../math/numbers.h"

#define CHECK(condition)                                                              \
    do {                                                                              \
        if (!(condition)) {                                                           \
            std::printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);       \
            std::exit(1);                                                             \
        }                                                                             \
    } while (0)
#define OK(call) CHECK((call) == 0)

inline uint64_t address(const void *at) { return reinterpret_cast<uint64_t>(at); }

// Device memory with values, and its way back.
struct Array {
    CUdeviceptr at = 0;
    size_t count;
    fake::Type type;

    explicit Array(size_t count, fake::Type type = fake::Type::F32) : count(count), type(type) {
        OK(cuMemAlloc(&at, count * fake::width(type)));
    }
    ~Array() { OK(cuMemFree(at)); }
    Array(const Array &) = delete;
    void *data() const { return reinterpret_cast<void *>(at); }

    void put(const std::vector<float> &values) {
        std::vector<char> raw(count * fake::width(type));
        for (size_t i = 0; i < count; i++) fake::store(raw.data(), int64_t(i), type, values[i]);
        OK(cuMemcpyHtoD(at, raw.data(), raw.size()));
    }
    std::vector<float> get() const {
        std::vector<char> raw(count * fake::width(type));
        OK(cuMemcpyDtoH(raw.data(), at, raw.size()));
        std::vector<float> values(count);
        for (size_t i = 0; i < count; i++) values[i] = fake::load(raw.data(), int64_t(i), type);
        return values;
    }
};

inline std::vector<float> random_values(size_t count, unsigned seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> draw(-1, 1);
    std::vector<float> values(count);
    for (float &value : values) value = draw(random);
    return values;
}

// As they are after being stored in that width.
inline std::vector<float> rounded(std::vector<float> values, fake::Type type) {
    char raw[4];
    for (float &value : values) {
        fake::store(raw, 0, type, value);
        value = fake::load(raw, 0, type);
    }
    return values;
}

inline bool close(const std::vector<float> &found, const std::vector<float> &expected, float tolerance) {
    float largest = 1e-6f;
    for (float value : expected) largest = std::max(largest, std::fabs(value));
    for (size_t i = 0; i < expected.size(); i++) {
        if (!(std::fabs(found[i] - expected[i]) <= tolerance * largest)) {
            std::printf("value %zu is %g, expected %g\n", i, found[i], expected[i]);
            return false;
        }
    }
    return true;
}

// What the driver must end the process for.
struct Misuse {
    const char *name;
    void (*run)();
};
extern const Misuse misuses[];

void test_streams();
void test_memory();
void test_capture();
void test_products();
void test_convolutions();
void test_failures();
void test_kernels();
