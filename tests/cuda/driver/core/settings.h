// What the environment asks of the fake driver; read once.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace fake {

struct Settings {
    std::vector<int> devices;       // physical numbers of the visible ones
    int physical;                   // how many there are, visible or not
    size_t memory;                  // bytes of each
    size_t others;                  // bytes of each that another process has
    size_t context_bytes;           // what a context takes of it
    int driver_version;
    std::string fail_kind;          // "launch", "copy", "alloc" or none
    uint64_t fail_at = 0;           // the Nth of them fails
    std::string lose_path;          // once this file exists the devices are lost
    std::string trace_path;
    std::string kernels_path;       // libdivisi_kernels.so
    double copy_rate = 0;           // bytes a second of each copy engine; 0: as fast as it goes
    double clock = 1;               // times between events are told so many times shorter
    unsigned jitter_us = 0;         // each piece of work starts up to so much later
    unsigned threads = 0;           // for arithmetic
    bool abort_on_misuse = true;    // else the device fails with 700
    std::string refuse;             // what cuDNN refuses
    bool tf32 = true;               // whether TF32 may be emulated where libraries would use it
};

const Settings &settings();

// The directory that the driver was loaded from.
std::string own_directory();

}  // namespace fake
