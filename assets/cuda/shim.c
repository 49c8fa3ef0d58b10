/* One CUDA library, opened at the first call of one of its functions.

   shims.py compiles this once a library: LIBRARY is its name, SONAME its file, MISSING the
   status that its functions return where it is not there, "names.inc" what they are called.
   The assembly beside it has a function of each name, which jumps to where the table says,
   and asks here while the table says nothing. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JOINED(a, b) a##b
#define NAMED(a, b) JOINED(a, b)
#define QUOTED(a) #a
#define TEXT(a) QUOTED(a)
#define HIDDEN __attribute__((visibility("hidden")))

static const char *const names[] = {
#include "names.inc"
};

#define COUNT (sizeof names / sizeof *names)

/* Where a driver is that the loader does not look for. */
static const char *const folders[] = {
    "/usr/local/cuda/lib64",
    "/usr/local/cuda/targets/x86_64-linux/lib",
    "/usr/local/nvidia/lib64",
    "/usr/local/nvidia/lib",
};

HIDDEN _Atomic(void *) NAMED(shim_table_, LIBRARY)[COUNT];

static long missing(void) { return MISSING; }
static const char *missing_text(void) { return TEXT(LIBRARY) ": the library was not found"; }

/* The library in one of the folders of a list separated by colons. */
static void *in(const char *list) {
    char path[4096];
    while (list && *list) {
        size_t length = strcspn(list, ":");
        snprintf(path, sizeof path, "%.*s/%s", (int)length, list, SONAME);
        void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (library) return library;
        list += length + (list[length] == ':');
    }
    return NULL;
}

static void *opened(void) {
    void *library = in(getenv("CUDA_SHIM_PATH"));
    if (!library) library = dlopen(SONAME, RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; !library && i < sizeof folders / sizeof *folders; i++) library = in(folders[i]);
    if (getenv("CUDA_SHIM_TRACE")) fprintf(stderr, "cuda: %s %s\n", SONAME, library ? "loaded" : "not found");
    return library;
}

/* Two threads may both open it: they are given the same handle. */
static void *handle(void) {
    static _Atomic(void *) library;
    static atomic_int done;
    if (!atomic_load_explicit(&done, memory_order_acquire)) {
        atomic_store(&library, opened());
        atomic_store_explicit(&done, 1, memory_order_release);
    }
    return atomic_load(&library);
}

/* Functions that return text, where others return a status. */
static int says(const char *name) {
    if (!strncmp(name, "cuGet", 5) || strstr(name, "Last")) return 0;
    return strstr(name, "ErrorString") || strstr(name, "StatusString") || strstr(name, "StatusName");
}

/* Looks function number `index` up and remembers it. */
HIDDEN void *NAMED(shim_resolve_, LIBRARY)(long index) {
    void *library = handle();
    void *function = library ? dlsym(library, names[index]) : NULL;
    if (!function) function = says(names[index]) ? (void *)missing_text : (void *)missing;
    atomic_store_explicit(&NAMED(shim_table_, LIBRARY)[index], function, memory_order_release);
    return function;
}
