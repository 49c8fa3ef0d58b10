// cuRAND: generators that can be made, and numbers drawn on the host's generator.
#include <cuda.h>

#include <memory>
#include <random>

#include "core/queue.h"

namespace {

enum Status { SUCCESS = 0, NOT_INITIALIZED = 101, LAUNCH_FAILURE = 201 };

struct Generator {
    std::shared_ptr<std::mt19937_64> random = std::make_shared<std::mt19937_64>();
    CUstream stream = nullptr;
};

Generator &of(void *generator) { return *static_cast<Generator *>(generator); }

template <class T, class Draw> int generate(void *generator, T *to, size_t count, Draw draw) {
    if (!generator) return NOT_INITIALIZED;
    fake::Work work;
    work.name = "curand";
    work.kind = fake::Kind::Launch;
    work.touches = {{reinterpret_cast<uint64_t>(to), count * sizeof(T), "numbers"}};
    work.run = [random = of(generator).random, to, count, draw]() mutable {
        for (size_t i = 0; i < count; i++) to[i] = T(draw(*random));
    };
    return fake::enqueue(of(generator).stream, work) ? LAUNCH_FAILURE : SUCCESS;
}

}  // namespace

extern "C" {

int curandCreateGenerator(void **generator, int) {
    *generator = new Generator;
    return SUCCESS;
}

int curandDestroyGenerator(void *generator) {
    delete static_cast<Generator *>(generator);
    return SUCCESS;
}

int curandSetStream(void *generator, CUstream stream) {
    of(generator).stream = stream;
    return SUCCESS;
}

int curandSetPseudoRandomGeneratorSeed(void *generator, unsigned long long seed) {
    of(generator).random->seed(seed);
    return SUCCESS;
}

int curandSetGeneratorOffset(void *generator, unsigned long long offset) {
    of(generator).random->discard(offset);
    return SUCCESS;
}

int curandGetVersion(int *version) {
    *version = 10400;
    return SUCCESS;
}

int curandGenerate(void *generator, unsigned *to, size_t count) {
    return generate(generator, to, count, std::uniform_int_distribution<unsigned>());
}

int curandGenerateUniform(void *generator, float *to, size_t count) {
    return generate(generator, to, count, std::uniform_real_distribution<float>(0, 1));
}

int curandGenerateUniformDouble(void *generator, double *to, size_t count) {
    return generate(generator, to, count, std::uniform_real_distribution<double>(0, 1));
}

int curandGenerateNormal(void *generator, float *to, size_t count, float mean, float deviation) {
    return generate(generator, to, count, std::normal_distribution<float>(mean, deviation));
}

int curandGenerateNormalDouble(void *generator, double *to, size_t count, double mean, double deviation) {
    return generate(generator, to, count, std::normal_distribution<double>(mean, deviation));
}

}  // extern "C"
