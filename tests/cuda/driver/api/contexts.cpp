// The primary context of each device; others are not offered.
#include "../core/settings.h"
#include "call.h"

using namespace fake;

namespace {

CUresult retain(Device &device) {
    std::lock_guard<std::mutex> lock(device.retaining);
    if (CUresult refused = refusal(device)) return refused;
    device.retained++;
    return CUDA_SUCCESS;
}

CUresult release(Device &device) {
    std::lock_guard<std::mutex> lock(device.retaining);
    if (device.retained == 0) return CUDA_ERROR_INVALID_CONTEXT;
    if (device.retained == 1) reset(device);
    device.retained--;
    return CUDA_SUCCESS;
}

thread_local std::vector<CUcontext> pushed;

}  // namespace

extern "C" {

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice number) {
    return call(__func__, [&]() -> CUresult {
        Device *device = device_at(number);
        if (!device) return CUDA_ERROR_INVALID_DEVICE;
        *context = handle(device);
        return retain(*device);
    });
}

CUresult cuDevicePrimaryCtxRelease(CUdevice number) {
    return call(__func__, [&]() -> CUresult {
        Device *device = device_at(number);
        return device ? release(*device) : CUDA_ERROR_INVALID_DEVICE;
    });
}

CUresult cuDevicePrimaryCtxReset(CUdevice number) {
    return call(__func__, [&]() -> CUresult {
        Device *device = device_at(number);
        if (!device) return CUDA_ERROR_INVALID_DEVICE;
        std::lock_guard<std::mutex> lock(device->retaining);
        reset(*device);
        return CUDA_SUCCESS;
    });
}

CUresult cuDevicePrimaryCtxGetState(CUdevice number, unsigned *flags, int *active) {
    return call(__func__, [&]() -> CUresult {
        Device *device = device_at(number);
        if (!device) return CUDA_ERROR_INVALID_DEVICE;
        *flags = 0;
        *active = device->retained > 0;
        return CUDA_SUCCESS;
    });
}

CUresult cuDevicePrimaryCtxSetFlags(CUdevice, unsigned) { return CUDA_SUCCESS; }

CUresult cuCtxCreate(CUcontext *, CUctxCreateParams *, unsigned, CUdevice) {
    warn("cuCtxCreate: only primary contexts are offered");
    return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuCtxDestroy(CUcontext) { return CUDA_ERROR_NOT_SUPPORTED; }

CUresult cuCtxSetCurrent(CUcontext context) {
    return call(__func__, [&]() -> CUresult {
        if (!set_current(context)) return CUDA_ERROR_INVALID_CONTEXT;
        Device *device = current_device();
        return device ? refusal(*device) : CUDA_SUCCESS;
    });
}

CUresult cuCtxGetCurrent(CUcontext *context) {
    return call(__func__, [&] { return *context = current_context(), CUDA_SUCCESS; });
}

CUresult cuCtxPushCurrent(CUcontext context) {
    return call(__func__, [&]() -> CUresult {
        CUcontext before = current_context();
        if (!context || !set_current(context)) return CUDA_ERROR_INVALID_CONTEXT;
        pushed.push_back(before);
        return CUDA_SUCCESS;
    });
}

CUresult cuCtxPopCurrent(CUcontext *context) {
    return call(__func__, [&]() -> CUresult {
        if (!current_context()) return CUDA_ERROR_INVALID_CONTEXT;
        if (context) *context = current_context();
        set_current(pushed.empty() ? nullptr : pushed.back());
        if (!pushed.empty()) pushed.pop_back();
        return CUDA_SUCCESS;
    });
}

CUresult cuCtxGetDevice(CUdevice *number) {
    return on_device(__func__, [&](Device &device) { return *number = device.ordinal, CUDA_SUCCESS; });
}

CUresult cuCtxSynchronize(void) {
    return on_device(__func__, [&](Device &device) {
        CUresult refused = refuse_while_any_captured(device);
        return refused ? refused : synchronise_device(device);
    });
}

CUresult cuCtxSetFlags(unsigned) {
    return on_device(__func__, [&](Device &) { return CUDA_SUCCESS; });
}

CUresult cuCtxGetFlags(unsigned *flags) {
    return on_device(__func__, [&](Device &) { return *flags = 0, CUDA_SUCCESS; });
}

CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest) {
    return on_device(__func__, [&](Device &) {
        if (least) *least = 0;
        if (greatest) *greatest = -5;
        return CUDA_SUCCESS;
    });
}

CUresult cuCtxGetLimit(size_t *value, CUlimit) {
    return on_device(__func__, [&](Device &) { return *value = 1024, CUDA_SUCCESS; });
}

CUresult cuCtxSetLimit(CUlimit, size_t) {
    return on_device(__func__, [&](Device &) { return CUDA_SUCCESS; });
}

CUresult cuCtxGetCacheConfig(CUfunc_cache *config) {
    return on_device(__func__, [&](Device &) { return *config = CU_FUNC_CACHE_PREFER_NONE, CUDA_SUCCESS; });
}

CUresult cuCtxSetCacheConfig(CUfunc_cache) {
    return on_device(__func__, [&](Device &) { return CUDA_SUCCESS; });
}

CUresult cuCtxGetApiVersion(CUcontext, unsigned *version) {
    *version = 3020;
    return CUDA_SUCCESS;
}

}  // extern "C"
