//! The ensembles that are built in.

use divisi_model::ensemble::Files;

macro_rules! embedded {
    ($ensemble:literal: $($file:literal),* $(,)?) => {
        ($ensemble, &[$((
            $file,
            include_bytes!(concat!(
                "sample_ensembles/", $ensemble, "/", $file
            )).as_slice(),
        )),*])
    };
}

/// The name of an ensemble, and its files with their bytes.
type EmbeddedEnsemble = (&'static str, &'static [(&'static str, &'static [u8])]);

static SAMPLES: &[EmbeddedEnsemble] = &[
    embedded![
        "digits":
        "ensemble.toml",
        "digits.csv",
        "mlp.safetensors",
        "cnn-s.safetensors",
        "cnn-m.safetensors",
        "res-s.safetensors",
        "res-m.safetensors",
        "dense.safetensors",
    ],
    embedded![
        "snippets":
        "ensemble.toml",
        "tokenizer.json",
        "test.csv",
        "mean.onnx",
        "conv.onnx",
        "attention.onnx",
    ],
    embedded![
        "digits-onnx":
        "ensemble.toml",
        "../digits/digits.csv",
        "mlp.onnx",
        "cnn-s.onnx",
        "res-s.onnx",
        "dense.onnx",
    ],
    embedded![
        "digits-cascade":
        "pipeline.toml",
        "../digits/digits.csv",
        "../digits/cnn-s.safetensors",
        "../digits/cnn-m.safetensors",
        "../digits/res-m.safetensors",
        "../digits/dense.safetensors",
    ],
    embedded![
        "drawings":
        "ensemble.toml",
        "images/ball.jpg",
        "images/boat.jpg",
        "images/fish.png",
        "images/house.jpg",
        "images/mountains.png",
        "images/tree.png",
    ],
    embedded!["imn1": "ensemble.toml"],
    embedded!["imn4": "ensemble.toml"],
    embedded!["imn12": "ensemble.toml"],
    embedded!["fos14": "ensemble.toml"],
    embedded!["cif36": "ensemble.toml"],
];

/// Returns the names of the built-in ensembles.
pub fn built_in_names() -> impl Iterator<Item = &'static str> {
    SAMPLES.iter().map(|(name, _)| *name)
}

/// Returns the built-in ensemble `name`, or `None` if it does not exist.
pub(crate) fn built_in(name: &str) -> Option<Files> {
    let sample = SAMPLES.iter().find(|(known, _)| *known == name);
    sample.map(|(name, files)| Files::Embedded { name, files })
}

/// Returns the files of the built-in ensemble `name` as in one folder of their own, each with its
/// path there, or `None` if the ensemble does not exist.
pub fn built_in_files(name: &str) -> Option<Vec<(String, Vec<u8>)>> {
    let (_, files) = SAMPLES.iter().find(|(known, _)| *known == name)?;
    let files = files
        .iter()
        .map(|(path, bytes)| match path.ends_with(".toml") {
            true => (inside(path), of_one_folder(bytes)),
            false => (inside(path), bytes.to_vec()),
        });
    Some(files.collect())
}

/// Returns a path in the ensemble's folder for a file that may belong to another ensemble.
fn inside(path: &str) -> String {
    match path.strip_prefix("../") {
        Some(other) => other
            .split_once('/')
            .map_or(other, |(_, name)| name)
            .to_owned(),
        None => path.to_owned(),
    }
}

/// Returns a manifest in which files of other built-in ensembles have paths in its own folder.
fn of_one_folder(manifest: &[u8]) -> Vec<u8> {
    let mut text = String::from_utf8_lossy(manifest).into_owned();
    for other in built_in_names() {
        text = text.replace(&format!("\"../{other}/"), "\"");
    }
    text.into_bytes()
}
