// What is booked of a device's memory, in the units that a driver takes it.
#include <algorithm>

#include "device.h"
#include "settings.h"

namespace fake {
namespace {

constexpr size_t UNIT = 2ull << 20;
constexpr size_t CHUNK = 32ull << 20;

size_t round_up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

size_t taken_locked(const Device &device) {
    size_t bytes = settings().others + (device.retained > 0 ? settings().context_bytes : 0);
    bytes += round_up(device.direct, UNIT) + round_up(device.in_graphs, UNIT);
    for (const Pool *pool : device.pools) bytes += pool->reserved;
    return bytes;
}

bool fits(const Device &device, size_t more) {
    return taken_locked(device) + more <= settings().memory;
}

void trim_locked(Pool &pool, size_t keep) {
    size_t least = std::max(round_up(pool.used, UNIT), std::min(pool.reserved, keep));
    pool.reserved = std::min(pool.reserved, least);
}

// Makes room by what pools hold without use.
bool room(Device &device, size_t more) {
    if (fits(device, more)) return true;
    for (Pool *pool : device.pools) trim_locked(*pool, 0);
    return fits(device, more);
}

bool book(Device &device, size_t &kind, size_t bytes) {
    std::lock_guard<std::mutex> lock(device.ledger);
    size_t more = round_up(kind + bytes, UNIT) - round_up(kind, UNIT);
    if (bytes > settings().memory || !room(device, more)) return false;
    kind += bytes;
    return true;
}

void unbook(Device &device, size_t &kind, size_t bytes) {
    std::lock_guard<std::mutex> lock(device.ledger);
    kind -= std::min(kind, bytes);
}

}  // namespace

size_t taken(Device &device) {
    std::lock_guard<std::mutex> lock(device.ledger);
    return taken_locked(device);
}

bool book_direct(Device &device, size_t bytes) { return book(device, device.direct, bytes); }
void unbook_direct(Device &device, size_t bytes) { unbook(device, device.direct, bytes); }
bool book_graph(Device &device, size_t bytes) { return book(device, device.in_graphs, bytes); }
void unbook_graph(Device &device, size_t bytes) { unbook(device, device.in_graphs, bytes); }

bool book_pool(Pool &pool, size_t bytes) {
    Device &device = *pool.device;
    std::lock_guard<std::mutex> lock(device.ledger);
    if (bytes > settings().memory) return false;
    bytes = round_up(bytes, 512);
    if (pool.used + bytes > pool.reserved) {
        size_t lacking = pool.used + bytes - pool.reserved;
        size_t growth = round_up(lacking, CHUNK);
        if (!fits(device, growth)) growth = round_up(lacking, UNIT);
        if (!fits(device, growth)) {
            for (Pool *other : device.pools) trim_locked(*other, 0);
            growth = round_up(pool.used + bytes, UNIT) - std::min(pool.reserved, round_up(pool.used + bytes, UNIT));
        }
        if (!fits(device, growth)) return false;
        pool.reserved += growth;
    }
    pool.used += bytes;
    pool.used_high = std::max(pool.used_high, pool.used);
    pool.reserved_high = std::max(pool.reserved_high, pool.reserved);
    return true;
}

void unbook_pool(Pool &pool, size_t bytes) {
    std::lock_guard<std::mutex> lock(pool.device->ledger);
    pool.used -= std::min(pool.used, round_up(bytes, 512));
}

void trim_pools(Device &device) {
    std::lock_guard<std::mutex> lock(device.ledger);
    for (Pool *pool : device.pools) trim_locked(*pool, pool->threshold);
}

void trim_pool(Pool &pool, size_t keep) {
    std::lock_guard<std::mutex> lock(pool.device->ledger);
    trim_locked(pool, keep);
}

}  // namespace fake
