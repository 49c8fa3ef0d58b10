//! The digits sample, compiled in, so that an installed program starts anywhere.

use divisi::ensemble::Files;

macro_rules! embedded {
    ($($file:literal),* $(,)?) => {
        &[$((
            $file,
            include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../sample_ensembles/digits/", $file)).as_slice(),
        )),*]
    };
}

static DIGITS: &[(&str, &[u8])] = embedded![
    "ensemble.toml",
    "digits.csv",
    "mlp.safetensors",
    "cnn-s.safetensors",
    "cnn-m.safetensors",
    "res-s.safetensors",
    "res-m.safetensors",
    "dense.safetensors",
];

/// The built-in ensemble called `name`.
pub fn find(name: &str) -> Option<Files> {
    (name == "digits").then_some(Files::Embedded {
        name: "digits",
        files: DIGITS,
    })
}
