//! Answers that are no class scores, from the manifest to the figures.

mod boxes;
mod live;
mod manifest;
mod measures;
mod positions;
mod rules;
mod samples;
mod samples_packed;
mod weighed;

use divisi::ensemble::{AnswerKind, AnswerWidth, MaskSide, TagScheme, Threshold, TokenCount};

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
