#include "settings.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <thread>

namespace fake {
namespace {

std::string text(const char *name, const std::string &otherwise = "") {
    const char *value = std::getenv(name);
    return value ? value : otherwise;
}

// A number, with K, M or G (binary) behind it.
double number(const char *name, double otherwise) {
    const char *value = std::getenv(name);
    if (!value || !*value) return otherwise;
    char *end = nullptr;
    double found = std::strtod(value, &end);
    switch (end ? *end : 0) {
        case 'k': case 'K': return found * 1024;
        case 'm': case 'M': return found * 1024 * 1024;
        case 'g': case 'G': return found * 1024 * 1024 * 1024;
        default: return found;
    }
}

// CUDA_VISIBLE_DEVICES as the driver reads it: numbers up to the first that is none.
std::vector<int> visible(int count) {
    std::vector<int> found;
    const char *list = std::getenv("CUDA_VISIBLE_DEVICES");
    if (!list) {
        for (int i = 0; i < count; i++) found.push_back(i);
        return found;
    }
    std::stringstream parts(list);
    for (std::string part; std::getline(parts, part, ',');) {
        char *end = nullptr;
        long device = std::strtol(part.c_str(), &end, 10);
        if (part.empty() || *end || device < 0 || device >= count) break;
        found.push_back(int(device));
    }
    return found;
}

void read_failure(Settings &to) {
    std::string failure = text("FAKE_CUDA_FAIL");
    size_t colon = failure.find(':');
    if (colon == std::string::npos) return;
    to.fail_kind = failure.substr(0, colon);
    to.fail_at = std::strtoull(failure.c_str() + colon + 1, nullptr, 10);
}

Settings *read() {
    auto *to = new Settings;
    to->physical = int(number("FAKE_CUDA_DEVICES", 1));
    to->devices = visible(to->physical);
    to->others = size_t(number("FAKE_CUDA_OTHERS", 0));
    to->memory = size_t(number("FAKE_CUDA_MEMORY", double(8ull << 30)));
    size_t context = std::min<size_t>(256ull << 20, to->memory / 32);
    to->context_bytes = size_t(number("FAKE_CUDA_CONTEXT", double(context)));
    to->driver_version = int(number("FAKE_CUDA_DRIVER", 13000));
    read_failure(*to);
    to->lose_path = text("FAKE_CUDA_LOSE");
    to->trace_path = text("FAKE_CUDA_TRACE");
    to->kernels_path = text("FAKE_CUDA_KERNELS", own_directory() + "/libdivisi_kernels.so");
    to->copy_rate = number("FAKE_CUDA_COPY_RATE", 0);
    to->clock = std::max(1e-3, number("FAKE_CUDA_CLOCK", 1));
    to->jitter_us = unsigned(number("FAKE_CUDA_JITTER", 0));
    unsigned cores = std::max(1u, std::thread::hardware_concurrency());
    to->threads = unsigned(number("FAKE_CUDA_THREADS", std::min(4u, cores)));
    to->abort_on_misuse = text("FAKE_CUDA_CHECK", "abort") != "error";
    to->refuse = text("FAKE_CUDNN_REFUSE");
    to->tf32 = text("NVIDIA_TF32_OVERRIDE") != "0";
    return to;
}

}  // namespace

const Settings &settings() {
    static const Settings *found = read();
    return *found;
}

std::string own_directory() {
    Dl_info info;
    if (!dladdr(reinterpret_cast<void *>(&own_directory), &info) || !info.dli_fname) return ".";
    std::string path = info.dli_fname;
    size_t slash = path.rfind('/');
    return slash == std::string::npos ? "." : path.substr(0, slash);
}

}  // namespace fake
