//! Compiles the GPU kernels to PTX with the feature `cuda`; a driver translates that for its
//! GPU. Does nothing without the feature.

#![allow(
    clippy::print_stdout,
    reason = "this is how a build script speaks to cargo"
)]

use std::env;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const FOLDER: &str = "compute/cuda/kernels";
/// Ampere, the oldest architecture that is supported: its PTX loads on every later GPU too.
const ARCHITECTURE: &str = "-arch=compute_80";
/// Variables that change which compiler is found, or its output.
const VARIABLES: [&str; 5] = [
    "NVCC",
    "NVCC_CCBIN",
    "NVCC_APPEND_FLAGS",
    "CUDA_HOME",
    "CUDA_PATH",
];
const USUAL: [&str; 3] = ["/usr/local/cuda", "/opt/cuda", "/usr/lib/cuda"];
const HELP: &str = "the feature `cuda` needs NVIDIA's CUDA compiler: install the CUDA toolkit \
                    and put its `bin` in PATH, or run assets/cuda/build, which downloads it";

fn main() -> ExitCode {
    println!("cargo::rerun-if-changed=build.rs");
    if env::var_os("CARGO_FEATURE_CUDA").is_none() {
        return ExitCode::SUCCESS;
    }
    println!("cargo::rerun-if-changed={FOLDER}");
    for variable in VARIABLES {
        println!("cargo::rerun-if-env-changed={variable}");
    }
    match compile() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            for line in message.to_string().lines() {
                println!("cargo::error={line}");
            }
            ExitCode::FAILURE
        }
    }
}

/// Writes `kernels.ptx` into the build's output folder.
fn compile() -> Result<(), Box<dyn Error>> {
    let out = env::var("OUT_DIR").map_err(|e| format!("OUT_DIR: {e}"))?;
    let nvcc = nvcc()?;
    let mut command = Command::new(&nvcc);
    command
        .args(["-ptx", "-O3", "-std=c++17", ARCHITECTURE])
        .arg(Path::new(FOLDER).join("kernels.cu"))
        .arg("-o")
        .arg(Path::new(&out).join("kernels.ptx"));
    let done = command.output();
    let done = done.map_err(|e| format!("{}: {e}\n{HELP}", nvcc.display()))?;
    // The compiler writes its warnings to standard error even if it succeeds.
    let said = String::from_utf8_lossy(&done.stderr);
    match done.status.success() {
        true => Ok(()),
        false => Err(format!("{command:?}: {}\n{said}", done.status).into()),
    }
}

/// Returns the path of the compiler, searched in the same places as by Candle's build.
fn nvcc() -> Result<PathBuf, Box<dyn Error>> {
    if let Some(path) = env::var_os("NVCC").map(PathBuf::from) {
        let none = || format!("NVCC: {} does not exist", path.display()).into();
        return found(&path).ok_or_else(none);
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let in_path = env::split_paths(&path).find_map(|folder| found(&folder.join("nvcc")));
    if let Some(nvcc) = in_path {
        return Ok(nvcc);
    }
    let homes = ["CUDA_HOME", "CUDA_PATH"]
        .into_iter()
        .filter_map(env::var_os);
    let usual = USUAL.into_iter().map(Into::into);
    let beside = homes
        .chain(usual)
        .find_map(|home| found(&Path::new(&home).join("bin/nvcc")))
        .ok_or_else(|| format!("nvcc is not in PATH\n{HELP}"))?;
    // Cudarc finds `nvcc` only through PATH.
    let folder = beside.parent().unwrap_or(&beside).display();
    println!(
        "cargo::warning=found {}: put {folder} in PATH",
        beside.display()
    );
    Ok(beside)
}

fn found(path: &Path) -> Option<PathBuf> {
    let is_file = fs::metadata(path).is_ok_and(|m| m.is_file());
    is_file.then(|| path.to_owned())
}
