//! Ensembles of three linear members with known weights, which answer values or labels.

use std::collections::BTreeMap;

use divisi_model::ensemble::{Ensemble, Files, Member};
use divisi_runtime::network::Weights;

use crate::folder::Folder;

/// Members answer their factor times the sample, which is as wide as their answer.
pub const FACTORS: [f32; 3] = [1.0, 2.0, 6.0];

/// Its folder.
pub struct Answering(pub Folder);

/// `width` numbers, with `answers` as the manifest says it and `rest` before its tables.
pub fn manifest(answers: &str, width: usize, rest: &str) -> String {
    let mut text = format!(
        "name = \"answering\"\n{answers}\nsegment_size = 4\nbatch_sizes = [1, 8]\n{rest}\n\
         input = {{ shape = [{width}] }}\n"
    );
    for member in 0..FACTORS.len() {
        text += &format!(
            "\n[[members]]\nname = \"m{member}\"\nnetwork = {{ file = \"own.toml\" }}\n\
             weights = \"m{member}.safetensors\"\n"
        );
    }
    text
}

impl Answering {
    /// An ensemble that answers so, with `rest` before the manifest's tables.
    pub fn new(answers: &str, width: usize, rest: &str) -> Self {
        let new = Answering(Folder::new());
        let layers = format!("[[layers]]\nname = \"fc\"\nop = \"linear\"\nfeatures = {width}\n");
        new.write("own.toml", layers.as_bytes());
        let bare = manifest(&format!("classes = {width}"), width, "");
        let lines = bare.lines().filter(|line| !line.starts_with("weights"));
        let bare: String = lines.map(|line| format!("{line}\n")).collect();
        new.write("ensemble.toml", bare.as_bytes());
        let untrained = new.read().expect("valid");
        for (number, (member, factor)) in untrained.members.iter().zip(FACTORS).enumerate() {
            let path = new.0.join(&format!("m{number}.safetensors"));
            save(member, &path, width, factor);
        }
        new.write("ensemble.toml", manifest(answers, width, rest).as_bytes());
        new
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

fn save(member: &Member, path: &std::path::Path, width: usize, factor: f32) {
    let at = |i: usize| {
        if i.is_multiple_of(width + 1) {
            factor
        } else {
            0.0
        }
    };
    let weight: Vec<f32> = (0..width * width).map(at).collect();
    let tensors = [("fc.weight", weight), ("fc.bias", vec![0.0; width])];
    let tensors = tensors.map(|(name, values)| (name.to_owned(), values));
    let weights = Weights::from_values(BTreeMap::from(tensors), &member.graph);
    let written = weights.expect("fits").write(&member.graph, path);
    written.expect("writes");
}
