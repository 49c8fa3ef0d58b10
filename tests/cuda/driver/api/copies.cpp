// Copies and fills.
#include <chrono>
#include <cstring>

#include "../core/host.h"
#include "../core/settings.h"
#include "call.h"

using namespace fake;

namespace {

enum class Way { In, Out, Within };
using Staged = std::shared_ptr<std::vector<char>>;

// One copy at a time an engine, at its rate.
void take_time(Device &device, Way way, size_t bytes) {
    double rate = settings().copy_rate;
    if (rate <= 0 || way == Way::Within) return;
    std::lock_guard<std::mutex> engine(device.copy_engines[way == Way::In ? 0 : 1]);
    std::this_thread::sleep_for(std::chrono::duration<double>(double(bytes) / rate));
}

// The host's end of a copy must still be page-locked when the copy comes to run.
bool still_pinned(Device &device, const void *host, size_t bytes) {
    if (is_pinned(host, bytes)) return true;
    misuse(device, "page-locked memory of the host was freed while a copy was queued");
    return false;
}

Work copy_in(Device &device, CUdeviceptr to, const void *from, size_t bytes, Staged staged) {
    Work work;
    work.name = "copy in";
    work.kind = Kind::Copy;
    work.touches = {{to, bytes, "destination"}};
    work.run = [&device, to, from, bytes, staged] {
        if (!staged && !still_pinned(device, from, bytes)) return;
        take_time(device, Way::In, bytes);
        std::memcpy(reinterpret_cast<void *>(to), staged ? staged->data() : from, bytes);
    };
    return work;
}

// What is there before the copy is spoiled first, so that who reads too early sees NaN.
Work copy_out(Device &device, void *to, CUdeviceptr from, size_t bytes, bool pinned) {
    Work work;
    work.name = "copy out";
    work.kind = Kind::Copy;
    work.touches = {{from, bytes, "source"}};
    work.run = [&device, to, from, bytes, pinned] {
        if (pinned && !still_pinned(device, to, bytes)) return;
        std::memset(to, 0xFF, bytes);
        take_time(device, Way::Out, bytes);
        std::memcpy(to, reinterpret_cast<void *>(from), bytes);
    };
    return work;
}

Work copy_within(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    Work work;
    work.name = "copy within";
    work.kind = Kind::Copy;
    work.touches = {{from, bytes, "source"}, {to, bytes, "destination"}};
    work.run = [to, from, bytes] {
        std::memmove(reinterpret_cast<void *>(to), reinterpret_cast<void *>(from), bytes);
    };
    return work;
}

bool known(CUdeviceptr address) {
    Block block;
    return block_around(address, block);
}

Staged stage(const void *from, size_t bytes) {
    auto *first = static_cast<const char *>(from);
    return std::make_shared<std::vector<char>>(first, first + bytes);
}

CUresult in_async(Stream &stream, CUdeviceptr to, const void *from, size_t bytes) {
    if (bytes == 0) return CUDA_SUCCESS;
    if (!known(to)) return CUDA_ERROR_INVALID_VALUE;
    if (is_pinned(from, bytes)) return submit(stream, copy_in(*stream.device, to, from, bytes, nullptr));
    if (CUresult refused = refuse_while_captured(stream)) return refused;
    return submit(stream, copy_in(*stream.device, to, from, bytes, stage(from, bytes)));
}

CUresult out_async(Stream &stream, void *to, CUdeviceptr from, size_t bytes) {
    if (bytes == 0) return CUDA_SUCCESS;
    if (!known(from)) return CUDA_ERROR_INVALID_VALUE;
    bool pinned = is_pinned(to, bytes);
    if (!pinned) {
        if (CUresult refused = refuse_while_captured(stream)) return refused;
    }
    CUresult result = submit(stream, copy_out(*stream.device, to, from, bytes, pinned));
    return result || pinned ? result : synchronise_stream(stream);
}

CUresult within_async(Stream &stream, CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    if (bytes == 0) return CUDA_SUCCESS;
    if (!known(to) || !known(from)) return CUDA_ERROR_INVALID_VALUE;
    return submit(stream, copy_within(to, from, bytes));
}

template <class T> Work fill(CUdeviceptr to, T value, size_t count) {
    Work work;
    work.name = "fill";
    work.touches = {{to, count * sizeof(T), "destination"}};
    work.run = [to, value, count] {
        auto *first = reinterpret_cast<T *>(to);
        std::fill(first, first + count, value);
    };
    return work;
}

template <class T> CUresult fill_async(Stream &stream, CUdeviceptr to, T value, size_t count) {
    if (count == 0) return CUDA_SUCCESS;
    if (!known(to) || to % sizeof(T)) return CUDA_ERROR_INVALID_VALUE;
    return submit(stream, fill(to, value, count));
}

// Something on the default stream, waited for.
template <class Body> CUresult at_once(const char *name, Body body) {
    return on_device(name, [&](Device &) -> CUresult {
        if (CUresult refused = forbidden_in_capture()) return refused;
        auto stream = find_stream(nullptr);
        CUresult result = body(*stream);
        return result ? result : synchronise_stream(*stream);
    });
}

void *host(CUdeviceptr address) { return reinterpret_cast<void *>(address); }

// Which way a copy goes is seen by the addresses.
CUresult any_async(Stream &stream, CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    bool to_device = is_device_address(to), from_device = is_device_address(from);
    if (to_device && from_device) return within_async(stream, to, from, bytes);
    if (to_device) return in_async(stream, to, host(from), bytes);
    if (from_device) return out_async(stream, host(to), from, bytes);
    return CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

extern "C" {

CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t bytes, CUstream handle) {
    return on_stream(__func__, handle, [&](Stream &s) { return in_async(s, to, from, bytes); });
}

CUresult cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t bytes, CUstream handle) {
    return on_stream(__func__, handle, [&](Stream &s) { return out_async(s, to, from, bytes); });
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream handle) {
    return on_stream(__func__, handle, [&](Stream &s) { return within_async(s, to, from, bytes); });
}

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream handle) {
    return on_stream(__func__, handle, [&](Stream &s) { return any_async(s, to, from, bytes); });
}

CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext, CUdeviceptr from, CUcontext, size_t bytes,
                           CUstream handle) {
    return on_stream(__func__, handle, [&](Stream &s) { return within_async(s, to, from, bytes); });
}

CUresult cuMemcpyHtoD(CUdeviceptr to, const void *from, size_t bytes) {
    return at_once(__func__, [&](Stream &s) { return in_async(s, to, from, bytes); });
}

CUresult cuMemcpyDtoH(void *to, CUdeviceptr from, size_t bytes) {
    return at_once(__func__, [&](Stream &s) { return out_async(s, to, from, bytes); });
}

CUresult cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    return at_once(__func__, [&](Stream &s) { return within_async(s, to, from, bytes); });
}

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    return at_once(__func__, [&](Stream &s) { return any_async(s, to, from, bytes); });
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream handle) {
    return on_stream(__func__, handle, [&](Stream &s) { return fill_async(s, to, value, count); });
}

CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, CUstream handle) {
    return on_stream(__func__, handle, [&](Stream &s) { return fill_async(s, to, value, count); });
}

CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream handle) {
    return on_stream(__func__, handle, [&](Stream &s) { return fill_async(s, to, value, count); });
}

CUresult cuMemsetD8(CUdeviceptr to, unsigned char value, size_t count) {
    return at_once(__func__, [&](Stream &s) { return fill_async(s, to, value, count); });
}

CUresult cuMemsetD32(CUdeviceptr to, unsigned value, size_t count) {
    return at_once(__func__, [&](Stream &s) { return fill_async(s, to, value, count); });
}

}  // extern "C"
