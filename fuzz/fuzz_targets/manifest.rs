//! Any text as the manifest of an ensemble or a pipeline, beside the files that it may name: an
//! ensemble that fits together, or refused in few words.

#![no_main]

use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

use divisi_model::ensemble::{Ensemble, Files};
use libfuzzer_sys::fuzz_target;

/// A network of a file of layers.
const LAYERS: &str = include_str!("../seeds/layers/small.toml");

/// Returns a folder of this process with files that a manifest may name.
fn folder() -> &'static PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let path = std::env::temp_dir().join(format!("divisi-manifest-{}", std::process::id()));
        fs::create_dir_all(&path).expect("a folder");
        fs::write(path.join("n.toml"), LAYERS).expect("a network");
        fs::write(path.join("s.csv"), "a,b,label\n1,2,0\n3,4,1\n").expect("samples");
        path
    })
}

fuzz_target!(|text: &str| {
    let manifest = folder().join("pipeline.toml");
    fs::write(&manifest, text).expect("written");
    match Ensemble::read(&Files::from_path(&manifest)) {
        Ok(ensemble) => assert!(ensemble.answer_width() > 0 && !ensemble.members.is_empty()),
        Err(error) => assert!(error.to_string().len() < 4096, "{error}"),
    }
});
