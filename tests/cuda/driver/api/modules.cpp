// Modules, functions and launches. A module is its list of entries; what they do comes
// from the kernels that were compiled for the CPU.
#include <dlfcn.h>

#include <cstring>
#include <fstream>
#include <sstream>
#include <unordered_map>

#include "../../emulation/table.h"
#include "../core/settings.h"
#include "call.h"

using namespace fake;

namespace {

struct Function {
    std::string name;
    const KernelEntry *entry = nullptr;  // null: not one of ours
    int dynamic_shared = 48 << 10;
};

struct Module {
    bool is_text = false;
    std::set<std::string> entries;
    std::mutex mutex;
    std::map<std::string, std::unique_ptr<Function>> functions;
};

using Table = std::unordered_map<std::string, const KernelEntry *>;

Table *load_kernels() {
    auto *table = new Table;
    const char *path = settings().kernels_path.c_str();
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *symbol = library ? dlsym(library, "divisi_kernels") : nullptr;
    if (!symbol) {
        warn("%s: kernels cannot be loaded: %s", path, dlerror());
        return table;
    }
    size_t count = 0;
    const KernelEntry *first = reinterpret_cast<decltype(&divisi_kernels)>(symbol)(&count);
    for (size_t i = 0; i < count; i++) (*table)[first[i].name] = &first[i];
    return table;
}

const KernelEntry *kernel(const std::string &name) {
    static Table *table = load_kernels();
    auto found = table->find(name);
    return found == table->end() ? nullptr : found->second;
}

// Names behind ".entry" in PTX. A line of PTX says `.visible .entry NAME(`.
std::set<std::string> entries_of(const std::string &text) {
    std::set<std::string> found;
    for (size_t at = text.find(".entry"); at != std::string::npos; at = text.find(".entry", at + 1)) {
        size_t start = text.find_first_not_of(" \t\r\n", at + 6);
        size_t end = text.find_first_of("( \t\r\n", start);
        if (start != std::string::npos && end != std::string::npos) found.insert(text.substr(start, end - start));
    }
    return found;
}

// PTX is text with a `.version`; anything else is taken for a binary that has everything.
CUresult load(CUmodule *to, const void *image) {
    if (!image) return CUDA_ERROR_INVALID_VALUE;
    auto *module = new Module;
    auto *first = static_cast<const unsigned char *>(image);
    module->is_text = first[0] == '/' || first[0] == '.' || first[0] == '\n' || first[0] == ' ';
    if (module->is_text) {
        std::string text = static_cast<const char *>(image);
        if (text.find(".version") == std::string::npos) return delete module, CUDA_ERROR_INVALID_PTX;
        module->entries = entries_of(text);
    }
    *to = reinterpret_cast<CUmodule>(module);
    return CUDA_SUCCESS;
}

CUresult find_function(CUfunction *to, Module &module, const char *name) {
    if (module.is_text && !module.entries.count(name)) return CUDA_ERROR_NOT_FOUND;
    std::lock_guard<std::mutex> lock(module.mutex);
    auto &function = module.functions[name];
    if (!function) {
        function = std::make_unique<Function>();
        function->name = name;
        function->entry = kernel(name);
    }
    *to = reinterpret_cast<CUfunction>(function.get());
    return CUDA_SUCCESS;
}

Function &function_of(CUfunction function) { return *reinterpret_cast<Function *>(function); }

bool fits(Dim grid, Dim block, unsigned shared, const Function &function) {
    size_t threads = size_t(block.x) * block.y * block.z;
    return grid.x && grid.y && grid.z && threads && threads <= 1024 && block.z <= 64 &&
           grid.x <= 2147483647u && grid.y <= 65535 && grid.z <= 65535 &&
           shared <= unsigned(function.dynamic_shared);
}

const void *parameters(void **each, void **extra) {
    if (each) return each[0];
    for (; extra && *extra != CU_LAUNCH_PARAM_END; extra += 2) {
        if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER) return extra[1];
    }
    return nullptr;
}

CUresult launch(Stream &stream, CUfunction handle, Dim grid, Dim block, unsigned shared, void **each,
                void **extra) {
    if (!handle) return CUDA_ERROR_INVALID_HANDLE;
    Function &function = function_of(handle);
    if (!fits(grid, block, shared, function)) return CUDA_ERROR_INVALID_VALUE;
    if (!function.entry) {
        warn("kernel %s was not compiled for the CPU; only Divisi's own are", function.name.c_str());
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    auto *from = static_cast<const char *>(parameters(each, extra));
    if (!from) return CUDA_ERROR_INVALID_VALUE;
    auto copy = std::make_shared<std::vector<char>>(from, from + function.entry->params_bytes);
    Work work;
    work.name = function.entry->name;
    work.kind = Kind::Launch;
    work.run = [entry = function.entry, copy, grid, block, shared] {
        entry->run(copy->data(), grid, block, shared);
    };
    trace("launch %s on %p: %u x %u", function.entry->name, (void *)&stream, grid.x, block.x);
    return submit(stream, std::move(work));
}

// Launches need the context of their stream.
CUresult launch_checked(const char *name, CUstream handle, CUfunction function, Dim grid, Dim block,
                        unsigned shared, void **each, void **extra) {
    return on_stream(name, handle, [&](Stream &stream) {
        if (current_device() != stream.device) return CUDA_ERROR_INVALID_CONTEXT;
        return launch(stream, function, grid, block, shared, each, extra);
    });
}

int blocks_per_multiprocessor(int threads, size_t shared) {
    int by_threads = threads > 0 ? 2048 / threads : 0;
    int by_shared = shared ? int((228 << 10) / (shared + 1024)) : 32;
    return std::max(0, std::min({32, by_threads, by_shared}));
}

}  // namespace

extern "C" {

CUresult cuModuleLoadData(CUmodule *module, const void *image) {
    return on_device(__func__, [&](Device &) {
        CUresult refused = forbidden_in_capture();
        return refused ? refused : load(module, image);
    });
}

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned, CUjit_option *, void **) {
    return cuModuleLoadData(module, image);
}

CUresult cuModuleLoadFatBinary(CUmodule *module, const void *image) { return cuModuleLoadData(module, image); }

CUresult cuModuleLoad(CUmodule *module, const char *path) {
    std::ifstream file(path);
    if (!file) return traced(__func__, CUDA_ERROR_FILE_NOT_FOUND);
    std::stringstream text;
    text << file.rdbuf();
    return cuModuleLoadData(module, text.str().c_str());
}

// Functions may still be queued, so what a module has stays.
CUresult cuModuleUnload(CUmodule) { return traced(__func__, CUDA_SUCCESS); }

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
    return on_device(__func__, [&](Device &) {
        return find_function(function, *reinterpret_cast<Module *>(module), name);
    });
}

CUresult cuModuleGetGlobal(CUdeviceptr *, size_t *, CUmodule, const char *) { return CUDA_ERROR_NOT_FOUND; }

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function) {
    return on_device(__func__, [&](Device &) {
        switch (attribute) {
            case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = 1024; break;
            case CU_FUNC_ATTRIBUTE_NUM_REGS: *value = 64; break;
            case CU_FUNC_ATTRIBUTE_PTX_VERSION: *value = 80; break;
            case CU_FUNC_ATTRIBUTE_BINARY_VERSION: *value = 90; break;
            case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
                *value = function_of(function).dynamic_shared;
                break;
            default: *value = 0;
        }
        return CUDA_SUCCESS;
    });
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
    return on_device(__func__, [&](Device &) {
        if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) return CUDA_SUCCESS;
        if (value < 0 || value > 232448) return CUDA_ERROR_INVALID_VALUE;
        function_of(function).dynamic_shared = std::max(value, 48 << 10);
        return CUDA_SUCCESS;
    });
}

CUresult cuFuncSetCacheConfig(CUfunction, CUfunc_cache) { return CUDA_SUCCESS; }
CUresult cuFuncLoad(CUfunction) { return CUDA_SUCCESS; }

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                        CUstream stream, void **each, void **extra) {
    return launch_checked(__func__, stream, function, {grid_x, grid_y, grid_z},
                          {block_x, block_y, block_z}, shared, each, extra);
}

CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                                   CUstream stream, void **each) {
    return launch_checked(__func__, stream, function, {grid_x, grid_y, grid_z},
                          {block_x, block_y, block_z}, shared, each, nullptr);
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **each, void **extra) {
    return launch_checked(__func__, config->hStream, function,
                          {config->gridDimX, config->gridDimY, config->gridDimZ},
                          {config->blockDimX, config->blockDimY, config->blockDimZ},
                          config->sharedMemBytes, each, extra);
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction, int threads, size_t shared) {
    *blocks = blocks_per_multiprocessor(threads, shared);
    return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, CUfunction, int threads,
                                                              size_t shared, unsigned) {
    *blocks = blocks_per_multiprocessor(threads, shared);
    return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxPotentialBlockSize(int *grid, int *block, CUfunction, CUoccupancyB2DSize, size_t,
                                          int limit) {
    *block = limit > 0 ? std::min(limit, 1024) : 1024;
    *grid = 8 * blocks_per_multiprocessor(*block, 0);
    return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *block, CUfunction function,
                                                   CUoccupancyB2DSize size, size_t shared, int limit, unsigned) {
    return cuOccupancyMaxPotentialBlockSize(grid, block, function, size, shared, limit);
}

CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, CUfunction, int blocks, int) {
    *bytes = size_t(228 << 10) / size_t(std::max(1, blocks)) - 1024;
    return CUDA_SUCCESS;
}

}  // extern "C"
