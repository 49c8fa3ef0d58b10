// The threads of a block as fibers of one thread of the processor.
#pragma once
#include "table.h"

#include <functional>

namespace simt {

// Where the running thread of a grid is.
struct Here {
    Dim thread, block, block_size, grid;
};
extern thread_local Here here;

// Waits for all threads of the block. One that waits elsewhere, or ends instead, is reported
// and ends the program: on a GPU that would hang or be undefined.
void barrier();

// What the thread `from` of this warp hands over in the same call; all of the warp must call.
float exchange(float value, unsigned from);

// Runs `thread` for every thread of every block, blocks on as many threads of the
// processor as there are. Only with `barriers` may threads wait for each other.
void run_grid(Dim grid, Dim block, bool barriers, const std::function<void()> &thread);

}  // namespace simt
