//! The program `divisi`: parses the command line and returns the exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    divisi_console::cli::main()
}
