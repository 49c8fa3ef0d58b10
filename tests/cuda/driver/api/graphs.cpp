// Capture and graphs. A captured graph keeps the order in which its work was given, and
// is launched as one piece of work.
#include "call.h"

using namespace fake;

namespace {

struct Executable {
    std::shared_ptr<Graph> graph;
    bool frees_on_launch = false;
    std::mutex mutex;
    std::shared_ptr<Mark> last;  // of its latest launch: launches follow each other
};

// Graphs are handles to shared ownership: what is launched outlives what is destroyed.
using Held = std::shared_ptr<Graph>;
using HeldExecutable = std::shared_ptr<Executable>;
Held *held(CUgraph graph) { return reinterpret_cast<Held *>(graph); }
HeldExecutable *held(CUgraphExec executable) { return reinterpret_cast<HeldExecutable *>(executable); }

CUresult instantiate(CUgraphExec *to, CUgraph graph, unsigned long long flags) {
    auto made = std::make_shared<Executable>();
    if (!graph) return CUDA_ERROR_INVALID_VALUE;
    bool device_launch = flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH;
    made->frees_on_launch = flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
    if (device_launch && made->frees_on_launch) return CUDA_ERROR_INVALID_VALUE;
    made->graph = *held(graph);
    *to = reinterpret_cast<CUgraphExec>(new HeldExecutable(made));
    return CUDA_SUCCESS;
}

bool memory_still_alive(const Graph &graph) {
    for (uint64_t address : graph.allocations) {
        Block block;
        if (block_at(address, block) && block.state == State::Live) return true;
    }
    return false;
}

void replay(Device &device, const Graph &graph) {
    for (const Work &work : graph.nodes) perform(device, work);
}

CUresult launch(Stream &stream, HeldExecutable executable) {
    bool taken = false;
    Work nothing;
    nothing.name = "graph within a graph";
    nothing.run = [&device = *stream.device, executable] { replay(device, *executable->graph); };
    CUresult result = capture_work(stream, nothing, taken);
    if (taken || result) return result;
    std::lock_guard<std::mutex> lock(executable->mutex);
    if (executable->last) wait_for(stream, executable->last);
    Work work;
    work.name = "graph";
    work.run = [&device = *stream.device, executable] {
        if (!executable->frees_on_launch && memory_still_alive(*executable->graph)) {
            return misuse(device, "a graph was launched again while memory of its last launch lives");
        }
        replay(device, *executable->graph);
    };
    push_ordered(stream, std::move(work));
    executable->last = mark(stream);
    return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

CUresult cuStreamBeginCapture(CUstream handle, CUstreamCaptureMode mode) {
    return on_stream(__func__, handle, [&](Stream &stream) { return begin_capture(stream, mode); });
}

CUresult cuStreamEndCapture(CUstream handle, CUgraph *graph) {
    return on_stream(__func__, handle, [&](Stream &stream) {
        std::shared_ptr<Graph> made;
        *graph = nullptr;
        CUresult result = end_capture(stream, made);
        if (made) *graph = reinterpret_cast<CUgraph>(new Held(made));
        return result;
    });
}

CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus *status) {
    return on_stream(__func__, handle, [&](Stream &s) { return *status = capture_status(s), CUDA_SUCCESS; });
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode) {
    *mode = exchange_mode(*mode);
    return CUDA_SUCCESS;
}

CUresult cuGraphInstantiate(CUgraphExec *executable, CUgraph graph, unsigned long long flags) {
    return call(__func__, [&] { return instantiate(executable, graph, flags); });
}

CUresult cuGraphUpload(CUgraphExec executable, CUstream handle) {
    return on_stream(__func__, handle, [&](Stream &) {
        return executable ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    });
}

CUresult cuGraphLaunch(CUgraphExec executable, CUstream handle) {
    return on_stream(__func__, handle, [&](Stream &stream) {
        return executable ? launch(stream, *held(executable)) : CUDA_ERROR_INVALID_VALUE;
    });
}

CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *count) {
    return call(__func__, [&] {
        if (nodes) return CUDA_ERROR_NOT_SUPPORTED;
        *count = (*held(graph))->nodes.size();
        return CUDA_SUCCESS;
    });
}

CUresult cuGraphDestroy(CUgraph graph) {
    return call(__func__, [&] { return delete held(graph), CUDA_SUCCESS; });
}

CUresult cuGraphExecDestroy(CUgraphExec executable) {
    return call(__func__, [&] { return delete held(executable), CUDA_SUCCESS; });
}

CUresult cuDeviceGraphMemTrim(CUdevice) { return CUDA_SUCCESS; }

}  // extern "C"
