#include <atomic>
#include <chrono>
#include <thread>

#include "check.h"

namespace {

CUstream stream() {
    CUstream made;
    OK(cuStreamCreate(&made, CU_STREAM_NON_BLOCKING));
    return made;
}

CUevent event(unsigned flags = CU_EVENT_DEFAULT) {
    CUevent made;
    OK(cuEventCreate(&made, flags));
    return made;
}

// Holds a stream until it is opened.
struct Gate {
    std::atomic<bool> open{false};
    static void hold(void *gate) {
        while (!static_cast<Gate *>(gate)->open) std::this_thread::yield();
    }
    explicit Gate(CUstream stream) { OK(cuLaunchHostFunc(stream, hold, this)); }
};

float *pinned(size_t count) {
    void *made;
    OK(cuMemHostAlloc(&made, count * 4, 0));
    return static_cast<float *>(made);
}

// Copies of page-locked memory run later, in order; events tell when.
void copies_run_later() {
    CUstream s = stream();
    float *host = pinned(4), *back = pinned(4);
    Array device(4);
    Gate gate(s);
    host[0] = 1;
    OK(cuMemcpyHtoDAsync(device.at, host, 16, s));
    OK(cuMemcpyDtoHAsync(back, device.at, 16, s));
    CUevent done = event();
    OK(cuEventRecord(done, s));
    host[0] = 2;  // read when the copy runs
    CHECK(cuEventQuery(done) == CUDA_ERROR_NOT_READY && cuStreamQuery(s) == CUDA_ERROR_NOT_READY);
    gate.open = true;
    OK(cuEventSynchronize(done));
    CHECK(back[0] == 2);
    OK(cuEventQuery(done));
    OK(cuStreamDestroy(s));
}

// Ordinary memory is read before the call returns.
void pageable_memory_is_staged() {
    CUstream s = stream();
    Array device(1);
    Gate gate(s);
    float value = 3;
    OK(cuMemcpyHtoDAsync(device.at, &value, 4, s));
    value = 4;
    gate.open = true;
    float back = 0;
    OK(cuMemcpyDtoHAsync(&back, device.at, 4, s));
    CHECK(back == 3);
}

void streams_wait_for_events() {
    CUstream first = stream(), second = stream();
    float *host = pinned(2);
    host[0] = 5;
    Array device(1);
    Gate gate(first);
    OK(cuMemcpyHtoDAsync(device.at, host, 4, first));
    CUevent copied = event();
    OK(cuEventRecord(copied, first));
    OK(cuStreamWaitEvent(second, copied, 0));
    OK(cuMemcpyDtoHAsync(host + 1, device.at, 4, second));
    CHECK(cuStreamQuery(second) == CUDA_ERROR_NOT_READY);
    gate.open = true;
    OK(cuStreamSynchronize(second));
    CHECK(host[1] == 5);
}

void events_have_times() {
    CUstream s = stream();
    CUevent start = event(), end = event(), untimed = event(CU_EVENT_DISABLE_TIMING);
    float milliseconds = 0;
    CHECK(cuEventElapsedTime(&milliseconds, start, end) == CUDA_ERROR_INVALID_HANDLE);
    OK(cuEventRecord(start, s));
    OK(cuLaunchHostFunc(s, [](void *) { std::this_thread::sleep_for(std::chrono::milliseconds(5)); }, nullptr));
    OK(cuEventRecord(end, s));
    OK(cuEventRecord(untimed, s));
    OK(cuStreamSynchronize(s));
    OK(cuEventElapsedTime(&milliseconds, start, end));
    CHECK(milliseconds >= 4.9f && milliseconds < 500);
    CHECK(cuEventElapsedTime(&milliseconds, start, untimed) == CUDA_ERROR_INVALID_HANDLE);
}

void threads_need_a_context() {
    CUresult result = CUDA_SUCCESS;
    std::thread([&] {
        CUevent made;
        result = cuEventCreate(&made, 0);
    }).join();
    CHECK(result == CUDA_ERROR_INVALID_CONTEXT);
    CHECK(cuStreamSynchronize(reinterpret_cast<CUstream>(&result)) == CUDA_ERROR_INVALID_HANDLE);
}

// The default stream and blocking streams wait for each other; others do not.
void the_default_stream_orders() {
    CUstream blocking;
    OK(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
    float *host = pinned(2);
    host[0] = 6;
    Array device(1);
    Gate gate(blocking);
    OK(cuMemcpyHtoDAsync(device.at, host, 4, blocking));
    OK(cuMemcpyDtoHAsync(host + 1, device.at, 4, nullptr));
    gate.open = true;
    OK(cuStreamSynchronize(nullptr));
    CHECK(host[1] == 6);
}

}  // namespace

void test_streams() {
    copies_run_later();
    pageable_memory_is_staged();
    streams_wait_for_events();
    events_have_times();
    threads_need_a_context();
    the_default_stream_orders();
}
