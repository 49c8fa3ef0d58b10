// Values as they lie in memory and as float32, alone and in packs of several.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cmath>
#include <cstdint>

namespace divisi {

__device__ inline float widen(float value) { return value; }
__device__ inline float widen(__nv_bfloat16 value) { return __bfloat162float(value); }
__device__ inline float widen(__half value) { return __half2float(value); }

// Two at a time, since one instruction rounds a pair.
__device__ inline void narrow(float a, float b, __nv_bfloat16 *to) {
    const __nv_bfloat162 pair = __floats2bfloat162_rn(a, b);
    to[0] = pair.x;
    to[1] = pair.y;
}
__device__ inline void narrow(float a, float b, __half *to) {
    const __half2 pair = __floats2half2_rn(a, b);
    to[0] = __low2half(pair);
    to[1] = __high2half(pair);
}
__device__ inline void narrow(float a, float b, float *to) {
    to[0] = a;
    to[1] = b;
}
__device__ inline void narrow(float value, __nv_bfloat16 *to) { *to = __float2bfloat16_rn(value); }
__device__ inline void narrow(float value, __half *to) { *to = __float2half_rn(value); }
__device__ inline void narrow(float value, float *to) { *to = value; }

// What one access to memory moves.
template <int BYTES> struct Word;
template <> struct Word<2> { typedef unsigned short Type; };
template <> struct Word<4> { typedef unsigned int Type; };
template <> struct Word<8> { typedef uint2 Type; };
template <> struct Word<16> { typedef uint4 Type; };

// `W` values side by side; more than 16 bytes are several words.
template <typename T, int W> union Pack {
    static constexpr int BYTES = W * sizeof(T);
    static constexpr int WORDS = BYTES > 16 ? BYTES / 16 : 1;
    typedef typename Word<BYTES / WORDS>::Type Words;

    Words words[WORDS];
    T values[W];

    __device__ Pack() {}
};

// Values of 16 bytes.
template <typename T> constexpr int WIDE = 16 / sizeof(T);

// Reads what nobody writes while the kernel runs.
template <int W, typename T> __device__ inline Pack<T, W> fetch(const T *from) {
    typedef Pack<T, W> P;
    P pack;
#pragma unroll
    for (int i = 0; i < P::WORDS; i++)
        pack.words[i] = __ldg(reinterpret_cast<const typename P::Words *>(from) + i);
    return pack;
}

// The same where the kernel may write to what it reads, once it has read it.
template <int W, typename T> __device__ inline Pack<T, W> read(const T *from) {
    typedef Pack<T, W> P;
    P pack;
#pragma unroll
    for (int i = 0; i < P::WORDS; i++)
        pack.words[i] = reinterpret_cast<const typename P::Words *>(from)[i];
    return pack;
}

template <int W, typename T> __device__ inline void store(T *to, const Pack<T, W> &pack) {
    typedef Pack<T, W> P;
#pragma unroll
    for (int i = 0; i < P::WORDS; i++) reinterpret_cast<typename P::Words *>(to)[i] = pack.words[i];
}

// All bits zero: the value 0 in every type.
template <typename T, int W> __device__ inline Pack<T, W> zeros() {
    Pack<T, W> pack;
#pragma unroll
    for (int i = 0; i < Pack<T, W>::WORDS; i++) pack.words[i] = {};
    return pack;
}

template <int W> __device__ inline void fill(float (&values)[W], float with) {
#pragma unroll
    for (int i = 0; i < W; i++) values[i] = with;
}

template <typename T, int W>
__device__ inline void widen(const Pack<T, W> &pack, float (&values)[W]) {
#pragma unroll
    for (int i = 0; i < W; i++) values[i] = widen(pack.values[i]);
}

// Rounds to the nearest and writes.
template <int W, typename T> __device__ inline void put(T *to, const float (&values)[W]) {
    Pack<T, W> pack;
#pragma unroll
    for (int i = 0; i + 1 < W; i += 2) narrow(values[i], values[i + 1], pack.values + i);
    if (W % 2 == 1) narrow(values[W - 1], pack.values + W - 1);
    store<W>(to, pack);
}

// Whether a pointer (null too) can be read in packs of `W`.
template <typename T, int W> __device__ inline bool aligned(const void *at) {
    constexpr int BYTES = W * sizeof(T) < 16 ? W * sizeof(T) : 16;
    return reinterpret_cast<uint64_t>(at) % BYTES == 0;
}

// Whether a view can: every pixel begins where a pack may.
template <typename T, int W> __device__ inline bool fits(const void *at, int pitch) {
    return pitch % W == 0 && aligned<T, W>(at);
}

}  // namespace divisi
