// Numbers that cuBLAS and cuBLASLt share.
#pragma once
#include "../math/product.h"

namespace fake {

enum BlasStatus {
    BLAS_SUCCESS = 0,
    BLAS_NOT_INITIALIZED = 1,
    BLAS_ALLOC_FAILED = 3,
    BLAS_INVALID_VALUE = 7,
    BLAS_EXECUTION_FAILED = 13,
    BLAS_NOT_SUPPORTED = 15
};

enum BlasCompute { COMPUTE_32F = 68, COMPUTE_32F_PEDANTIC = 69, COMPUTE_FAST_16F = 74, COMPUTE_FAST_16BF = 75, COMPUTE_FAST_TF32 = 77 };

// CUDA's numbers of data types; false for those that are not offered.
inline bool blas_type(int number, Type &type) {
    switch (number) {
        case 0: type = Type::F32; return true;
        case 2: type = Type::F16; return true;
        case 14: type = Type::BF16; return true;
        default: return false;
    }
}

inline bool sums_in_float(int compute) {
    return compute == COMPUTE_32F || compute == COMPUTE_32F_PEDANTIC || compute == COMPUTE_FAST_16F ||
           compute == COMPUTE_FAST_16BF || compute == COMPUTE_FAST_TF32;
}

}  // namespace fake
