#include "arena.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "report.h"

namespace fake {
namespace {

constexpr size_t ARENA = 8ull << 40;
constexpr size_t PAGE = 4096;
constexpr size_t GAP = 64 << 10;
constexpr size_t ALIGNMENT = 256;
constexpr unsigned char CANARY = 0xC5;
constexpr size_t REMEMBERED = 1 << 17;

struct Arena {
    std::mutex mutex;
    std::map<uint64_t, Block> blocks;  // by address, the freed ones too
    uint64_t start = 0, next = 0;
    size_t freed = 0;
    struct sigaction before {};
};

Arena *arena_of_process();

size_t round_up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

const char *state_name(State state) {
    switch (state) {
        case State::Pending: return "allocated, but not yet reached in its stream";
        case State::Live: return "alive";
        default: return "freed";
    }
}

// Where an address lies, in words. Needs the lock or a stopped world.
void describe(const Arena &arena, uint64_t address, char *to, size_t room) {
    auto after = arena.blocks.upper_bound(address);
    const Block *before = after == arena.blocks.begin() ? nullptr : &std::prev(after)->second;
    if (before && address < before->address + before->bytes) {
        std::snprintf(to, room, "byte %zu of an allocation of %zu bytes at %#lx on device %d that is %s",
                      size_t(address - before->address), before->bytes, before->address,
                      before->device, state_name(before->state));
    } else if (before && address < before->address + before->mapped + GAP) {
        std::snprintf(to, room, "%zu bytes beyond the end of an allocation of %zu bytes at %#lx (%s)",
                      size_t(address - before->address - before->bytes), before->bytes,
                      before->address, state_name(before->state));
    } else if (after != arena.blocks.end() && after->second.base <= address + GAP) {
        std::snprintf(to, room, "%zu bytes before an allocation of %zu bytes at %#lx (%s)",
                      size_t(after->first - address), after->second.bytes, after->first,
                      state_name(after->second.state));
    } else {
        std::snprintf(to, room, "no allocation near");
    }
}

// Somebody touched device memory that is not there: say what, and end. Other faults go to
// whoever handled them before.
void on_fault(int signal, siginfo_t *info, void *context) {
    Arena *arena = arena_of_process();
    uint64_t address = reinterpret_cast<uint64_t>(info->si_addr);
    if (address >= arena->start && address < arena->start + ARENA) {
        char names[512], place[512] = "the table of allocations is in use";
        list_running(names, sizeof names);
        if (arena->mutex.try_lock()) describe(*arena, address, place, sizeof place);
        die("device address %#lx was touched: %s; running: %s", address, place, names);
    }
    if (arena->before.sa_flags & SA_SIGINFO && arena->before.sa_sigaction) {
        arena->before.sa_sigaction(signal, info, context);
    } else if (arena->before.sa_handler != SIG_DFL && arena->before.sa_handler != SIG_IGN) {
        arena->before.sa_handler(signal);
    } else {
        ::signal(signal, SIG_DFL);
    }
}

Arena *make_arena() {
    auto *arena = new Arena;
    void *start = mmap(nullptr, ARENA, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED) die("no addresses for device memory");
    arena->start = reinterpret_cast<uint64_t>(start);
    arena->next = arena->start + GAP;
    return arena;
}

Arena *arena_of_process() {
    static Arena *arena = make_arena();
    static bool caught = [] {
        struct sigaction action {};
        action.sa_sigaction = on_fault;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
        sigaction(SIGSEGV, &action, &arena->before);
        return true;
    }();
    (void)caught;
    return arena;
}

char *pointer(uint64_t address) { return reinterpret_cast<char *>(address); }

void fill(const Block &block) {
    std::memset(pointer(block.base), CANARY, block.address - block.base);
    std::memset(pointer(block.address), 0xFF, block.bytes);
    char *end = pointer(block.address + block.bytes);
    std::memset(end, CANARY, pointer(block.base + block.mapped) - end);
}

bool all_canary(uint64_t from, uint64_t to) {
    return std::all_of(pointer(from), pointer(to), [](char c) { return (unsigned char)c == CANARY; });
}

void check_edges(const Block &block) {
    bool front = all_canary(block.base, block.address);
    bool back = all_canary(block.address + block.bytes, block.base + block.mapped);
    if (!front || !back) {
        die("something wrote %s an allocation of %zu bytes at %#lx; found when it was freed",
            front ? "beyond the end of" : "before the start of", block.bytes, block.address);
    }
}

void hide(const Block &block) {
    void *at = pointer(block.base);
    void *done = mmap(at, block.mapped, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    if (done == MAP_FAILED) die("device memory cannot be unmapped");
}

// Forgets the oldest of the dead once there are too many.
void forget_some(Arena &arena) {
    if (arena.freed < REMEMBERED) return;
    for (auto at = arena.blocks.begin(); at != arena.blocks.end() && arena.freed > REMEMBERED / 2;) {
        if (at->second.state == State::Freed && at->second.origin != Origin::Graph) {
            at = arena.blocks.erase(at);
            arena.freed--;
        } else {
            ++at;
        }
    }
}

}  // namespace

uint64_t reserve_block(int device, size_t bytes, Origin origin, void *pool) {
    Arena &arena = *arena_of_process();
    std::lock_guard<std::mutex> lock(arena.mutex);
    Block block;
    size_t aligned = round_up(bytes, ALIGNMENT);
    block.mapped = round_up(aligned, PAGE);
    block.base = arena.next;
    block.address = block.base + block.mapped - aligned;
    block.bytes = bytes;
    block.device = device;
    block.origin = origin;
    block.pool = pool;
    arena.next = block.base + block.mapped + GAP;
    if (arena.next > arena.start + ARENA) die("all device addresses were used up");
    arena.blocks[block.address] = block;
    return block.address;
}

void open_block(uint64_t address) {
    Block block;
    if (!block_at(address, block)) return;
    if (block.state != State::Live && mprotect(pointer(block.base), block.mapped, PROT_READ | PROT_WRITE)) {
        die("device memory of %zu bytes cannot be mapped", block.mapped);
    }
    fill(block);
    Arena &arena = *arena_of_process();
    std::lock_guard<std::mutex> lock(arena.mutex);
    auto found = arena.blocks.find(address);
    if (found == arena.blocks.end()) return;
    if (found->second.state == State::Freed) arena.freed--;  // memory of a graph, launched again
    found->second.state = State::Live;
}

void close_block(uint64_t address) {
    Block block;
    if (!block_at(address, block) || block.state == State::Freed) return;
    if (block.state == State::Live) check_edges(block);
    {
        Arena &arena = *arena_of_process();
        std::lock_guard<std::mutex> lock(arena.mutex);
        auto found = arena.blocks.find(address);
        if (found == arena.blocks.end() || found->second.state == State::Freed) return;
        found->second.state = State::Freed;
        arena.freed++;
        forget_some(arena);
    }
    hide(block);
}

bool queue_free(uint64_t address) {
    Arena &arena = *arena_of_process();
    std::lock_guard<std::mutex> lock(arena.mutex);
    auto found = arena.blocks.find(address);
    if (found == arena.blocks.end() || found->second.state == State::Freed) return false;
    return !std::exchange(found->second.free_queued, true);
}

bool block_at(uint64_t address, Block &block) {
    Arena &arena = *arena_of_process();
    std::lock_guard<std::mutex> lock(arena.mutex);
    auto found = arena.blocks.find(address);
    if (found == arena.blocks.end()) return false;
    block = found->second;
    return true;
}

bool block_around(uint64_t address, Block &block) {
    Arena &arena = *arena_of_process();
    std::lock_guard<std::mutex> lock(arena.mutex);
    auto after = arena.blocks.upper_bound(address);
    if (after == arena.blocks.begin()) return false;
    block = std::prev(after)->second;
    return address < block.address + std::max<size_t>(block.bytes, 1);
}

bool is_device_address(uint64_t address) {
    Arena &arena = *arena_of_process();
    return address >= arena.start && address < arena.start + ARENA;
}

std::string complaint(const Range &range) {
    if (range.bytes == 0) return "";
    Arena &arena = *arena_of_process();
    std::lock_guard<std::mutex> lock(arena.mutex);
    auto after = arena.blocks.upper_bound(range.address);
    const Block *block = after == arena.blocks.begin() ? nullptr : &std::prev(after)->second;
    bool inside = block && block->state == State::Live &&
                  range.address + range.bytes <= block->address + block->bytes;
    if (inside) return "";
    char place[512], line[768];
    uint64_t last = range.address + range.bytes - 1;
    bool starts = block && range.address < block->address + block->bytes && block->state == State::Live;
    describe(arena, starts ? last : range.address, place, sizeof place);
    std::snprintf(line, sizeof line, "%s: %zu bytes at %#lx: %s byte is %s", range.what, range.bytes,
                  range.address, starts ? "the last" : "the first", place);
    return line;
}

void close_all(int device) {
    std::vector<uint64_t> alive;
    {
        Arena &arena = *arena_of_process();
        std::lock_guard<std::mutex> lock(arena.mutex);
        for (auto &[address, block] : arena.blocks) {
            if (block.device == device && block.state != State::Freed) alive.push_back(address);
        }
    }
    for (uint64_t address : alive) close_block(address);
}

void living(int device, size_t &bytes, size_t &count) {
    Arena &arena = *arena_of_process();
    std::lock_guard<std::mutex> lock(arena.mutex);
    bytes = count = 0;
    for (auto &[address, block] : arena.blocks) {
        if (block.device != device || block.state == State::Freed) continue;
        bytes += block.bytes;
        count++;
    }
}

}  // namespace fake
