// The fake driver against what the real one promises, and its libraries against plain loops.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

namespace {

void use_device() {
    OK(cuInit(0));
    CUdevice device;
    CUcontext context;
    OK(cuDeviceGet(&device, 0));
    OK(cuDevicePrimaryCtxRetain(&context, device));
    OK(cuCtxSetCurrent(context));
}

// In a process of its own, with settings of its own.
int apart(const char *setting, const std::function<void()> &body) {
    std::fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        if (!getenv("SELFTEST_LOUD") && !std::freopen("/dev/null", "w", stderr)) _exit(2);
        alarm(60);
        if (setting) putenv(const_cast<char *>(setting));
        use_device();
        body();
        std::fflush(stdout);
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return status;
}

struct Test {
    const char *name;
    const char *setting;
    void (*run)();
};

const Test tests[] = {
    {"streams and events", nullptr, test_streams},
    {"memory and pools", "FAKE_CUDA_MEMORY=256M", test_memory},
    {"capture and graphs", nullptr, test_capture},
    {"products", nullptr, test_products},
    {"convolutions", nullptr, test_convolutions},
    {"kernels", nullptr, test_kernels},
    {"failures", "FAKE_CUDA_FAIL=copy:3", test_failures},
};

}  // namespace

namespace {

bool passes(const Test &test) {
    int status = apart(test.setting, test.run);
    std::printf("%-24s %s\n", test.name, status == 0 ? "ok" : "FAILED");
    return status == 0;
}

bool is_caught(const Misuse &misuse) {
    int status = apart(nullptr, misuse.run);
    bool caught = WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
    std::printf("%-24s %s\n", misuse.name, caught ? "caught" : "NOT CAUGHT");
    return caught;
}

}  // namespace

// This process never touches the driver: what it forks starts afresh.
int main(int argc, char **argv) {
    bool good = true;
    auto wanted = [&](const char *name) { return argc < 2 || std::strstr(name, argv[1]); };
    for (const Test &test : tests) {
        if (wanted(test.name)) good &= passes(test);
    }
    for (const Misuse *misuse = misuses; misuse->name; misuse++) {
        if (wanted(misuse->name)) good &= is_caught(*misuse);
    }
    return good ? 0 : 1;
}
