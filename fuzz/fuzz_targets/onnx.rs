//! Any bytes as a model of ONNX: refused in few words, or a network that can be run.

#![no_main]

use divisi_runtime::onnx::OnnxModel;
use divisi_fuzz::import;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| import(OnnxModel::from_bytes(bytes.to_vec())));
