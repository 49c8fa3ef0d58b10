// NVML: what is told of the fake devices. They are numbered as they are, visible or not.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "core/device.h"
#include "core/settings.h"
#include "core/stream.h"

namespace {

enum Status {
    SUCCESS = 0, UNINITIALIZED = 1, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6,
    INSUFFICIENT_SIZE = 7, GPU_IS_LOST = 15, ARGUMENT_VERSION_MISMATCH = 25
};

struct Memory { unsigned long long total, free, used; };
struct MemoryV2 { unsigned version; unsigned long long total, reserved, free, used; };
struct Utilization { unsigned gpu, memory; };
struct Process { unsigned pid; unsigned long long used; unsigned gpu_instance, compute_instance; };
struct Pci {
    char bus_id_legacy[16];
    unsigned domain, bus, device, id, subsystem;
    char bus_id[32];
};

int initialised = 0;

// A handle is the physical number, plus one.
void *handle(int physical) { return reinterpret_cast<void *>(intptr_t(physical) + 1); }
int physical(void *device) { return int(reinterpret_cast<intptr_t>(device)) - 1; }

// The driver's device, where this process sees it.
fake::Device *seen(void *handle) {
    for (fake::Device *device : fake::devices()) {
        if (device->physical == physical(handle)) return device;
    }
    return nullptr;
}

int check(void *device) {
    if (!initialised) return UNINITIALIZED;
    if (physical(device) < 0 || physical(device) >= fake::settings().physical) return INVALID_ARGUMENT;
    fake::Device *known = seen(device);
    return known && known->retained > 0 && fake::refusal(*known) ? GPU_IS_LOST : SUCCESS;
}

unsigned long long used(void *device) {
    fake::Device *known = seen(device);
    return known ? fake::taken(*known) : fake::settings().others;
}

bool busy(void *device) {
    fake::Device *known = seen(device);
    if (!known) return false;
    std::lock_guard<std::mutex> lock(known->streams_mutex);
    for (auto &stream : known->streams) {
        if (!stream->idle()) return true;
    }
    return false;
}

std::string bus_id(int number, const char *format) {
    char text[32];
    std::snprintf(text, sizeof text, format, number + 1);
    return text;
}

int number_from(const char *name, double otherwise) {
    const char *value = std::getenv(name);
    return int(value ? std::atof(value) : otherwise);
}

int put(char *to, unsigned length, const std::string &text) {
    if (text.size() + 1 > length) return INSUFFICIENT_SIZE;
    std::memcpy(to, text.c_str(), text.size() + 1);
    return SUCCESS;
}

std::string uuid(int number) {
    char text[64];
    std::snprintf(text, sizeof text, "GPU-66616b65-2067-7075-0000-0000000000%02x", number);
    return text;
}

// Another process where memory is taken by one, and this one where it has a context.
int processes(void *device, unsigned *count, Process *to) {
    Process found[2];
    unsigned number = 0;
    fake::Device *known = seen(device);
    size_t others = fake::settings().others;
    if (others) found[number++] = {1, others, ~0u, ~0u};
    if (known && known->retained > 0) {
        found[number++] = {unsigned(getpid()), fake::taken(*known) - others, ~0u, ~0u};
    }
    unsigned room = to ? *count : 0;
    *count = number;
    if (number > room) return INSUFFICIENT_SIZE;
    std::memcpy(to, found, number * sizeof *found);
    return SUCCESS;
}

}  // namespace

extern "C" {

int nvmlInit_v2(void) { return initialised = 1, SUCCESS; }
int nvmlInitWithFlags(unsigned) { return nvmlInit_v2(); }
int nvmlShutdown(void) { return SUCCESS; }
const char *nvmlErrorString(int) { return "fake NVML"; }

int nvmlSystemGetDriverVersion(char *to, unsigned length) { return put(to, length, "580.95.05"); }
int nvmlSystemGetNVMLVersion(char *to, unsigned length) { return put(to, length, "13.580.95.05"); }
int nvmlSystemGetCudaDriverVersion_v2(int *version) {
    return *version = fake::settings().driver_version, SUCCESS;
}

int nvmlDeviceGetCount_v2(unsigned *count) {
    return *count = unsigned(fake::settings().physical), initialised ? SUCCESS : UNINITIALIZED;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) {
    if (int(index) >= fake::settings().physical) return INVALID_ARGUMENT;
    return *device = handle(int(index)), SUCCESS;
}

// Domains are written with four or eight digits.
int nvmlDeviceGetHandleByPciBusId_v2(const char *id, void **device) {
    unsigned domain = 1, bus = 0, slot = 0;
    int read = std::sscanf(id, "%x:%x:%x", &domain, &bus, &slot);
    if (read != 3 || domain || slot || bus < 1 || int(bus) > fake::settings().physical) return NOT_FOUND;
    return *device = handle(int(bus) - 1), SUCCESS;
}

int nvmlDeviceGetHandleByUUID(const char *id, void **device) {
    for (int i = 0; i < fake::settings().physical; i++) {
        if (uuid(i) == id) return *device = handle(i), SUCCESS;
    }
    return NOT_FOUND;
}

int nvmlDeviceGetIndex(void *device, unsigned *index) {
    return *index = unsigned(physical(device)), check(device);
}

int nvmlDeviceGetName(void *device, char *to, unsigned length) {
    int wrong = check(device);
    return wrong ? wrong : put(to, length, "Fake GPU");
}

int nvmlDeviceGetUUID(void *device, char *to, unsigned length) {
    int wrong = check(device);
    return wrong ? wrong : put(to, length, uuid(physical(device)));
}

int nvmlDeviceGetPciInfo_v3(void *device, Pci *to) {
    *to = {};
    to->bus = unsigned(physical(device)) + 1;
    put(to->bus_id_legacy, sizeof to->bus_id_legacy, bus_id(physical(device), "0000:%02X:00.0"));
    put(to->bus_id, sizeof to->bus_id, bus_id(physical(device), "00000000:%02X:00.0"));
    return check(device);
}

int nvmlDeviceGetMemoryInfo(void *device, Memory *to) {
    size_t total = fake::settings().memory;
    *to = {total, total - used(device), used(device)};
    return check(device);
}

int nvmlDeviceGetMemoryInfo_v2(void *device, MemoryV2 *to) {
    if (to->version != (sizeof(MemoryV2) | 2u << 24)) return ARGUMENT_VERSION_MISMATCH;
    size_t total = fake::settings().memory;
    *to = {to->version, total, 0, total - used(device), used(device)};
    return check(device);
}

int nvmlDeviceGetUtilizationRates(void *device, Utilization *to) {
    *to = {busy(device) ? 100u : 0u, busy(device) ? 10u : 0u};
    return check(device);
}

int nvmlDeviceGetTemperature(void *device, int, unsigned *to) {
    return *to = unsigned(number_from("FAKE_NVML_TEMPERATURE", 41)), check(device);
}

int nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts) {
    return *milliwatts = unsigned(number_from("FAKE_NVML_POWER", 70500)), check(device);
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count, Process *to) {
    int wrong = check(device);
    return wrong ? wrong : processes(device, count, to);
}

int nvmlDeviceGetComputeRunningProcesses_v2(void *device, unsigned *count, Process *to) {
    return nvmlDeviceGetComputeRunningProcesses_v3(device, count, to);
}

int nvmlDeviceGetCudaComputeCapability(void *device, int *major, int *minor) {
    return *major = 9, *minor = 0, check(device);
}

}  // extern "C"
