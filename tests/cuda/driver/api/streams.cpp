// Streams and events.
#include "../core/settings.h"
#include "call.h"

using namespace fake;

namespace {

CUresult record(Stream &stream, Event &event) {
    if (event.device != stream.device) return CUDA_ERROR_INVALID_HANDLE;
    bool taken = false;
    CUresult result = capture_record(stream, event, taken);
    if (taken || result) return result;
    auto made = mark(stream);
    std::lock_guard<std::mutex> lock(event.mutex);
    event.mark = made;
    event.captured = false;
    event.clock.clear();
    return CUDA_SUCCESS;
}

std::shared_ptr<Mark> mark_of(Event &event, bool &captured) {
    std::lock_guard<std::mutex> lock(event.mutex);
    captured = event.captured;
    return event.mark;
}

CUresult wait(Stream &stream, Event &event) {
    bool taken = false, captured = false;
    CUresult result = capture_wait(stream, event, taken);
    if (taken || result) return result;
    auto awaited = mark_of(event, captured);
    if (awaited) wait_for(stream, awaited);
    return CUDA_SUCCESS;
}

CUresult synchronise_event(Event &event) {
    bool captured = false;
    auto awaited = mark_of(event, captured);
    if (captured) return CUDA_ERROR_CAPTURED_EVENT;
    if (awaited) awaited->wait();
    trim_pools(*event.device);
    return refusal(*event.device);
}

CUresult query_event(Event &event) {
    bool captured = false;
    auto asked = mark_of(event, captured);
    if (captured) return CUDA_ERROR_CAPTURED_EVENT;
    bool done = !asked || asked->is_done();
    if (CUresult refused = refusal(*event.device)) return refused;
    return done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult elapsed(float *milliseconds, Event &from, Event &to) {
    bool captured[2];
    auto start = mark_of(from, captured[0]), end = mark_of(to, captured[1]);
    if (captured[0] || captured[1]) return CUDA_ERROR_CAPTURED_EVENT;
    bool untimed = (from.flags | to.flags) & CU_EVENT_DISABLE_TIMING;
    if (!start || !end || untimed || from.device != to.device) return CUDA_ERROR_INVALID_HANDLE;
    if (!start->is_done() || !end->is_done()) return CUDA_ERROR_NOT_READY;
    *milliseconds = std::chrono::duration<float, std::milli>(end->at - start->at).count() / float(settings().clock);
    return CUDA_SUCCESS;
}

CUresult create_stream(CUstream *stream, unsigned flags, int priority) {
    return on_device("cuStreamCreate", [&](Device &device) {
        if (flags & ~unsigned(CU_STREAM_NON_BLOCKING)) return CUDA_ERROR_INVALID_VALUE;
        *stream = make_stream(device, flags, std::max(-5, std::min(0, priority)))->handle();
        return CUDA_SUCCESS;
    });
}

}  // namespace

extern "C" {

CUresult cuStreamCreate(CUstream *stream, unsigned flags) { return create_stream(stream, flags, 0); }

CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority) {
    return create_stream(stream, flags, priority);
}

// Handles can be given back on a lost device too.
CUresult cuStreamDestroy(CUstream stream) {
    return call(__func__, [&] { return end_stream(stream) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE; });
}

CUresult cuStreamSynchronize(CUstream handle) {
    return on_stream(__func__, handle, [&](Stream &stream) { return synchronise_stream(stream); });
}

CUresult cuStreamQuery(CUstream handle) {
    return on_stream(__func__, handle, [&](Stream &stream) {
        if (CUresult refused = refuse_while_captured(stream)) return refused;
        return stream.idle() ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
    });
}

CUresult cuStreamGetPriority(CUstream handle, int *priority) {
    return on_stream(__func__, handle, [&](Stream &s) { return *priority = s.priority, CUDA_SUCCESS; });
}

CUresult cuStreamGetFlags(CUstream handle, unsigned *flags) {
    return on_stream(__func__, handle, [&](Stream &s) { return *flags = s.flags, CUDA_SUCCESS; });
}

CUresult cuStreamGetCtx(CUstream handle, CUcontext *context) {
    return on_stream(__func__, handle, [&](Stream &s) { return *context = fake::handle(s.device), CUDA_SUCCESS; });
}

CUresult cuStreamWaitEvent(CUstream handle, CUevent awaited, unsigned) {
    return on_stream(__func__, handle, [&](Stream &stream) {
        auto event = find_event(awaited);
        return event ? wait(stream, *event) : CUDA_ERROR_INVALID_HANDLE;
    });
}

CUresult cuLaunchHostFunc(CUstream handle, CUhostFn function, void *data) {
    return on_stream(__func__, handle, [&](Stream &stream) {
        Work work;
        work.name = "host function";
        work.run = [function, data] { function(data); };
        return submit(stream, std::move(work));
    });
}

CUresult cuEventCreate(CUevent *event, unsigned flags) {
    return on_device(__func__, [&](Device &device) { return *event = make_event(device, flags), CUDA_SUCCESS; });
}

CUresult cuEventDestroy(CUevent event) {
    return call(__func__, [&] { return end_event(event) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE; });
}

CUresult cuEventRecord(CUevent recorded, CUstream handle) {
    return on_stream(__func__, handle, [&](Stream &stream) {
        auto event = find_event(recorded);
        return event ? record(stream, *event) : CUDA_ERROR_INVALID_HANDLE;
    });
}

CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned) { return cuEventRecord(event, stream); }

CUresult cuEventSynchronize(CUevent handle) {
    return on_event(__func__, handle, [&](Event &event) { return synchronise_event(event); });
}

CUresult cuEventQuery(CUevent handle) {
    return on_event(__func__, handle, [&](Event &event) { return query_event(event); });
}

CUresult cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end) {
    return on_event(__func__, start, [&](Event &from) {
        auto to = find_event(end);
        return to ? elapsed(milliseconds, from, *to) : CUDA_ERROR_INVALID_HANDLE;
    });
}

#undef cuEventElapsedTime
CUresult cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end) {
    return cuEventElapsedTime_v2(milliseconds, start, end);
}

}  // extern "C"
