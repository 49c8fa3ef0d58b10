// Numbers of the widths that networks use, and their conversions.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace fake {

enum class Type { F32, F16, BF16 };

inline size_t width(Type type) { return type == Type::F32 ? 4 : 2; }

inline uint32_t bits_of(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, 4);
    return bits;
}

inline float float_of(uint32_t bits) {
    float value;
    std::memcpy(&value, &bits, 4);
    return value;
}

inline float from_bf16(uint16_t bits) { return float_of(uint32_t(bits) << 16); }

// To nearest, ties to even; NaN stays NaN.
inline uint16_t to_bf16(float value) {
    uint32_t bits = bits_of(value);
    if ((bits & 0x7fffffff) > 0x7f800000) return uint16_t(bits >> 16 | 0x40);
    return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

inline float from_f16(uint16_t bits) {
    _Float16 half;
    std::memcpy(&half, &bits, 2);
    return float(half);
}

inline uint16_t to_f16(float value) {
    _Float16 half = _Float16(value);
    uint16_t bits;
    std::memcpy(&bits, &half, 2);
    return bits;
}

// As tensor cores read float32 in TF32: 10 bits of mantissa, to nearest.
inline float to_tf32(float value) {
    uint32_t bits = bits_of(value);
    if ((bits & 0x7f800000) == 0x7f800000) return value;
    return float_of((bits + 0x1000) & 0xffffe000);
}

inline float load(const void *from, int64_t at, Type type) {
    if (type == Type::F32) return static_cast<const float *>(from)[at];
    uint16_t bits = static_cast<const uint16_t *>(from)[at];
    return type == Type::BF16 ? from_bf16(bits) : from_f16(bits);
}

inline void store(void *to, int64_t at, Type type, float value) {
    if (type == Type::F32) static_cast<float *>(to)[at] = value;
    else static_cast<uint16_t *>(to)[at] = type == Type::BF16 ? to_bf16(value) : to_f16(value);
}

}  // namespace fake
