#include "device.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <string>

#include "arena.h"
#include "report.h"
#include "settings.h"
#include "stream.h"

namespace fake {
namespace {

thread_local CUcontext current = nullptr;

std::vector<Device *> *make_devices() {
    auto *made = new std::vector<Device *>;
    for (int physical : settings().devices) {
        auto *device = new Device;
        device->ordinal = int(made->size());
        device->physical = physical;
        device->default_pool.device = device;
        device->current_pool = &device->default_pool;
        device->pools.insert(&device->default_pool);
        made->push_back(device);
    }
    return made;
}

// Whether the file that takes devices away is there, and means this one.
bool taken_away(const Device &device) {
    const std::string &path = settings().lose_path;
    struct stat found;
    if (path.empty() || stat(path.c_str(), &found) != 0) return false;
    std::ifstream file(path);
    bool any = false;
    for (int number; file >> number; any = true) {
        if (number == device.ordinal) return true;
    }
    return !any;
}

}  // namespace

std::vector<Device *> &devices() {
    static std::vector<Device *> *all = make_devices();
    return *all;
}

Device *device_at(CUdevice number) {
    return number >= 0 && size_t(number) < devices().size() ? devices()[number] : nullptr;
}

Device *device_of(CUcontext context) {
    for (Device *device : devices()) {
        if (handle(device) == context && device->retained > 0) return device;
    }
    return nullptr;
}

CUcontext current_context() { return current; }

Device *current_device() { return device_of(current); }

bool set_current(CUcontext context) {
    if (context && !device_of(context)) return false;
    current = context;
    return true;
}

CUresult refusal(Device &device) {
    if (!device.error && taken_away(device)) {
        fail(device, CUDA_ERROR_ILLEGAL_ADDRESS, "FAKE_CUDA_LOSE");
    }
    return CUresult(device.error.load());
}

void fail(Device &device, CUresult error, const char *why) {
    int none = 0;
    if (device.error.compare_exchange_strong(none, error)) {
        trace("device %d is lost: %s", device.ordinal, why);
    }
}

void misuse(Device &device, const std::string &what) {
    if (settings().abort_on_misuse) die("%s", what.c_str());
    warn("MISUSE: %s", what.c_str());
    fail(device, CUDA_ERROR_ILLEGAL_ADDRESS, "misuse");
}

bool fails_now(const char *kind) {
    static std::atomic<uint64_t> count{0};
    if (settings().fail_kind != kind) return false;
    return ++count == settings().fail_at;
}

void reset(Device &device) {
    fail(device, CUDA_ERROR_CONTEXT_IS_DESTROYED, "its context was released");
    end_streams(device);
    close_all(device.ordinal);
    std::lock_guard<std::mutex> lock(device.ledger);
    device.direct = device.in_graphs = 0;
    for (Pool *pool : device.pools) pool->used = pool->reserved = 0;
    device.error = 0;
}

}  // namespace fake
