// Page-locked memory of the host.
#pragma once
#include <cstddef>

namespace fake {

void *allocate_pinned(size_t bytes);
bool free_pinned(void *at);
bool register_pinned(void *at, size_t bytes);
bool unregister_pinned(void *at);
// Whether all of it lies in one page-locked piece.
bool is_pinned(const void *at, size_t bytes);

}  // namespace fake
