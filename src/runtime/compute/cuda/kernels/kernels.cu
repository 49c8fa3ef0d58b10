// Divisi's own kernels, each for float32, bfloat16 and half: NAME_f32, NAME_bf16, NAME_f16.
//
// All take one structure of `params.h` by value and blocks of 256 threads, and go through
// their outputs in a grid-stride loop, so that any grid gives the same answer. Above each
// function stands how many threads (or blocks) have something to do.
// Sums are in float32. To be compiled without --use_fast_math: NaN, infinities and
// divisions are as on the CPU.
#include "attention_cores.cuh"
#include "depthwise.cuh"
#include "enter.cuh"
#include "flatten.cuh"
#include "gather.cuh"
#include "grouped.cuh"
#include "norms.cuh"
#include "paired.cuh"
#include "pointwise.cuh"
#include "pools.cuh"
#include "products.cuh"
#include "reduce.cuh"
#include "regions.cuh"
#include "resize.cuh"
#include "softmax.cuh"
#include "tensors.cuh"

#define KERNEL(NAME, PARAMS, BODY)                                                                \
    extern "C" __global__ void __launch_bounds__(256) NAME(const __grid_constant__ PARAMS p) { \
        BODY(p);                                                                                  \
    }

#define KERNELS(SUFFIX, T)                                                               \
    KERNEL(place_##SUFFIX, divisi::Place, divisi::place<T>)                              \
    KERNEL(enter_##SUFFIX, divisi::Enter, divisi::enter<T>)                              \
    KERNEL(pointwise_##SUFFIX, divisi::Pointwise, divisi::pointwise<T>)                  \
    KERNEL(max_pool_##SUFFIX, divisi::Pooling, (divisi::pool<T, divisi::Maximum>))       \
    KERNEL(mean_pool_##SUFFIX, divisi::Pooling, (divisi::pool<T, divisi::Mean>))         \
    KERNEL(regions_##SUFFIX, divisi::Regions, divisi::regions<T>)                        \
    KERNEL(resize_##SUFFIX, divisi::Resize, divisi::resize<T>)                           \
    KERNEL(depthwise_##SUFFIX, divisi::Grouped, divisi::depthwise<T>)                    \
    KERNEL(grouped_##SUFFIX, divisi::Grouped, divisi::grouped<T>)                        \
    KERNEL(gather_##SUFFIX, divisi::Gather, divisi::gather<T>)                           \
    KERNEL(flatten_##SUFFIX, divisi::Flatten, divisi::flatten<T>)                        \
    KERNEL(paired_##SUFFIX, divisi::Paired, divisi::paired<T>)                           \
    KERNEL(shuffle_##SUFFIX, divisi::Shuffle, divisi::shuffle<T>)                        \
    KERNEL(response_norm_##SUFFIX, divisi::ResponseNorm, divisi::response_norm<T>)       \
    KERNEL(layer_norm_##SUFFIX, divisi::LayerNorm, divisi::layer_norm<T>)                \
    KERNEL(softmax_##SUFFIX, divisi::Softmax, (divisi::softmax<T, T>))                   \
    KERNEL(softmax_answer_##SUFFIX, divisi::Softmax, (divisi::softmax<T, float>))        \
    KERNEL(map_##SUFFIX, divisi::Map, divisi::map<T>)                                    \
    KERNEL(reduce_##SUFFIX, divisi::Reduce, divisi::reduce<T>)                           \
    KERNEL(scan_##SUFFIX, divisi::Scan, divisi::scan<T>)                                 \
    KERNEL(lookup_##SUFFIX, divisi::Lookup, divisi::lookup<T>)                           \
    KERNEL(product_##SUFFIX, divisi::MatrixProduct, divisi::product<T>)                  \
    KERNEL(attention_##SUFFIX, divisi::Attention, divisi::attention<T>)                  \
    KERNEL(answer_##SUFFIX, divisi::Answer, divisi::answer<T>)

KERNELS(f32, float)
KERNELS(bf16, __nv_bfloat16)
KERNELS(f16, __half)

#undef KERNELS
#undef KERNEL
