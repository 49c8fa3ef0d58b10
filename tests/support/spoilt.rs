//! An ensemble of two members of which one answers NaN to some samples: it overflows.

use std::collections::BTreeMap;

use divisi_model::ensemble::{Ensemble, Files, Member};
use divisi_runtime::network::Weights;

use crate::folder::Folder;

/// Samples of 4 values: where the first is above 3, the second member overflows. The
/// others are the scores of three classes.
const MANIFEST: &str = r#"name = "spoilt"
classes = 3
labels = ["cat", "dog", "bird"]
segment_size = 4
batch_sizes = [1, 8]
input = { shape = [4] }

[calibration]
file = "samples.csv"

[[members]]
name = "sound"
network = { file = "own.toml" }
weights = "sound.safetensors"

[[members]]
name = "spoilt"
network = { file = "own.toml" }
weights = "spoilt.safetensors"
"#;

const LAYERS: &str = "[[layers]]\nname = \"fc\"\nop = \"linear\"\nfeatures = 3\n";

const SAMPLES: &str = "a,b,c,d,label\n0,1,0,0,cat\n0,0,1,0,dog\n0,0,0,1,bird\n0,1,0,0,0\n";

/// A sample that both answer with class 0, and one that spoils an answer.
pub const GOOD: [f32; 4] = [0.0, 1.0, 0.0, 0.0];
pub const BAD: [f32; 4] = [10.0, 1.0, 0.0, 0.0];

/// Its folder.
pub struct Spoilt(pub Folder);

impl Spoilt {
    /// With the manifest `edit`ed.
    pub fn new(edit: impl Fn(String) -> String) -> Self {
        let spoilt = Spoilt(Folder::new());
        spoilt.write("own.toml", LAYERS.as_bytes());
        spoilt.write("samples.csv", SAMPLES.as_bytes());
        spoilt.write("ensemble.toml", bare().as_bytes());
        let untrained = spoilt.read().expect("valid");
        save(
            &untrained.members[0],
            &spoilt.0.join("sound.safetensors"),
            0.0,
        );
        save(
            &untrained.members[1],
            &spoilt.0.join("spoilt.safetensors"),
            1e38,
        );
        spoilt.write("ensemble.toml", edit(MANIFEST.to_owned()).as_bytes());
        spoilt
    }

    /// Writes a file beside the manifest; its path.
    pub fn write(&self, name: &str, bytes: &[u8]) -> String {
        self.0.write(name, bytes)
    }

    /// The ensemble, or what is wrong with it.
    pub fn read(&self) -> Result<Ensemble, String> {
        Ensemble::read(&Files::from_path(self.0.path())).map_err(|e| e.to_string())
    }
}

fn bare() -> String {
    let lines = MANIFEST.lines().filter(|l| !l.starts_with("weights"));
    lines.map(|line| format!("{line}\n")).collect()
}

/// Each class takes five times its value, and `first` times the first.
fn save(member: &Member, path: &std::path::Path, first: f32) {
    let row = |class: usize| {
        let mut row = [0.0; 4];
        (row[0], row[class + 1]) = (first, 5.0);
        row
    };
    let weight: Vec<f32> = (0..3).flat_map(row).collect();
    let tensors = [("fc.weight", weight), ("fc.bias", vec![0.0; 3])];
    let tensors = tensors.map(|(name, values)| (name.to_owned(), values));
    let weights = Weights::from_values(BTreeMap::from(tensors), &member.graph);
    let written = weights.expect("fits").write(&member.graph, path);
    written.expect("writes");
}
