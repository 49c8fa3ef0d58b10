// How the fake libraries put work on streams.
#pragma once
#include <cuda.h>

#include <functional>
#include <vector>

#include "arena.h"

namespace fake {

enum class Kind { Launch, Copy, Other };

// A piece of work of a stream.
struct Work {
    const char *name = "work";
    Kind kind = Kind::Other;
    std::vector<Range> touches;  // checked right before it runs
    std::function<void()> run;
};

// Puts work on a stream (or into the graph that is being captured from it).
CUresult enqueue(CUstream stream, Work work);

// Waits for everything on the stream; an error while it is captured.
CUresult synchronise(CUstream stream);

// Whether calls that may synchronise are forbidden now because of a capture.
CUresult forbidden_in_capture();

}  // namespace fake
