#include "capture.h"

#include <utility>

#include "report.h"

namespace fake {
namespace {

std::mutex &lock_of_captures() {
    static auto *mutex = new std::mutex;
    return *mutex;
}

std::set<Capture *> &active() {
    static auto *all = new std::set<Capture *>;
    return *all;
}

thread_local CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

using Lock = std::lock_guard<std::mutex>;

void advance(Capture &capture, Stream &stream) { capture.clocks[&stream][&stream]++; }

CUresult state(const Capture &capture) {
    return capture.broken ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
}

CUresult break_off(Capture &capture, CUresult why) {
    trace("a capture is broken: error %d", why);
    capture.broken = true;
    return why;
}

// Whether the first stream stands behind everything that the others were given.
bool all_joined(const Capture &capture) {
    auto &mine = capture.clocks.at(capture.origin);
    for (auto &[stream, clock] : capture.clocks) {
        if (stream == capture.origin) continue;
        auto own = clock.find(stream);
        auto seen = mine.find(stream);
        size_t issued = own == clock.end() ? 0 : own->second;
        if (seen == mine.end() || seen->second < issued) return false;
    }
    return true;
}

void forget(Capture &capture) {
    active().erase(&capture);
    std::vector<Stream *> members;
    for (auto &[stream, clock] : capture.clocks) members.push_back(stream);
    for (Stream *stream : members) stream->capture = nullptr;
}

void merge(std::map<Stream *, size_t> &into, const std::map<Stream *, size_t> &from) {
    for (auto &[stream, count] : from) into[stream] = std::max(into[stream], count);
}

}  // namespace

Graph::~Graph() {
    for (uint64_t address : allocations) close_block(address);
    if (allocated) unbook_graph(*device, allocated);
}

CUresult begin_capture(Stream &stream, CUstreamCaptureMode mode) {
    Lock lock(lock_of_captures());
    if (stream.is_legacy) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (stream.capture) return CUDA_ERROR_ILLEGAL_STATE;
    auto capture = std::make_shared<Capture>();
    capture->origin = &stream;
    capture->mode = mode;
    capture->thread = std::this_thread::get_id();
    capture->graph = std::make_shared<Graph>();
    capture->graph->device = stream.device;
    capture->clocks[&stream][&stream] = 0;
    stream.capture = capture;
    active().insert(capture.get());
    return CUDA_SUCCESS;
}

CUresult end_capture(Stream &stream, std::shared_ptr<Graph> &graph) {
    Lock lock(lock_of_captures());
    auto capture = stream.capture;
    if (!capture) return CUDA_ERROR_ILLEGAL_STATE;
    if (capture->origin != &stream) return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    bool bound = capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED;
    if (bound && capture->thread != std::this_thread::get_id()) {
        return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    }
    bool joined = all_joined(*capture);
    forget(*capture);
    if (capture->broken) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (!joined) return CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    graph = capture->graph;
    return CUDA_SUCCESS;
}

CUstreamCaptureStatus capture_status(Stream &stream) {
    Lock lock(lock_of_captures());
    if (!stream.capture) return CU_STREAM_CAPTURE_STATUS_NONE;
    return stream.capture->broken ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                  : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

CUresult capture_work(Stream &stream, const Work &work, bool &taken) {
    Lock lock(lock_of_captures());
    auto capture = stream.capture;
    taken = capture != nullptr;
    if (!taken) return CUDA_SUCCESS;
    if (CUresult wrong = state(*capture)) return wrong;
    capture->graph->nodes.push_back(work);
    advance(*capture, stream);
    return CUDA_SUCCESS;
}

CUresult capture_record(Stream &stream, Event &event, bool &taken) {
    Lock lock(lock_of_captures());
    auto capture = stream.capture;
    taken = capture != nullptr;
    if (!taken) return CUDA_SUCCESS;
    if (CUresult wrong = state(*capture)) return wrong;
    std::lock_guard<std::mutex> guard(event.mutex);
    event.captured = true;
    event.capture = capture;
    event.clock = capture->clocks[&stream];
    event.mark = nullptr;
    return CUDA_SUCCESS;
}

CUresult capture_wait(Stream &stream, Event &event, bool &taken) {
    Lock lock(lock_of_captures());
    std::lock_guard<std::mutex> guard(event.mutex);
    auto capture = stream.capture;
    taken = capture != nullptr || event.captured;
    if (!taken) return CUDA_SUCCESS;
    auto of_event = event.capture.lock();
    if (event.captured && (!of_event || !active().count(of_event.get()))) {
        return CUDA_ERROR_INVALID_VALUE;  // of a capture that has ended
    }
    if (!event.captured) {
        if (!event.mark) return CUDA_SUCCESS;  // never recorded
        return break_off(*capture, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    }
    if (capture && capture != of_event) return break_off(*capture, CUDA_ERROR_STREAM_CAPTURE_MERGE);
    if (CUresult wrong = state(*of_event)) return wrong;
    if (stream.is_legacy) return break_off(*of_event, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    stream.capture = of_event;
    merge(of_event->clocks[&stream], event.clock);
    return CUDA_SUCCESS;
}

CUresult capture_alloc(Stream &stream, size_t bytes, CUdeviceptr *to, bool &taken) {
    Lock lock(lock_of_captures());
    auto capture = stream.capture;
    taken = capture != nullptr;
    if (!taken) return CUDA_SUCCESS;
    if (CUresult wrong = state(*capture)) return wrong;
    if (!book_graph(*stream.device, bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
    uint64_t address = reserve_block(stream.device->ordinal, bytes, Origin::Graph, nullptr);
    capture->graph->allocations.insert(address);
    capture->graph->allocated += bytes;
    capture->graph->leaves_memory = true;
    Work work;
    work.name = "allocate";
    work.run = [address] { open_block(address); };
    capture->graph->nodes.push_back(work);
    advance(*capture, stream);
    *to = address;
    return CUDA_SUCCESS;
}

CUresult capture_free(Stream &stream, CUdeviceptr address, bool &taken) {
    Lock lock(lock_of_captures());
    auto capture = stream.capture;
    taken = capture != nullptr;
    if (!taken) return CUDA_SUCCESS;
    if (CUresult wrong = state(*capture)) return wrong;
    if (!capture->graph->allocations.count(address)) {
        return break_off(*capture, CUDA_ERROR_INVALID_VALUE);
    }
    if (!queue_free(address)) return break_off(*capture, CUDA_ERROR_INVALID_VALUE);
    Work work;
    work.name = "free";
    work.run = [address] { close_block(address); };
    capture->graph->nodes.push_back(work);
    advance(*capture, stream);
    return CUDA_SUCCESS;
}

CUresult refuse_while_captured(Stream &stream) {
    Lock lock(lock_of_captures());
    if (!stream.capture) return CUDA_SUCCESS;
    return break_off(*stream.capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

CUresult refuse_while_any_captured(Device &device) {
    Lock lock(lock_of_captures());
    CUresult result = CUDA_SUCCESS;
    for (Capture *capture : active()) {
        if (capture->origin->device == &device) {
            result = break_off(*capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        }
    }
    return result;
}

CUresult forbidden_in_capture() {
    Lock lock(lock_of_captures());
    if (thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_SUCCESS;
    auto me = std::this_thread::get_id();
    CUresult result = CUDA_SUCCESS;
    for (Capture *capture : active()) {
        bool mine = capture->thread == me && capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED;
        bool global = capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
                      thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
        if (mine || global) result = break_off(*capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    }
    return result;
}

CUstreamCaptureMode exchange_mode(CUstreamCaptureMode mode) { return std::exchange(thread_mode, mode); }

}  // namespace fake
