//! The program `divisi`: parses the command line and returns the exit code.

use std::process::ExitCode;

use mimalloc::MiMalloc;

/// Requests of megabytes are allocated and freed often, and the system's allocator would map and
/// unmap memory for each.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    divisi_console::cli::main()
}
