#include "report.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "settings.h"

namespace fake {
namespace {

constexpr int SLOTS = 256;
std::atomic<const char *> running[SLOTS];

FILE *open_trace() {
    const std::string &path = settings().trace_path;
    if (path.empty()) return nullptr;
    FILE *file = std::fopen(path.c_str(), "a");
    if (file) setvbuf(file, nullptr, _IOLBF, 1 << 16);
    return file;
}

FILE *trace_file() {
    static FILE *file = open_trace();
    return file;
}

void write_trace(const char *format, va_list arguments) {
    if (!trace_file()) return;
    auto now = std::chrono::steady_clock::now().time_since_epoch();
    char line[1024];
    std::vsnprintf(line, sizeof line, format, arguments);
    double at = std::chrono::duration<double>(now).count();
    std::fprintf(trace_file(), "%.6f %ld %s\n", at, syscall(SYS_gettid), line);
}

}  // namespace

bool tracing() { return trace_file() != nullptr; }

void trace(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    write_trace(format, arguments);
    va_end(arguments);
}

void warn(const char *format, ...) {
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    std::fprintf(stderr, "fake CUDA: %s\n", line);
    trace("WARNING %s", line);
}

void die(const char *format, ...) {
    char line[2048];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    std::fprintf(stderr, "fake CUDA: MISUSE: %s\n", line);
    trace("MISUSE %s", line);
    std::abort();
}

Running::Running(const char *name) : slot(-1) {
    for (int i = 0; i < SLOTS; i++) {
        const char *nobody = nullptr;
        if (running[i].compare_exchange_strong(nobody, name)) {
            slot = i;
            return;
        }
    }
}

Running::~Running() {
    if (slot >= 0) running[slot].store(nullptr);
}

void list_running(char *to, size_t bytes) {
    to[0] = 0;
    for (auto &slot : running) {
        const char *name = slot.load();
        if (!name) continue;
        if (to[0]) std::strncat(to, ", ", bytes - std::strlen(to) - 1);
        std::strncat(to, name, bytes - std::strlen(to) - 1);
    }
    if (!to[0]) std::strncat(to, "nothing", bytes - 1);
}

}  // namespace fake
