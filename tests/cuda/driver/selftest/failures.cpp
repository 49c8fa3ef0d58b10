#include "check.h"

// The third copy fails, some time after it was queued; from then on everything does, until
// the context is made anew.
void test_failures() {
    CUstream s;
    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    CUdeviceptr at;
    OK(cuMemAlloc(&at, 64));
    void *host;
    OK(cuMemHostAlloc(&host, 64, 0));
    for (int i = 0; i < 2; i++) OK(cuMemcpyHtoDAsync(at, host, 64, s));
    OK(cuStreamSynchronize(s));
    OK(cuMemcpyHtoDAsync(at, host, 64, s));
    CHECK(cuStreamSynchronize(s) == CUDA_ERROR_ILLEGAL_ADDRESS);
    CUevent event;
    CHECK(cuEventCreate(&event, 0) == CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK(cuMemcpyHtoDAsync(at, host, 64, s) == CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK(cuMemFree(at) == CUDA_ERROR_ILLEGAL_ADDRESS);
    OK(cuDevicePrimaryCtxRelease(0));
    CUcontext context;
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
    OK(cuMemAlloc(&at, 64));
    OK(cuMemFree(at));
}
