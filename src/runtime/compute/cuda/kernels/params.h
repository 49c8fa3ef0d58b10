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

enum Activation : int32_t { NONE = 0, RELU = 1, RELU6 = 2 };

// What happens to a value before it is written:
// activation(value * scale[channel] + bias[channel] + residual[pixel, channel]).
struct Tail {
    const float *scale;    // may be null: 1
    const float *bias;     // may be null: 0
    const void *residual;  // T; may be null
    int32_t residual_pitch;
    Activation activation;
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

// Softmax over the channels of each row. `softmax` writes T, `softmax_answer` float32.
struct Softmax {
    const void *from;
    void *to;
    int32_t from_pitch, to_pitch;
    int32_t rows, channels;
};

// The network's answer: float32, channels slowest, rows packed.
struct Answer {
    const void *from;
    float *to;
    int32_t from_pitch;
    int32_t rows, channels, pixels;
};

// Neither compiler may lay them out in another way than this.
static_assert(sizeof(Tail) == 32 && sizeof(Window) == 48, "no other padding");
static_assert(sizeof(Place) == 2064, "no other padding");
static_assert(sizeof(Enter) == 40, "no other padding");
static_assert(sizeof(Pointwise) == 72, "no other padding");
static_assert(sizeof(Pooling) == 80, "no other padding");
static_assert(sizeof(Regions) == 48, "no other padding");
static_assert(sizeof(Grouped) == 120, "no other padding");
static_assert(sizeof(Gather) == 80, "no other padding");
static_assert(sizeof(Flatten) == 40, "no other padding");
static_assert(sizeof(Softmax) == 32, "no other padding");
static_assert(sizeof(Answer) == 32, "no other padding");

}  // namespace divisi
