//! Any bytes as a model of ONNX whose values lie in files beside it: refused in few words, or a
//! network that can be run.

#![no_main]

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use divisi_runtime::onnx::OnnxModel;
use divisi_fuzz::import;
use libfuzzer_sys::fuzz_target;

/// A folder with a file of values beside the model, as the seed names it.
static MODEL: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = std::env::temp_dir().join(format!("divisi-fuzz-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("creates");
    fs::write(folder.join("vectors.onnx.data"), [0x3f; 4096]).expect("writes");
    folder.join("model.onnx")
});

fuzz_target!(|bytes: &[u8]| {
    fs::write(&*MODEL, bytes).expect("writes");
    import(OnnxModel::open(&MODEL));
});
