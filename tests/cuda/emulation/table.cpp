// The kernels of `src/runtime/compute/cuda/kernels`, compiled for the CPU, and their table.
#include "table.h"

#include <cstring>

#include "simt.h"

#include "../../../src/runtime/compute/cuda/kernels/kernels.cu"

namespace {

template <typename Params, void (*KERNEL)(Params), bool BARRIERS>
void run(const void *params, Dim grid, Dim block, unsigned) {
    Params p;
    std::memcpy(&p, params, sizeof p);
    simt::run_grid(grid, block, BARRIERS, [&p] { KERNEL(p); });
}

template <typename Params, void (*KERNEL)(Params), bool BARRIERS = false>
constexpr KernelEntry entry(const char *name) {
    return {name, sizeof(Params), run<Params, KERNEL, BARRIERS>};
}

#define ENTRIES(SUFFIX)                                                         \
    entry<divisi::Place, place_##SUFFIX>("place_" #SUFFIX),                     \
    entry<divisi::Enter, enter_##SUFFIX>("enter_" #SUFFIX),                     \
    entry<divisi::Pointwise, pointwise_##SUFFIX>("pointwise_" #SUFFIX),         \
    entry<divisi::Pooling, max_pool_##SUFFIX>("max_pool_" #SUFFIX),             \
    entry<divisi::Pooling, mean_pool_##SUFFIX>("mean_pool_" #SUFFIX),           \
    entry<divisi::Regions, regions_##SUFFIX, true>("regions_" #SUFFIX),         \
    entry<divisi::Resize, resize_##SUFFIX>("resize_" #SUFFIX),                  \
    entry<divisi::Grouped, depthwise_##SUFFIX>("depthwise_" #SUFFIX),           \
    entry<divisi::Grouped, grouped_##SUFFIX>("grouped_" #SUFFIX),               \
    entry<divisi::Gather, gather_##SUFFIX>("gather_" #SUFFIX),                  \
    entry<divisi::Flatten, flatten_##SUFFIX>("flatten_" #SUFFIX),               \
    entry<divisi::Paired, paired_##SUFFIX>("paired_" #SUFFIX),                  \
    entry<divisi::Shuffle, shuffle_##SUFFIX>("shuffle_" #SUFFIX),               \
    entry<divisi::ResponseNorm, response_norm_##SUFFIX>("response_norm_" #SUFFIX), \
    entry<divisi::LayerNorm, layer_norm_##SUFFIX, true>("layer_norm_" #SUFFIX), \
    entry<divisi::Softmax, softmax_##SUFFIX, true>("softmax_" #SUFFIX),         \
    entry<divisi::Softmax, softmax_answer_##SUFFIX, true>("softmax_answer_" #SUFFIX), \
    entry<divisi::Map, map_##SUFFIX>("map_" #SUFFIX),                           \
    entry<divisi::Reduce, reduce_##SUFFIX, true>("reduce_" #SUFFIX),            \
    entry<divisi::Scan, scan_##SUFFIX>("scan_" #SUFFIX),                        \
    entry<divisi::Lookup, lookup_##SUFFIX>("lookup_" #SUFFIX),                  \
    entry<divisi::MatrixProduct, product_##SUFFIX, true>("product_" #SUFFIX),   \
    entry<divisi::Attention, attention_##SUFFIX, true>("attention_" #SUFFIX),   \
    entry<divisi::Answer, answer_##SUFFIX>("answer_" #SUFFIX)

const KernelEntry TABLE[] = {ENTRIES(f32), ENTRIES(bf16), ENTRIES(f16)};

}  // namespace

extern "C" const KernelEntry *divisi_kernels(size_t *count) {
    *count = sizeof TABLE / sizeof *TABLE;
    return TABLE;
}
