// Devices: what is booked of their memory, their pools, and whether they still work.
#pragma once
#include <cuda.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

namespace fake {

struct Stream;
struct Capture;
struct Device;

// A memory pool: what is allocated of it, and what it holds of the device.
struct Pool {
    Device *device = nullptr;
    uint64_t threshold = 0;
    int reuse[3] = {1, 1, 1};  // event dependencies, opportunistic, internal dependencies
    size_t used = 0, used_high = 0, reserved = 0, reserved_high = 0;
};

struct Device {
    int ordinal = 0, physical = 0;
    std::atomic<int> error{0};  // sticky: every call returns it
    std::atomic<int> retained{0};
    std::mutex retaining;       // making and ending the context, one at a time

    std::mutex ledger;          // guards what follows
    size_t direct = 0, in_graphs = 0;
    Pool default_pool;
    Pool *current_pool = nullptr;
    std::set<Pool *> pools;

    std::mutex streams_mutex;
    std::set<std::shared_ptr<Stream>> streams;
    std::shared_ptr<Stream> legacy;

    std::mutex copy_engines[2];  // in and out: one copy at a time each
};

std::vector<Device *> &devices();
Device *device_at(CUdevice number);

// The device of the context that is current in this thread.
Device *current_device();
CUcontext current_context();
bool set_current(CUcontext context);
inline CUcontext handle(Device *device) { return reinterpret_cast<CUcontext>(device); }
Device *device_of(CUcontext context);

// What a call on the device returns before it does anything: its sticky error, which may
// have come this moment.
CUresult refusal(Device &device);
// From now on everything fails.
void fail(Device &device, CUresult error, const char *why);
// Ends the process, or the device where FAKE_CUDA_CHECK=error.
void misuse(Device &device, const std::string &what);
// Counts operations of a kind ("launch", "copy", "alloc"); true for the one that is to fail.
bool fails_now(const char *kind);

// The ledger of memory. Bytes of the whole device that are taken:
size_t taken(Device &device);
bool book_direct(Device &device, size_t bytes);
void unbook_direct(Device &device, size_t bytes);
bool book_graph(Device &device, size_t bytes);
void unbook_graph(Device &device, size_t bytes);
bool book_pool(Pool &pool, size_t bytes);
void unbook_pool(Pool &pool, size_t bytes);
// What a synchronisation gives back.
void trim_pools(Device &device);
void trim_pool(Pool &pool, size_t keep);

// Everything of the context goes: streams, memory, the error.
void reset(Device &device);

}  // namespace fake
