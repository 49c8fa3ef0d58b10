// What every entry point does first and last.
#pragma once
#include "../core/capture.h"
#include "../core/device.h"
#include "../core/report.h"
#include "../core/stream.h"

namespace fake {

bool initialised();

inline CUresult traced(const char *name, CUresult result) {
    if (tracing()) trace("%s -> %d", name, result);
    return result;
}

// A call that needs no context.
template <class Body> CUresult call(const char *name, Body body) {
    if (!initialised()) return traced(name, CUDA_ERROR_NOT_INITIALIZED);
    return traced(name, body());
}

// A call about the device of this thread's context.
template <class Body> CUresult on_device(const char *name, Body body) {
    return call(name, [&]() -> CUresult {
        Device *device = current_device();
        if (!device) return CUDA_ERROR_INVALID_CONTEXT;
        if (CUresult refused = refusal(*device)) return refused;
        return body(*device);
    });
}

// A call about a stream; only the default streams need a context.
template <class Body> CUresult on_stream(const char *name, CUstream handle, Body body) {
    return call(name, [&]() -> CUresult {
        bool is_default = handle == nullptr || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD;
        if (is_default && !current_device()) return CUDA_ERROR_INVALID_CONTEXT;
        auto stream = find_stream(handle);
        if (!stream) {
            warn("%s: %p is no stream", name, (void *)handle);
            return CUDA_ERROR_INVALID_HANDLE;
        }
        if (CUresult refused = refusal(*stream->device)) return refused;
        return body(*stream);
    });
}

// A call about an event.
template <class Body> CUresult on_event(const char *name, CUevent handle, Body body) {
    return call(name, [&]() -> CUresult {
        auto event = find_event(handle);
        if (!event) {
            warn("%s: %p is no event", name, (void *)handle);
            return CUDA_ERROR_INVALID_HANDLE;
        }
        if (CUresult refused = refusal(*event->device)) return refused;
        return body(*event);
    });
}

}  // namespace fake
