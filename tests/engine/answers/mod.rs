//! Answers that are no class scores: values and labels, from the manifest to the figures.

mod live;
mod manifest;
mod measures;
mod rules;
mod samples;
mod samples_packed;
mod weighed;

use divisi::ensemble::{AnswerKind, AnswerWidth, Threshold};

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

fn is_near(found: f64, expected: f64) -> bool {
    (found - expected).abs() <= 1e-5 * expected.abs().max(1e-3)
}
