// Divisi's own CUDA kernels compiled for the CPU, by name: what libdivisi_kernels.so exports.
#pragma once
#include <cstddef>

struct Dim {
    unsigned x, y, z;
};

struct KernelEntry {
    // As the function is called in the PTX: "pointwise_bf16".
    const char *name;
    // Of the one structure that the kernel takes by value.
    size_t params_bytes;
    // Runs the whole grid and returns when it is done. Callable from several threads at once.
    void (*run)(const void *params, Dim grid, Dim block, unsigned shared_bytes);
};

// All of them, `*count` of them; the table lives as long as the library.
extern "C" const KernelEntry *divisi_kernels(size_t *count);
