// Device memory: a large reserved range of addresses in which only living allocations can
// be touched. Addresses are not used twice, there are gaps between allocations, and fresh
// memory is full of NaN, so that what a GPU would let pass ends here with a report.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace fake {

enum class Origin { Direct, Pool, Graph };
enum class State { Pending, Live, Freed };

struct Block {
    uint64_t address = 0;
    size_t bytes = 0;
    uint64_t base = 0;      // of its pages
    size_t mapped = 0;      // bytes of its pages
    int device = 0;
    Origin origin = Origin::Direct;
    State state = State::Pending;
    bool free_queued = false;
    void *pool = nullptr;
};

// What a piece of work reads or writes.
struct Range {
    uint64_t address;
    size_t bytes;
    const char *what;
};

// Addresses for `bytes`; they cannot be touched before `open_block`.
uint64_t reserve_block(int device, size_t bytes, Origin origin, void *pool);
// Makes it live, full of NaN.
void open_block(uint64_t address);
// Ends it: whoever touches it from now on is caught. Checks what lies around it.
void close_block(uint64_t address);
// Marks that its end is queued; false where it is not an allocation or queued already.
bool queue_free(uint64_t address);

// The allocation whose first byte this is, living or dead.
bool block_at(uint64_t address, Block &found);
// The allocation that holds the address.
bool block_around(uint64_t address, Block &found);
// Whether the address lies among those of device memory at all.
bool is_device_address(uint64_t address);

// Empty where all of it is alive, else what is wrong.
std::string complaint(const Range &range);

// Closes every block of a device (its context is gone).
void close_all(int device);

// Bytes and number of living blocks.
void living(int device, size_t &bytes, size_t &count);

}  // namespace fake
