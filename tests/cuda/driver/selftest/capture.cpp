#include "check.h"

namespace {

CUstream stream() {
    CUstream made;
    OK(cuStreamCreate(&made, CU_STREAM_NON_BLOCKING));
    return made;
}

CUevent event() {
    CUevent made;
    OK(cuEventCreate(&made, CU_EVENT_DISABLE_TIMING));
    return made;
}

float *pinned(size_t count) {
    void *made;
    OK(cuMemHostAlloc(&made, count * 4, 0));
    return static_cast<float *>(made);
}

void begin(CUstream s) { OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)); }

void graphs_replay() {
    CUstream s = stream();
    float *host = pinned(2);
    Array device(1);
    host[0] = 1;
    host[1] = 0;
    begin(s);
    OK(cuMemcpyHtoDAsync(device.at, host, 4, s));
    OK(cuMemcpyDtoHAsync(host + 1, device.at, 4, s));
    CUgraph graph;
    OK(cuStreamEndCapture(s, &graph));
    CHECK(host[1] == 0);  // nothing ran yet
    CUgraphExec executable;
    OK(cuGraphInstantiateWithFlags(&executable, graph, 0));
    OK(cuGraphDestroy(graph));
    for (float value : {2.0f, 3.0f}) {
        host[0] = value;
        OK(cuGraphLaunch(executable, s));
        OK(cuStreamSynchronize(s));
        CHECK(host[1] == value);
    }
    OK(cuGraphExecDestroy(executable));
}

void some_things_are_forbidden() {
    CUstream s = stream();
    Array device(1);
    float ordinary = 0;
    CUgraph graph = nullptr;
    begin(s);
    CHECK(cuStreamSynchronize(s) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    CHECK(cuStreamEndCapture(s, &graph) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED && !graph);
    begin(s);
    CHECK(cuMemcpyHtoDAsync(device.at, &ordinary, 4, s) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    CHECK(cuStreamEndCapture(s, &graph) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    begin(s);
    CUdeviceptr at;
    CHECK(cuMemAlloc(&at, 4) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    CHECK(cuStreamEndCapture(s, &graph) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    begin(s);
    CHECK(cuCtxSynchronize() == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    CHECK(cuStreamEndCapture(s, &graph) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    CUstreamCaptureStatus status;
    OK(cuStreamIsCapturing(s, &status));
    CHECK(status == CU_STREAM_CAPTURE_STATUS_NONE);
    OK(cuMemAlloc(&at, 4));
    OK(cuMemFree(at));
}

void streams_join_and_must_return() {
    CUstream first = stream(), second = stream();
    CUevent fork = event(), join = event();
    Array device(1);
    CUgraph graph = nullptr;
    for (bool joined : {false, true}) {
        begin(first);
        OK(cuEventRecord(fork, first));
        OK(cuStreamWaitEvent(second, fork, 0));
        OK(cuMemsetD32Async(device.at, 7, 1, second));
        OK(cuEventRecord(join, second));
        if (joined) OK(cuStreamWaitEvent(first, join, 0));
        CUresult expected = joined ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
        CHECK(cuStreamEndCapture(first, &graph) == expected);
    }
    CHECK(cuEventQuery(join) == CUDA_ERROR_CAPTURED_EVENT);
    OK(cuGraphDestroy(graph));
}

void outside_events_break_a_capture() {
    CUstream first = stream(), second = stream();
    CUevent outside = event();
    OK(cuEventRecord(outside, second));
    begin(first);
    CHECK(cuStreamWaitEvent(first, outside, 0) == CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    CUgraph graph;
    CHECK(cuStreamEndCapture(first, &graph) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

void graphs_own_memory() {
    CUstream s = stream();
    float *host = pinned(1);
    CUdeviceptr at;
    CUgraph graph;
    CUgraphExec executable;
    begin(s);
    OK(cuMemAllocAsync(&at, 4, s));
    OK(cuMemsetD32Async(at, 0x40000000, 1, s));
    OK(cuMemcpyDtoHAsync(host, at, 4, s));
    OK(cuMemFreeAsync(at, s));
    OK(cuStreamEndCapture(s, &graph));
    OK(cuGraphInstantiateWithFlags(&executable, graph, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH));
    for (int i = 0; i < 2; i++) OK(cuGraphLaunch(executable, s));
    OK(cuStreamSynchronize(s));
    CHECK(host[0] == 2);
    OK(cuGraphExecDestroy(executable));
    OK(cuGraphDestroy(graph));
}

}  // namespace

void test_capture() {
    graphs_replay();
    some_things_are_forbidden();
    streams_join_and_must_return();
    outside_events_break_a_capture();
    graphs_own_memory();
}
