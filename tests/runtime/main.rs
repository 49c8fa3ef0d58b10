//! The tests of the runtime: networks on devices.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "tests stop at the first surprise"
)]

mod calibration;
mod compute;
#[path = "../support/devices.rs"]
#[allow(dead_code, reason = "shared by several crates of tests")]
mod devices;
#[path = "../support/emulated/mod.rs"]
mod emulated;
#[path = "../support/folder.rs"]
#[allow(dead_code, reason = "shared by several crates of tests")]
mod folder;
mod gauges;
mod gpu_names;
mod gpu_tensors;
mod host;
mod kernel_params;
mod kernels;
mod locks;
mod made_onnx;
mod networks;
mod onnx;
mod onnx_batches;
mod onnx_defined;
mod onnx_dynamic;
mod onnx_hostile;
mod onnx_made;
mod onnx_quantised;
#[path = "../support/place.rs"]
mod place;
mod pytorch;
mod tensors;
#[path = "../support/wait.rs"]
#[allow(dead_code, reason = "shared by several crates of tests")]
mod wait;
mod weights;
mod weights_damage;
mod weights_forms;
mod weights_made;
mod weights_names;
