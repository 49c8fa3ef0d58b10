#include "host.h"

#include <sys/mman.h>

#include <cstring>
#include <map>
#include <mutex>

namespace fake {
namespace {

constexpr size_t PAGE = 4096;

struct Piece {
    size_t bytes;
    bool registered;  // memory of the application
};

std::mutex &lock_of_pieces() {
    static auto *mutex = new std::mutex;
    return *mutex;
}

std::map<const char *, Piece> &pieces() {
    static auto *all = new std::map<const char *, Piece>;
    return *all;
}

size_t pages(size_t bytes) { return (bytes + PAGE - 1) / PAGE * PAGE; }

bool remove(void *at, bool registered, size_t &bytes) {
    std::lock_guard<std::mutex> lock(lock_of_pieces());
    auto found = pieces().find(static_cast<char *>(at));
    if (found == pieces().end() || found->second.registered != registered) return false;
    bytes = found->second.bytes;
    pieces().erase(found);
    return true;
}

}  // namespace

void *allocate_pinned(size_t bytes) {
    void *at = mmap(nullptr, pages(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return nullptr;
    std::memset(at, 0xFF, bytes);
    std::lock_guard<std::mutex> lock(lock_of_pieces());
    pieces()[static_cast<char *>(at)] = {bytes, false};
    return at;
}

bool free_pinned(void *at) {
    size_t bytes = 0;
    if (!remove(at, false, bytes)) return false;
    munmap(at, pages(bytes));
    return true;
}

bool register_pinned(void *at, size_t bytes) {
    if (is_pinned(at, 1)) return false;
    std::lock_guard<std::mutex> lock(lock_of_pieces());
    pieces()[static_cast<char *>(at)] = {bytes, true};
    return true;
}

bool unregister_pinned(void *at) {
    size_t bytes = 0;
    return remove(at, true, bytes);
}

bool is_pinned(const void *at, size_t bytes) {
    auto *first = static_cast<const char *>(at);
    std::lock_guard<std::mutex> lock(lock_of_pieces());
    auto after = pieces().upper_bound(first);
    if (after == pieces().begin()) return false;
    auto &[start, piece] = *std::prev(after);
    return first + bytes <= start + piece.bytes;
}

}  // namespace fake
