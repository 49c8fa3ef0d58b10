//! Answers that are no class scores, from the manifest to the figures.

mod boxes;
mod live;
mod positions;
mod rules;

use std::sync::Arc;

use divisi_engine::serving::Request;
use divisi_model::ensemble::{Ensemble, Files};

use crate::common::{networks, start};
use crate::place::root;

/// A folder with a manifest of networks of `onnx_files`.
struct Exported(tempfile::TempDir);

impl Exported {
    /// Members of files, each with more lines, whose ensemble has this input.
    fn new(answers: &str, input: &str, members: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let files = root().join("tests/engine/answers/onnx_files");
        let mut text = format!(
            "name = \"exported\"\nanswers = {answers}\nbatch_sizes = [1, 8]\n\
             segment_size = 4\ninput = {input}\n"
        );
        for (number, (file, rest)) in members.iter().enumerate() {
            let name = format!("{file}.onnx");
            let from = files.join(&name);
            std::fs::copy(from, folder.path().join(&name)).expect("copies");
            text += &format!(
                "[[members]]\nname = \"m{number}\"\nnetwork = {{ file = \"{name}\" }}\n{rest}\n"
            );
        }
        std::fs::write(folder.path().join("ensemble.toml"), text).expect("writes");
        Exported(folder)
    }

    fn read(&self) -> Result<Ensemble, String> {
        Ensemble::read(&Files::from_path(self.0.path())).map_err(|e| e.to_string())
    }

    /// The answer to one sample, served.
    fn answer(&self, sample: &[f32]) -> (Arc<Ensemble>, Vec<f32>) {
        let ensemble = Arc::new(self.read().expect("valid"));
        let engine = start(&ensemble, networks(&ensemble));
        let answer = engine.predict(Request::new(sample)).expect("let in");
        let answer = answer.expect("answered");
        let row = answer.rows().next().expect("a row").to_vec();
        (ensemble, row)
    }
}
