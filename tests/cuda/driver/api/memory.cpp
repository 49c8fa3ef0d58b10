// Memory of devices and of the host, and pools.
#include "../core/host.h"
#include "../core/settings.h"
#include "call.h"

using namespace fake;

namespace {

Pool *pool_of(CUmemoryPool pool) { return reinterpret_cast<Pool *>(pool); }
CUmemoryPool handle_of(Pool *pool) { return reinterpret_cast<CUmemoryPool>(pool); }

void push(Stream &stream, const char *name, std::function<void()> run) {
    Work work;
    work.name = name;
    work.run = std::move(run);
    push_ordered(stream, std::move(work));
}

// Memory that was freed in streams, but not reached yet, may be what is lacking.
bool book_after_waiting(Pool &pool, size_t bytes) {
    if (book_pool(pool, bytes)) return true;
    synchronise_device(*pool.device);
    return book_pool(pool, bytes);
}

CUresult allocate_async(Stream &stream, Pool &pool, size_t bytes, CUdeviceptr *to) {
    *to = 0;
    if (bytes == 0) return CUDA_SUCCESS;
    bool taken = false;
    CUresult result = capture_alloc(stream, bytes, to, taken);
    if (taken || result) return result;
    if (fails_now("alloc") || !book_after_waiting(pool, bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
    uint64_t address = reserve_block(stream.device->ordinal, bytes, Origin::Pool, &pool);
    *to = address;
    push(stream, "allocate", [address] { open_block(address); });
    return CUDA_SUCCESS;
}

CUresult no_allocation(Device &device, const char *name, CUdeviceptr address) {
    char line[160];
    std::snprintf(line, sizeof line, "%s: %#llx is no living allocation (freed twice?)", name, address);
    misuse(device, line);
    return CUDA_ERROR_INVALID_VALUE;
}

void give_back(Device &device, const Block &block) {
    if (block.origin == Origin::Direct) unbook_direct(device, block.bytes);
    if (block.origin == Origin::Pool) unbook_pool(*static_cast<Pool *>(block.pool), block.bytes);
}

CUresult free_async(Stream &stream, CUdeviceptr address) {
    if (address == 0) return CUDA_SUCCESS;
    bool taken = false;
    CUresult result = capture_free(stream, address, taken);
    if (taken || result) return result;
    Block block;
    if (!block_at(address, block) || !queue_free(address)) {
        return no_allocation(*stream.device, "cuMemFreeAsync", address);
    }
    if (block.origin == Origin::Direct) return CUDA_ERROR_INVALID_VALUE;
    Device *device = stream.device;
    push(stream, "free", [device, block] {
        close_block(block.address);
        give_back(*device, block);
    });
    return CUDA_SUCCESS;
}

CUresult free_now(Device &device, CUdeviceptr address) {
    if (address == 0) return CUDA_SUCCESS;
    Block block;
    if (!block_at(address, block) || !queue_free(address)) return no_allocation(device, "cuMemFree", address);
    synchronise_device(device);
    close_block(address);
    give_back(device, block);
    return CUDA_SUCCESS;
}

CUresult allocate_now(Device &device, CUdeviceptr *to, size_t bytes) {
    if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    if (fails_now("alloc") || !book_direct(device, bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
    *to = reserve_block(device.ordinal, bytes, Origin::Direct, nullptr);
    open_block(*to);
    return CUDA_SUCCESS;
}

template <class Body> CUresult about_pool(const char *name, CUmemoryPool pool, Body body) {
    return call(name, [&]() -> CUresult {
        for (Device *device : devices()) {
            if (device->pools.count(pool_of(pool))) return body(*pool_of(pool));
        }
        return CUDA_ERROR_INVALID_VALUE;
    });
}

template <class Body> CUresult about_device(const char *name, CUdevice number, Body body) {
    return call(name, [&]() -> CUresult {
        Device *device = device_at(number);
        return device ? body(*device) : CUDA_ERROR_INVALID_DEVICE;
    });
}

CUresult set_attribute(Pool &pool, CUmemPool_attribute attribute, void *value) {
    std::lock_guard<std::mutex> lock(pool.device->ledger);
    switch (attribute) {
        case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
        case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
        case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
            pool.reuse[attribute - 1] = *static_cast<int *>(value);
            return CUDA_SUCCESS;
        case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
            pool.threshold = *static_cast<cuuint64_t *>(value);
            return CUDA_SUCCESS;
        case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
        case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
            if (*static_cast<cuuint64_t *>(value) != 0) return CUDA_ERROR_INVALID_VALUE;
            (attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH ? pool.used_high : pool.reserved_high) = 0;
            return CUDA_SUCCESS;
        default: return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult get_attribute(Pool &pool, CUmemPool_attribute attribute, void *value) {
    std::lock_guard<std::mutex> lock(pool.device->ledger);
    auto *wide = static_cast<cuuint64_t *>(value);
    switch (attribute) {
        case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
        case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
        case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
            *static_cast<int *>(value) = pool.reuse[attribute - 1];
            return CUDA_SUCCESS;
        case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD: *wide = pool.threshold; return CUDA_SUCCESS;
        case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT: *wide = pool.reserved; return CUDA_SUCCESS;
        case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH: *wide = pool.reserved_high; return CUDA_SUCCESS;
        case CU_MEMPOOL_ATTR_USED_MEM_CURRENT: *wide = pool.used; return CUDA_SUCCESS;
        case CU_MEMPOOL_ATTR_USED_MEM_HIGH: *wide = pool.used_high; return CUDA_SUCCESS;
        default: return CUDA_ERROR_INVALID_VALUE;
    }
}

}  // namespace

extern "C" {

CUresult cuMemGetInfo(size_t *free, size_t *total) {
    return on_device(__func__, [&](Device &device) {
        *total = settings().memory;
        *free = *total - std::min(*total, taken(device));
        return CUDA_SUCCESS;
    });
}

CUresult cuMemAlloc(CUdeviceptr *to, size_t bytes) {
    return on_device(__func__, [&](Device &device) {
        CUresult refused = forbidden_in_capture();
        return refused ? refused : allocate_now(device, to, bytes);
    });
}

CUresult cuMemFree(CUdeviceptr address) {
    return on_device(__func__, [&](Device &device) {
        CUresult refused = forbidden_in_capture();
        return refused ? refused : free_now(device, address);
    });
}

CUresult cuMemAllocAsync(CUdeviceptr *to, size_t bytes, CUstream handle) {
    return on_stream(__func__, handle, [&](Stream &stream) {
        return allocate_async(stream, *stream.device->current_pool, bytes, to);
    });
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *to, size_t bytes, CUmemoryPool pool, CUstream handle) {
    return on_stream(__func__, handle, [&](Stream &stream) {
        return allocate_async(stream, *pool_of(pool), bytes, to);
    });
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream handle) {
    return on_stream(__func__, handle, [&](Stream &stream) { return free_async(stream, address); });
}

CUresult cuMemHostAlloc(void **to, size_t bytes, unsigned) {
    return on_device(__func__, [&](Device &) -> CUresult {
        if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
        *to = allocate_pinned(bytes);
        return *to ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    });
}

CUresult cuMemAllocHost(void **to, size_t bytes) { return cuMemHostAlloc(to, bytes, 0); }

CUresult cuMemFreeHost(void *at) {
    return on_device(__func__, [&](Device &) {
        return free_pinned(at) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    });
}

CUresult cuMemHostRegister(void *at, size_t bytes, unsigned) {
    return on_device(__func__, [&](Device &) {
        return register_pinned(at, bytes) ? CUDA_SUCCESS : CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    });
}

CUresult cuMemHostUnregister(void *at) {
    return on_device(__func__, [&](Device &) {
        return unregister_pinned(at) ? CUDA_SUCCESS : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    });
}

CUresult cuMemGetAddressRange(CUdeviceptr *base, size_t *bytes, CUdeviceptr address) {
    return on_device(__func__, [&](Device &) -> CUresult {
        Block block;
        if (!block_around(address, block)) return CUDA_ERROR_NOT_FOUND;
        if (base) *base = block.address;
        if (bytes) *bytes = block.bytes;
        return CUDA_SUCCESS;
    });
}

CUresult cuPointerGetAttribute(void *value, CUpointer_attribute attribute, CUdeviceptr address) {
    return on_device(__func__, [&](Device &) -> CUresult {
        Block block;
        bool device = block_around(address, block);
        if (!device && !is_pinned(reinterpret_cast<void *>(address), 1)) return CUDA_ERROR_INVALID_VALUE;
        if (attribute == CU_POINTER_ATTRIBUTE_MEMORY_TYPE) {
            *static_cast<unsigned *>(value) = device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
            return CUDA_SUCCESS;
        }
        return CUDA_ERROR_NOT_SUPPORTED;
    });
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice number) {
    return about_device(__func__, number, [&](Device &device) {
        return *pool = handle_of(&device.default_pool), CUDA_SUCCESS;
    });
}

CUresult cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice number) {
    return about_device(__func__, number, [&](Device &device) {
        return *pool = handle_of(device.current_pool), CUDA_SUCCESS;
    });
}

CUresult cuDeviceSetMemPool(CUdevice number, CUmemoryPool pool) {
    return about_device(__func__, number, [&](Device &device) {
        if (!device.pools.count(pool_of(pool))) return CUDA_ERROR_INVALID_VALUE;
        device.current_pool = pool_of(pool);
        return CUDA_SUCCESS;
    });
}

CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *properties) {
    return about_device(__func__, properties->location.id, [&](Device &device) {
        auto *made = new Pool;
        made->device = &device;
        std::lock_guard<std::mutex> lock(device.ledger);
        device.pools.insert(made);
        *pool = handle_of(made);
        return CUDA_SUCCESS;
    });
}

// The pool stays in the ledger: what was allocated from it may still live.
CUresult cuMemPoolDestroy(CUmemoryPool pool) {
    return about_pool(__func__, pool, [&](Pool &found) {
        if (&found == &found.device->default_pool) return CUDA_ERROR_INVALID_VALUE;
        found.threshold = 0;
        trim_pool(found, 0);
        return CUDA_SUCCESS;
    });
}

CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t keep) {
    return about_pool(__func__, pool, [&](Pool &found) { return trim_pool(found, keep), CUDA_SUCCESS; });
}

CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value) {
    return about_pool(__func__, pool, [&](Pool &found) { return set_attribute(found, attribute, value); });
}

CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value) {
    return about_pool(__func__, pool, [&](Pool &found) { return get_attribute(found, attribute, value); });
}

}  // extern "C"
