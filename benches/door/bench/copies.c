/* Counts the bytes that a program copies by memcpy and memmove, 1 KB and more at once, in the file that COPIES names:
   loaded before the C library by LD_PRELOAD. */
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static const size_t LEAST = 1024;
static _Atomic uint64_t *copied;

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("COPIES");
    int file = path ? open(path, O_RDWR) : -1;
    if (file < 0) return;
    void *at = mmap(NULL, sizeof *copied, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (at != MAP_FAILED) copied = at;
    close(file);
}

static void count(size_t size) {
    if (copied && size >= LEAST) atomic_fetch_add(copied, size);
}

static void forwards(void *to, const void *from, size_t size) {
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
}

void *memcpy(void *restrict to, const void *restrict from, size_t size) {
    count(size);
    forwards(to, from, size);
    return to;
}

void *memmove(void *to, const void *from, size_t size) {
    unsigned char *bytes = to;
    const unsigned char *of = from;
    count(size);
    if ((uintptr_t)bytes - (uintptr_t)of >= size) {
        forwards(to, from, size);
    } else {
        while (size--) bytes[size] = of[size];
    }
    return to;
}
