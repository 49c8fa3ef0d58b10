// The trace of calls, and loud ends.
#pragma once
#include <cstdint>
#include <string>

namespace fake {

// One line in the trace, where one is wanted.
void trace(const char *format, ...) __attribute__((format(printf, 1, 2)));
bool tracing();

// A warning on standard error and in the trace.
void warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

// Says what was done wrong and ends the process.
[[noreturn]] void die(const char *format, ...) __attribute__((format(printf, 1, 2)));

// The work that threads of streams are at, for reports of faults.
class Running {
  public:
    explicit Running(const char *name);
    ~Running();

  private:
    int slot;
};

// The names of all work that is going on, without locks or allocation.
void list_running(char *to, size_t bytes);

}  // namespace fake
