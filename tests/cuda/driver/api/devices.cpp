// Devices and what is known of them.
#include <atomic>
#include <cstdio>
#include <cstring>
#include <map>

#include "../core/settings.h"
#include "call.h"

using namespace fake;

namespace fake {
namespace {
std::atomic<bool> ready{false};

const std::map<int, int> &attributes() {
    static const auto *values = new std::map<int, int>{
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 2147483647},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 49152},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 232448},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 233472},
        {CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, 65536},
        {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
        {CU_DEVICE_ATTRIBUTE_MAX_PITCH, 2147483647},
        {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 65536},
        {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536},
        {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1000000},
        {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 1000000},
        {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 1024},
        {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 8 << 20},
        {CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, 512},
        {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 8},
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 32},
        {CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1},
        {CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 1},
        {CU_DEVICE_ATTRIBUTE_ECC_ENABLED, 1},
        {CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 2},
        {CU_DEVICE_ATTRIBUTE_GPU_OVERLAP, 1},
        {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0},
        {CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, 1},
        {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1},
        {CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 1},
        {CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, 0},
        {CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, 0},
    };
    return *values;
}

template <class Body> CUresult about(const char *name, CUdevice number, Body body) {
    return call(name, [&]() -> CUresult {
        Device *device = device_at(number);
        return device ? body(*device) : CUDA_ERROR_INVALID_DEVICE;
    });
}

void uuid_of(const Device &device, CUuuid *to) {
    std::memset(to->bytes, 0, sizeof to->bytes);
    std::memcpy(to->bytes, "fake gpu", 8);
    to->bytes[15] = char(device.physical);
}

}  // namespace

bool initialised() { return ready; }

}  // namespace fake

extern "C" {

CUresult cuInit(unsigned flags) {
    if (flags) return traced(__func__, CUDA_ERROR_INVALID_VALUE);
    ready = true;
    return traced(__func__, devices().empty() ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS);
}

CUresult cuDriverGetVersion(int *version) {
    *version = settings().driver_version;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count) {
    return call(__func__, [&] { return *count = int(devices().size()), CUDA_SUCCESS; });
}

CUresult cuDeviceGet(CUdevice *device, int ordinal) {
    return about(__func__, ordinal, [&](Device &) { return *device = ordinal, CUDA_SUCCESS; });
}

CUresult cuDeviceGetName(char *name, int length, CUdevice number) {
    return about(__func__, number, [&](Device &) {
        std::snprintf(name, size_t(length), "Fake GPU");
        return CUDA_SUCCESS;
    });
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice number) {
    return about(__func__, number, [&](Device &device) {
        auto found = attributes().find(attribute);
        *value = found == attributes().end() ? 0 : found->second;
        if (attribute == CU_DEVICE_ATTRIBUTE_PCI_BUS_ID) *value = device.physical + 1;
        return CUDA_SUCCESS;
    });
}

CUresult cuDeviceTotalMem(size_t *bytes, CUdevice number) {
    return about(__func__, number, [&](Device &) { return *bytes = settings().memory, CUDA_SUCCESS; });
}

CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice number) {
    return about(__func__, number, [&](Device &) { return *major = 9, *minor = 0, CUDA_SUCCESS; });
}

CUresult cuDeviceGetPCIBusId(char *to, int length, CUdevice number) {
    return about(__func__, number, [&](Device &device) {
        int needed = std::snprintf(to, size_t(length), "0000:%02X:00.0", device.physical + 1);
        return needed < length ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    });
}

CUresult cuDeviceGetUuid(CUuuid *to, CUdevice number) {
    return about(__func__, number, [&](Device &device) { return uuid_of(device, to), CUDA_SUCCESS; });
}

#undef cuDeviceGetUuid
CUresult cuDeviceGetUuid(CUuuid *to, CUdevice number) { return cuDeviceGetUuid_v2(to, number); }

CUresult cuDeviceCanAccessPeer(int *can, CUdevice, CUdevice) {
    *can = 0;
    return CUDA_SUCCESS;
}

}  // extern "C"
