#include "../../../../src/runtime/compute/cuda/kernels/params.h"
#include "check.h"

namespace {

// As much of PTX as the driver looks at.
const char *const ptx = ".version 8.0\n.target sm_80\n.visible .entry pointwise_f32(\n.param .b8 p[8])\n{}\n"
                        ".visible .entry not_ours(\n)\n{}\n";

CUfunction function(CUmodule module, const char *name) {
    CUfunction found;
    OK(cuModuleGetFunction(&found, module, name));
    return found;
}

CUresult launch(CUfunction function, void *params) {
    return cuLaunchKernel(function, 2, 1, 1, 256, 1, 1, 0, nullptr, &params, nullptr);
}

}  // namespace

// One of our kernels by its name in PTX; what PTX lacks is not found, and what was not
// compiled for the CPU cannot be launched.
void test_kernels() {
    CUmodule module;
    CUfunction missing;
    OK(cuModuleLoadData(&module, ptx));
    CHECK(cuModuleGetFunction(&missing, module, "softmax_f32") == CUDA_ERROR_NOT_FOUND);
    Array from(10), to(10);
    from.put({-2, -1, 0, 1, 2, 3, 4, 5, 6, 7});
    divisi::Pointwise p{};
    p.from = from.data(), p.to = to.data();
    p.from_pitch = p.to_pitch = 5, p.pixels = 2, p.channels = 5;
    p.tail.activation = divisi::RELU;
    OK(launch(function(module, "pointwise_f32"), &p));
    CHECK(close(to.get(), {0, 0, 0, 1, 2, 3, 4, 5, 6, 7}, 0));
    CHECK(launch(function(module, "not_ours"), &p) == CUDA_ERROR_NOT_SUPPORTED);
    CHECK(cuLaunchKernel(function(module, "pointwise_f32"), 1, 1, 1, 2048, 1, 1, 0, nullptr, nullptr, nullptr) == CUDA_ERROR_INVALID_VALUE);
}
