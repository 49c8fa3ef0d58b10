//! Answers that are no class scores, from the manifest to the figures.

mod box_measures;
mod boxes;
mod live;
mod manifest;
mod measures;
mod positions;
mod rules;
mod samples;
mod samples_packed;
mod weighed;

use std::sync::Arc;

use divisi_engine::serving::Request;
use divisi_model::ensemble::{
    AnswerKind, AnswerWidth, Ensemble, Files, MaskSide, TagScheme, Threshold, TokenCount,
};

use crate::common::{networks, start};
use crate::place::root;

/// So many values.
fn values(count: u32) -> AnswerKind {
    AnswerKind::Values {
        count: AnswerWidth::nearest(count),
        normalise: false,
    }
}

/// So many values of unit length.
fn directions(count: u32) -> AnswerKind {
    AnswerKind::Values {
        count: AnswerWidth::nearest(count),
        normalise: true,
    }
}

/// So many labels, each given from a probability.
fn labels(count: u32, threshold: f64) -> AnswerKind {
    AnswerKind::Labels {
        count: AnswerWidth::nearest(count),
        threshold: Threshold::new(threshold).expect("in range"),
    }
}

/// Masks of so many classes, height and width.
fn masks(count: usize, [height, width]: [usize; 2]) -> AnswerKind {
    AnswerKind::Masks {
        count: AnswerWidth::nearest(count as u32),
        height: MaskSide::nearest(height as u32),
        width: MaskSide::nearest(width as u32),
    }
}

/// So many classes for each of so many tokens.
fn tokens(count: usize, length: usize, scheme: TagScheme) -> AnswerKind {
    AnswerKind::Tokens {
        count: AnswerWidth::nearest(count as u32),
        length: TokenCount::nearest(length as u32),
        scheme,
    }
}

fn is_near(found: f64, expected: f64) -> bool {
    (found - expected).abs() <= 1e-5 * expected.abs().max(1e-3)
}

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
        Ensemble::read(&Files::at(self.0.path())).map_err(|e| e.to_string())
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
