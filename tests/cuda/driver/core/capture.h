// Capturing work of streams into graphs, and what is forbidden meanwhile.
#pragma once
#include <memory>
#include <set>

#include "stream.h"

namespace fake {

struct Graph {
    Device *device = nullptr;
    std::vector<Work> nodes;
    std::set<uint64_t> allocations;  // whose memory belongs to the graph
    size_t allocated = 0;            // bytes of them
    bool leaves_memory = false;      // not all of it is freed by the graph itself
    ~Graph();
};

struct Capture {
    Stream *origin = nullptr;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    std::thread::id thread;
    bool broken = false;
    std::shared_ptr<Graph> graph;
    // For each stream how much of every stream it stands behind, itself included.
    std::map<Stream *, std::map<Stream *, size_t>> clocks;
};

CUresult begin_capture(Stream &stream, CUstreamCaptureMode mode);
CUresult end_capture(Stream &stream, std::shared_ptr<Graph> &graph);
CUstreamCaptureStatus capture_status(Stream &stream);
// Records the work where its stream is captured; `taken` says whether it is.
CUresult capture_work(Stream &stream, const Work &work, bool &taken);
// An event of a captured stream. `taken`: it is.
CUresult capture_record(Stream &stream, Event &event, bool &taken);
// Waiting for an event, where stream or event are captured. `taken`: they are.
CUresult capture_wait(Stream &stream, Event &event, bool &taken);
// Memory of the graph. `taken`: the stream is captured.
CUresult capture_alloc(Stream &stream, size_t bytes, CUdeviceptr *to, bool &taken);
CUresult capture_free(Stream &stream, CUdeviceptr address, bool &taken);
// What must not be done to a stream while it is captured; that breaks the capture.
CUresult refuse_while_captured(Stream &stream);
// What must not be done while anything of the device is captured.
CUresult refuse_while_any_captured(Device &device);
CUstreamCaptureMode exchange_mode(CUstreamCaptureMode mode);

}  // namespace fake
