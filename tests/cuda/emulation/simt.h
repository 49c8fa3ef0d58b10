// Lets a plain C++ compiler take Divisi's CUDA kernels: the words of the language, and the
// few functions of the device that they use.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cmath>
#include <cstring>

#include "cores.h"
#include "fibers.h"

// The toolkit's headers define these for compilers that know no CUDA, as attributes.
#undef __global__
#undef __device__
#undef __shared__
#undef __launch_bounds__
#undef __grid_constant__
#undef __noinline__
#define __global__
#define __device__
// A block runs on one thread of the processor.
#define __shared__ static thread_local
#define __launch_bounds__(...)
#define __noinline__
#define __grid_constant__

// What a kernel reads of these is where the running thread's are.
#define threadIdx (simt::here.thread)
#define blockIdx (simt::here.block)
#define blockDim (simt::here.block_size)
#define gridDim (simt::here.grid)

inline void __syncthreads() { simt::barrier(); }

inline void __syncwarp() { simt::exchange(0.0f, simt::here.thread.x); }

inline float __shfl_xor_sync(unsigned, float value, int apart) {
    return simt::exchange(value, simt::here.thread.x ^ unsigned(apart));
}

template <typename T> inline T __ldg(const T *from) { return *from; }

// Not contracted with what follows.
inline float opaque(float value) {
    asm volatile("" : "+x"(value));
    return value;
}
inline float __fmul_rn(float a, float b) { return opaque(a * b); }
inline float __fsub_rn(float a, float b) { return opaque(a - b); }
inline float __fdiv_rn(float a, float b) { return opaque(a / b); }

inline unsigned __float_as_uint(float value) {
    unsigned bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}
