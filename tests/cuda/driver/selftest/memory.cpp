#include <chrono>
#include <thread>

#include "check.h"

namespace {

constexpr size_t MIB = 1 << 20;

CUmemoryPool pool() {
    CUmemoryPool found;
    OK(cuDeviceGetDefaultMemPool(&found, 0));
    return found;
}

uint64_t attribute(CUmemPool_attribute which) {
    cuuint64_t value = 0;
    OK(cuMemPoolGetAttribute(pool(), which, &value));
    return value;
}

size_t free_bytes() {
    size_t free, total;
    OK(cuMemGetInfo(&free, &total));
    CHECK(total == 256 * MIB);
    return free;
}

CUstream stream() {
    CUstream made;
    OK(cuStreamCreate(&made, CU_STREAM_NON_BLOCKING));
    return made;
}

void the_pool_counts() {
    CUstream s = stream();
    size_t before = free_bytes();
    CUdeviceptr at;
    OK(cuMemAllocAsync(&at, 10 * MIB, s));
    CHECK(at % 256 == 0);
    CHECK(attribute(CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == 10 * MIB);
    CHECK(attribute(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == 32 * MIB);
    CHECK(free_bytes() == before - 32 * MIB);
    OK(cuMemFreeAsync(at, s));
    OK(cuStreamSynchronize(s));
    CHECK(attribute(CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == 0);
    CHECK(attribute(CU_MEMPOOL_ATTR_USED_MEM_HIGH) == 10 * MIB);
    CHECK(attribute(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == 0 && free_bytes() == before);
}

void the_pool_keeps_what_it_may() {
    CUstream s = stream();
    cuuint64_t threshold = ~0ull, none = 0;
    OK(cuMemPoolSetAttribute(pool(), CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
    CUdeviceptr at;
    OK(cuMemAllocAsync(&at, 10 * MIB, s));
    OK(cuMemFreeAsync(at, s));
    OK(cuStreamSynchronize(s));
    CHECK(attribute(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == 32 * MIB);
    OK(cuMemPoolTrimTo(pool(), 0));
    CHECK(attribute(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == 0);
    OK(cuMemPoolSetAttribute(pool(), CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &none));
}

void memory_runs_out() {
    size_t before = free_bytes();
    CUdeviceptr first, second;
    OK(cuMemAlloc(&first, 200 * MIB));
    CHECK(cuMemAlloc(&second, 100 * MIB) == CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(cuMemAllocAsync(&second, 100 * MIB, stream()) == CUDA_ERROR_OUT_OF_MEMORY);
    OK(cuMemFree(first));
    CHECK(free_bytes() == before);
    CUstream s = stream();  // what is freed in the stream, but not reached, can be had
    OK(cuMemAllocAsync(&first, 200 * MIB, s));
    OK(cuMemFreeAsync(first, s));
    OK(cuMemAllocAsync(&second, 200 * MIB, s));
    OK(cuMemFreeAsync(second, s));
    OK(cuStreamSynchronize(s));
}

void fresh_memory_is_nan() {
    Array array(100);
    for (float value : array.get()) CHECK(std::isnan(value));
    OK(cuMemsetD8Async(array.at, 0, 400, nullptr));
    for (float value : array.get()) CHECK(value == 0);
    OK(cuMemsetD32(array.at, 0x3f800000, 100));
    for (float value : array.get()) CHECK(value == 1);
}

// A byte too many.
void fill_too_much() {
    Array array(10);
    OK(cuMemsetD8Async(array.at, 0, 41, nullptr));
    OK(cuCtxSynchronize());
}

void touch_freed_memory() {
    CUdeviceptr at;
    OK(cuMemAlloc(&at, 64));
    OK(cuMemFree(at));
    std::printf("%f\n", *reinterpret_cast<volatile float *>(at));
}

// Within the page: found when it is freed.
void write_behind_the_end() {
    CUdeviceptr at;
    OK(cuMemAlloc(&at, 64));
    reinterpret_cast<volatile char *>(at)[65] = 0;
    cuMemFree(at);
}

void free_twice() {
    CUdeviceptr at;
    OK(cuMemAllocAsync(&at, 64, stream()));
    cuMemFreeAsync(at, nullptr);
    cuMemFreeAsync(at, nullptr);
}

void wait_a_while(void *) { std::this_thread::sleep_for(std::chrono::milliseconds(50)); }

void free_what_is_copied() {
    Array array(8);
    void *host;
    OK(cuMemHostAlloc(&host, 32, 0));
    CUstream s = stream();
    OK(cuLaunchHostFunc(s, wait_a_while, nullptr));
    OK(cuMemcpyHtoDAsync(array.at, host, 32, s));
    OK(cuMemFreeHost(host));
    cuStreamSynchronize(s);
}

// Memory of a stream that has not reached its allocation yet, used by another one.
void use_before_it_is_there() {
    CUstream first = stream(), second = stream();
    CUdeviceptr at;
    OK(cuLaunchHostFunc(first, wait_a_while, nullptr));
    OK(cuMemAllocAsync(&at, 64, first));
    OK(cuMemsetD8Async(at, 0, 64, second));
    cuStreamSynchronize(second);
}

}  // namespace

void test_memory() {
    the_pool_counts();
    the_pool_keeps_what_it_may();
    memory_runs_out();
    fresh_memory_is_nan();
}

const Misuse misuses[] = {
    {"fill too much", fill_too_much},
    {"touch freed memory", touch_freed_memory},
    {"write behind the end", write_behind_the_end},
    {"free twice", free_twice},
    {"free what is copied", free_what_is_copied},
    {"use before it is there", use_before_it_is_there},
    {nullptr, nullptr},
};
