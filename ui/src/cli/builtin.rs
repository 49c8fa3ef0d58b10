//! The sample ensembles, compiled in, so that an installed program starts anywhere.

use divisi::ensemble::Files;

macro_rules! embedded {
    ($ensemble:literal: $($file:literal),* $(,)?) => {
        ($ensemble, &[$((
            $file,
            include_bytes!(concat!(
                env!("CARGO_MANIFEST_DIR"), "/../sample_ensembles/", $ensemble, "/", $file
            )).as_slice(),
        )),*])
    };
}

/// An ensemble's name and its files with their bytes.
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
    embedded!["imn1": "ensemble.toml"],
    embedded!["imn4": "ensemble.toml"],
    embedded!["imn12": "ensemble.toml"],
    embedded!["fos14": "ensemble.toml"],
    embedded!["cif36": "ensemble.toml"],
];

/// The built-in ensemble called `name`.
pub fn find(name: &str) -> Option<Files> {
    let sample = SAMPLES.iter().find(|(known, _)| *known == name);
    sample.map(|(name, files)| Files::Embedded { name, files })
}
