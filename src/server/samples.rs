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

/// Returns the built-in ensemble called `name`, or `None` if there is none.
pub(crate) fn built_in(name: &str) -> Option<Files> {
    let sample = SAMPLES.iter().find(|(known, _)| *known == name);
    sample.map(|(name, files)| Files::Embedded { name, files })
}
