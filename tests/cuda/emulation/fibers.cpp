#include "fibers.h"

#include <ucontext.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace simt {

thread_local Here here;

namespace {

constexpr size_t STACK = 64 * 1024;

// The sanitizer has to be told of another stack; elsewhere these do nothing.
struct Switch {
    void *fake = nullptr;

    void leave(const void *stack, size_t size) {
#if defined(__SANITIZE_ADDRESS__)
        __sanitizer_start_switch_fiber(&fake, stack, size);
#else
        (void)stack, (void)size;
#endif
    }
    void arrive(const void **from, size_t *size) {
#if defined(__SANITIZE_ADDRESS__)
        __sanitizer_finish_switch_fiber(fake, from, size);
#else
        (void)from, (void)size;
#endif
    }
};

// What a thread waits for.
enum class Wait { WARP, BLOCK, NOTHING };
constexpr unsigned WARP_SIZE = 32;

struct Fiber {
    ucontext_t context;
    std::unique_ptr<char[]> stack{new char[STACK]};
    Switch state;
    float handed[2];
    unsigned exchanges = 0;
    Wait wait = Wait::NOTHING;
};

// The block that runs on this thread of the processor.
struct Block {
    std::vector<std::unique_ptr<Fiber>> fibers;
    const std::function<void()> *thread = nullptr;
    ucontext_t home;
    Switch home_state;
    const void *home_stack = nullptr;
    size_t home_size = 0;
    Fiber *running = nullptr;

    void run(const std::function<void()> &body, unsigned threads);
    void turn(unsigned at);
    void yield(Wait wait);
    void together(unsigned first, unsigned end, Wait wait) const;
    Wait warp(unsigned first, unsigned end, bool backwards);
    Wait round(unsigned threads, bool backwards);
};

thread_local Block block;

void enter_fiber() {
    block.running->state.arrive(&block.home_stack, &block.home_size);
    (*block.thread)();
    block.yield(Wait::NOTHING);
}

// Back to the scheduler.
void Block::yield(Wait wait) {
    Fiber &fiber = *running;
    fiber.wait = wait;
    fiber.state.leave(home_stack, home_size);
    swapcontext(&fiber.context, &home);
    fiber.state.arrive(&home_stack, &home_size);
}

// Lets a fiber run until it waits or ends.
void Block::turn(unsigned at) {
    running = fibers[at].get();
    here.thread = {at % here.block_size.x, at / here.block_size.x % here.block_size.y,
                   at / (here.block_size.x * here.block_size.y)};
    home_state.leave(running->stack.get(), STACK);
    swapcontext(&home, &running->context);
    home_state.arrive(nullptr, nullptr);
}

// All of these threads must wait for the same.
void Block::together(unsigned first, unsigned end, Wait wait) const {
    for (unsigned at = first; at < end; at++) {
        if (fibers[at]->wait == wait) continue;
        std::fprintf(stderr, "threads %u and %u of a block do not meet at a barrier\n", first, at);
        std::abort();
    }
}

// Runs a warp to the next barrier of its block, or to its end: ahead of the other warps as
// far as it can come, so that a barrier that is missing shows.
Wait Block::warp(unsigned first, unsigned end, bool backwards) {
    do {
        for (unsigned i = first; i < end; i++) turn(backwards ? end - 1 - (i - first) : i);
        together(first, end, fibers[first]->wait);
    } while (fibers[first]->wait == Wait::WARP);
    return fibers[first]->wait;
}

// From barrier to barrier.
Wait Block::round(unsigned threads, bool backwards) {
    const unsigned warps = (threads + WARP_SIZE - 1) / WARP_SIZE;
    for (unsigned i = 0; i < warps; i++) {
        const unsigned first = (backwards ? warps - 1 - i : i) * WARP_SIZE;
        warp(first, std::min(first + WARP_SIZE, threads), backwards);
    }
    together(0, threads, fibers[0]->wait);
    return fibers[0]->wait;
}

// Rounds go forwards and backwards in turn, so that a missing barrier shows.
void Block::run(const std::function<void()> &body, unsigned threads) {
    thread = &body;
    while (fibers.size() < threads) fibers.push_back(std::make_unique<Fiber>());
    for (unsigned at = 0; at < threads; at++) {
        Fiber &fiber = *fibers[at];
        getcontext(&fiber.context);
        fiber.context.uc_stack.ss_sp = fiber.stack.get();
        fiber.context.uc_stack.ss_size = STACK;
        fiber.context.uc_link = nullptr;
        fiber.state = Switch();
        fiber.exchanges = 0;
        makecontext(&fiber.context, enter_fiber, 0);
    }
    bool backwards = false;
    while (round(threads, backwards) != Wait::NOTHING) backwards = !backwards;
}

void run_block(const std::function<void()> &thread, bool barriers) {
    const Dim size = here.block_size;
    if (barriers) return block.run(thread, size.x * size.y * size.z);
    for (here.thread.z = 0; here.thread.z < size.z; here.thread.z++)
        for (here.thread.y = 0; here.thread.y < size.y; here.thread.y++)
            for (here.thread.x = 0; here.thread.x < size.x; here.thread.x++) thread();
}

}  // namespace

void barrier() { block.yield(Wait::BLOCK); }

// Two places in turn: whoever is a call ahead does not overwrite what is still read.
float exchange(float value, unsigned from) {
    Fiber &fiber = *block.running;
    const unsigned place = fiber.exchanges++ % 2;
    fiber.handed[place] = value;
    block.yield(Wait::WARP);
    return block.fibers[from]->handed[place];
}

void run_grid(Dim grid, Dim size, bool barriers, const std::function<void()> &thread) {
    const size_t blocks = size_t(grid.x) * grid.y * grid.z;
    std::atomic<size_t> next{0};
    const auto work = [&] {
        here.block_size = size;
        here.grid = grid;
        for (size_t at; (at = next++) < blocks;) {
            here.block = {unsigned(at % grid.x), unsigned(at / grid.x % grid.y),
                          unsigned(at / grid.x / grid.y)};
            run_block(thread, barriers);
        }
    };
    std::vector<std::thread> others;
    const size_t most = std::max(1u, std::thread::hardware_concurrency());
    for (size_t i = 1; i < std::min(blocks / 8, most); i++) others.emplace_back(work);
    work();
    for (std::thread &other : others) other.join();
}

}  // namespace simt
