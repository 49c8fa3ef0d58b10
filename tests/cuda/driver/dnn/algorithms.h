// Which algorithm can do what, and how much workspace it wants.
#pragma once
#include "descriptors.h"

namespace fake {

enum DnnAlgorithm { IMPLICIT_GEMM = 0, IMPLICIT_PRECOMP_GEMM, GEMM, DIRECT, FFT, FFT_TILING, WINOGRAD, WINOGRAD_NONFUSED, ALGORITHMS };

// A convolution as descriptors say it.
struct Described {
    const FilterDescriptor *filter;
    const ConvolutionDescriptor *how;
    Convolution convolution;
};

// Checks that descriptors go together; a status and its reason where they do not.
int describe(void *x, void *w, void *how, void *y, Described &to);
// The output's sizes; a status.
int output_sizes(void *x, void *w, void *how, int *sizes);
// A status: whether the algorithm is offered for it.
int offers(const Described &described, int algorithm);
size_t workspace_bytes(const Described &described, int algorithm);

}  // namespace fake
