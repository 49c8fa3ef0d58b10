// What the host hands to each kernel: one structure a kernel, passed by value.
// `src/runtime/compute/cuda/params.rs` has the same structures in Rust; a test compares them field by field.
//
// Images are channels-last. A view has a pointer to the first channel of the first pixel of
// the first row (sample) and a pitch, in values, from pixel to pixel; pixels of a row, and
// rows, follow each other at that pitch. `T` is float, bfloat16 or half.
//
// Kernels use accesses of 16 bytes where all pointers (weights, scales, biases, residuals
// too) are aligned to that and channels and pitches are whole multiples of it.
#pragma once
#include <cstdint>

namespace divisi {

enum Activation : int32_t {
    NONE = 0,
    RELU = 1,
    RELU6 = 2,
    CLIP = 3,          // between `first` and `second`
    LEAKY_RELU = 4,    // `first`: the slope below 0
    ELU = 5,           // `first`: the factor below 0
    SIGMOID = 6,
    HARD_SIGMOID = 7,  // `first`: the slope, `second`: the value at 0
    SILU = 8,
    HARD_SWISH = 9,
    GELU = 10,
    GELU_TANH = 11,
    TANH = 12,
    SOFTPLUS = 13,
    MISH = 14,
    FAKE_QUANTISE = 15
};

// What `Map` computes, of none, one, two or three values.
enum MapFunction : int32_t {
    FILL = 0, COPY = 1,
    ABS, NEG, SIGN, SQRT, RECIPROCAL, EXP, LOG, ERF, SIN, COS, FLOOR, CEIL, ROUND, TRUNCATE, NOT, NOT_ZERO,
    IS_NAN, NAN_TO_ZERO, TO_F16, TO_BF16,
    ADD = 32, SUB, MUL, DIV, INTEGER_DIV, POW, MIN, MAX, MOD, EQUAL, LESS, LESS_OR_EQUAL, GREATER,
    GREATER_OR_EQUAL, AND, OR, XOR, REMAINDER,
    CHOICE = 64        // the second where the first is not 0, else the third
};

// How many values become one.
enum Reduction : int32_t {
    SUM = 0, MEAN, MOST, LEAST, PRODUCT, L1, L2, SUM_OF_SQUARES, ARG_MAX, ARG_MIN
};

// What happens to a value before it is written:
// activation(value * scale[channel] + bias[channel] + residual[pixel, channel]).
struct Tail {
    const float *scale;    // may be null: 1
    const float *bias;     // may be null: 0
    const void *residual;  // T; may be null
    int32_t residual_pitch;
    Activation activation;
    float first, second;   // the activation's own numbers
};

// Where the samples of `count` rows lie, written to the lane's table. A launch carries them
// with it, so that they wait for no copy engine, however long it is busy with samples.
struct Place {
    uint64_t *to;
    int32_t count;
    int32_t unused;
    uint64_t addresses[256];
};

// Float32 samples, channels-first, each where `samples[row]` says, into one image batch.
// Channels from `channels` up to `padded` are written as zeros.
struct Enter {
    const uint64_t *samples;
    void *to;
    int32_t rows, channels, padded, pixels, pitch;
};

// to = tail(from), pixel by pixel. `pixels` counts those of all rows. May work in place.
struct Pointwise {
    const void *from;
    void *to;
    int32_t from_pitch, to_pitch;
    int64_t pixels;
    int32_t channels;
    Tail tail;
};

// A window that slides over an image. To begin at a later line of outputs, `pad_height` is
// less by that many strides, and may be negative.
struct Window {
    int32_t rows, channels;             // channels of the output
    int32_t in_height, in_width, out_height, out_width;
    int32_t kernel_height, kernel_width, stride;
    int32_t pad_height, pad_width, dilation;
};

// Maxima or means over windows. Means are of what lies inside of the image where
// `count_padding` is 0, else of the whole window.
struct Pooling {
    const void *from;
    void *to;
    int32_t from_pitch, to_pitch;
    Window window;
    int32_t count_padding;
};

// Means over out_height x out_width regions that cover the image (global: 1 x 1).
struct Regions {
    const void *from;
    void *to;
    int32_t from_pitch, to_pitch;
    int32_t rows, channels, in_height, in_width, out_height, out_width;
};

// Bilinear resize, half-pixel centres; the same structure.
typedef Regions Resize;

// Convolution in groups. Weights are [kernel_height][kernel_width][in / groups][out], so
// that neighbouring output channels are neighbours. Depthwise: one input channel a group.
struct Grouped {
    const void *from;
    const void *weights;  // T
    void *to;
    int32_t from_pitch, to_pitch;
    Window window;
    int32_t in_channels, groups;
    Tail tail;
};

// Windows as rows of a matrix: to[pixel of all rows][kernel_height][kernel_width][in_channels],
// `to_pitch` values a matrix row (zeros between its end and the pitch).
struct Gather {
    const void *from;
    void *to;
    int32_t from_pitch, to_pitch;
    Window window;
    int32_t in_channels;
};

// A channels-last image as a vector, channels slowest; `to_pitch` values a row.
struct Flatten {
    const void *from;
    void *to;
    int32_t from_pitch, to_pitch;
    int32_t rows, channels, pixels;
};

// to = tail(from + other), or tail(from * other); each pixel of `other` is used for `shared`
// pixels of `from`, one after the other. `pixels` counts those of all rows.
struct Paired {
    const void *from;
    const void *other;
    void *to;
    int32_t from_pitch, other_pitch, to_pitch;
    int32_t product;  // 0: sum
    int64_t pixels;
    int32_t channels, shared;
    Tail tail;
};

// Channels of as many groups, interleaved: channel i of each before channel i + 1 of any.
struct Shuffle {
    const void *from;
    void *to;
    int32_t from_pitch, to_pitch;
    int64_t pixels;
    int32_t channels, groups;
};

// to = from / (k + share * sum of squares)^beta, the sum over the channels from `before` ones
// before its own to `behind` ones after it.
struct ResponseNorm {
    const void *from;
    void *to;
    int32_t from_pitch, to_pitch;
    int64_t pixels;
    int32_t channels, before, behind;
    float share, beta, k;
};

// to = tail((from - mean) / sqrt(variance + eps)), both of the channels of each pixel.
struct LayerNorm {
    const void *from;
    void *to;
    int32_t from_pitch, to_pitch;
    int64_t pixels;
    int32_t channels;
    float eps;
    Tail tail;
};

// Where a tensor lies: its first value in the first row (sample), values from a row to the next,
// and along each axis to the next position. Products and attention have their matrices' lines
// and columns on the last two axes. `wide`: float32 whatever the kernel's type.
struct Tensor {
    const void *at;
    int64_t row;
    int32_t strides[8];
    int32_t wide;
    int32_t unused;
};

// to = function(first, second, third), value by value; `values` are those of a row, and `sizes`
// those of its axes. Each function reads as many operands as it has.
struct Map {
    Tensor first, second, third, to;
    int32_t sizes[8];
    int64_t rows;
    int32_t values;
    int32_t function;  // a MapFunction
    float number;      // what FILL writes
    int32_t unused;
};

// One value for each `count` of them: `values` in a row along `sizes`, each of what lies at
// `along` positions, `steps` apart. A block takes a value where `together` is not 0, else a thread.
struct Reduce {
    Tensor from, to;
    int32_t sizes[8];
    int32_t along[8];
    int32_t steps[8];
    int64_t rows;
    int32_t values, count;
    int32_t reduction;  // a Reduction
    int32_t together;
};

// Sums of all values up to each one along an axis of `count` positions, or products of them.
struct Scan {
    Tensor from, to;
    int32_t sizes[8];
    int64_t rows;
    int32_t values, count, from_step, to_step, exclusive, reverse, product, unused;
};

// to[before][listed][after] = table[before][indices[listed]][after]; NaN where an index is none
// of `count`. Negative indices count from the end. `wide_`: float32 whatever the kernel's type.
struct Lookup {
    const void *table;
    const void *indices;
    void *to;
    int64_t table_row, indices_row, to_row, rows;
    int32_t before, count, after, listed;
    int32_t wide_table, wide_indices, wide_to, unused;
};

// to = left x right for each of a row's `matrices`, which lie along `sizes`.
struct MatrixProduct {
    Tensor left, right, to;
    int32_t sizes[8];
    int64_t rows;
    int32_t matrices, lines, depth, columns;
};

// to = softmax(query x key * scale + masks) x value for each of a row's `heads`, which lie along
// `sizes`. `key` is [depth][keys], masks are [queries][keys]. Where `guarded` is 1, a query whose
// shares are NaN is answered by 0; where it is 2, the shares of one whose scores are all -inf are 0.
struct Attention {
    Tensor query, key, value, to;
    Tensor masks[3];
    const float *scale;
    int32_t sizes[8];
    int64_t rows;
    int32_t heads, queries, keys, depth, features, mask_count, guarded, unused;
};

// Softmax over the channels of each row. `softmax` writes T, `softmax_answer` float32. Where `masked`
// is not 0, rows that hold -inf alone become 0.
struct Softmax {
    const void *from;
    void *to;
    int32_t from_pitch, to_pitch;
    int32_t rows, channels, masked, unused;
};

// The network's answer: float32, channels slowest, rows packed.
struct Answer {
    const void *from;
    float *to;
    int32_t from_pitch;
    int32_t rows, channels, pixels;
};

// Neither compiler may lay them out in another way than this.
static_assert(sizeof(Tail) == 40 && sizeof(Window) == 48, "no other padding");
static_assert(sizeof(Place) == 2064, "no other padding");
static_assert(sizeof(Enter) == 40, "no other padding");
static_assert(sizeof(Pointwise) == 80, "no other padding");
static_assert(sizeof(Pooling) == 80, "no other padding");
static_assert(sizeof(Regions) == 48, "no other padding");
static_assert(sizeof(Grouped) == 128, "no other padding");
static_assert(sizeof(Gather) == 80, "no other padding");
static_assert(sizeof(Flatten) == 40, "no other padding");
static_assert(sizeof(Paired) == 96, "no other padding");
static_assert(sizeof(Shuffle) == 40, "no other padding");
static_assert(sizeof(ResponseNorm) == 56, "no other padding");
static_assert(sizeof(LayerNorm) == 80, "no other padding");
static_assert(sizeof(Tensor) == 56, "no other padding");
static_assert(sizeof(Map) == 280, "no other padding");
static_assert(sizeof(Reduce) == 232, "no other padding");
static_assert(sizeof(Scan) == 184, "no other padding");
static_assert(sizeof(Lookup) == 88, "no other padding");
static_assert(sizeof(MatrixProduct) == 224, "no other padding");
static_assert(sizeof(Attention) == 472, "no other padding");
static_assert(sizeof(Softmax) == 40, "no other padding");
static_assert(sizeof(Answer) == 32, "no other padding");

}  // namespace divisi
