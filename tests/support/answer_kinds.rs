//! Kinds of answers that tests begin with.

use divisi_model::ensemble::{
    AnswerKind, AnswerWidth, BoxCount, Corners, MaskSide, ScoredBox, TagScheme, Threshold,
    TokenCount,
};

/// So many values.
pub fn values(count: u32) -> AnswerKind {
    AnswerKind::Values {
        count: AnswerWidth::nearest(count),
        normalise: false,
    }
}

/// So many values of unit length.
pub fn directions(count: u32) -> AnswerKind {
    AnswerKind::Values {
        count: AnswerWidth::nearest(count),
        normalise: true,
    }
}

/// So many labels, each given from a probability.
pub fn labels(count: u32, threshold: f64) -> AnswerKind {
    AnswerKind::Labels {
        count: AnswerWidth::nearest(count),
        threshold: Threshold::new(threshold).expect("in range"),
    }
}

/// Masks of so many classes, height and width.
pub fn masks(count: usize, [height, width]: [usize; 2]) -> AnswerKind {
    AnswerKind::Masks {
        count: AnswerWidth::nearest(count as u32),
        height: MaskSide::nearest(height as u32),
        width: MaskSide::nearest(width as u32),
    }
}

/// So many classes for each of so many tokens.
pub fn tokens(count: usize, length: usize, scheme: TagScheme) -> AnswerKind {
    AnswerKind::Tokens {
        count: AnswerWidth::nearest(count as u32),
        length: TokenCount::nearest(length as u32),
        scheme,
    }
}

pub fn is_near(found: f64, expected: f64) -> bool {
    (found - expected).abs() <= 1e-5 * expected.abs().max(1e-3)
}

/// Up to so many boxes of two classes, and the least score.
pub fn boxes(most: u32, least: f64) -> AnswerKind {
    AnswerKind::Boxes {
        count: AnswerWidth::nearest(2),
        most: BoxCount::nearest(most),
        overlap: Threshold::new(0.55).expect("in range"),
        least: Threshold::new(least).expect("in range"),
    }
}

pub fn found(class: u32, score: f32, corners: Corners) -> ScoredBox {
    ScoredBox {
        class,
        score,
        corners,
    }
}
