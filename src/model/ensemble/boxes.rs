//! Boxes around objects: their layout in rows, their overlap, and the selection among overlapping
//! boxes.

use super::answers::{BoxCount, Threshold};

/// A box with its class and score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScoredBox {
    /// The number of its class.
    pub class: u32,
    /// Its score, from 0 to 1.
    pub score: f32,
    /// Left, top, right and bottom, in pixels of the ensemble's input.
    pub corners: Corners,
}

/// An expected box.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TargetBox {
    /// The number of its class.
    pub class: u32,
    /// Left, top, right and bottom, in pixels of the ensemble's input.
    pub corners: Corners,
    /// Whether it covers many objects. Boxes in it count neither as right nor as wrong.
    pub is_crowd: bool,
}

/// Left, top, right and bottom of a box.
pub type Corners = [f32; 4];

/// The numbers of a box in a row: its class, score and corners.
const NUMBERS: usize = 6;

/// The layout of rows of boxes: the number of boxes, then the boxes in descending score order, each
/// as class, score, left, top, right and bottom, then zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BoxRows {
    most: usize,
}

impl BoxRows {
    /// Returns the layout for at most this number of boxes.
    pub(super) fn with_capacity(most: BoxCount) -> Self {
        BoxRows {
            most: most.get() as usize,
        }
    }

    /// Returns the maximum number of boxes of a row.
    pub(super) fn capacity(self) -> usize {
        self.most
    }

    /// Returns the number of numbers of a row.
    pub fn width(self) -> usize {
        1 + NUMBERS * self.most
    }

    /// Returns the boxes of a row, or `None` if a number is NaN or infinite.
    pub fn boxes(self, row: &[f32]) -> Option<Vec<ScoredBox>> {
        if row.iter().any(|number| !number.is_finite()) {
            return None;
        }
        let (count, numbers) = row.split_first()?;
        let boxes = numbers.chunks_exact(NUMBERS).take(*count as usize);
        Some(boxes.map(scored_box).collect())
    }

    /// Returns the reason why a row of finite numbers is not a valid row of boxes with this number
    /// of classes, or `None` if it is valid.
    pub fn fault(self, row: &[f32], classes: usize) -> Option<String> {
        let (count, numbers) = row.split_first()?;
        if count.fract() != 0.0 || !(0.0..=self.most as f32).contains(count) {
            let most = self.most;
            return Some(format!(
                "expected a number of boxes from 0 to {most}, found {count}"
            ));
        }
        let boxes = numbers.chunks_exact(NUMBERS).take(*count as usize);
        let mut highest = 1.0;
        for (number, numbers) in boxes.enumerate() {
            if let Some(why) = box_fault(numbers, classes, highest) {
                return Some(format!("box {number}: {why}"));
            }
            highest = numbers[1];
        }
        None
    }

    /// Writes boxes to a row of zeros. Boxes beyond the row's maximum are left out.
    pub(super) fn write(self, boxes: &[ScoredBox], row: &mut [f32]) {
        let Some((count, numbers)) = row.split_first_mut() else {
            return;
        };
        *count = boxes.len().min(self.most) as f32;
        for (to, found) in numbers.chunks_exact_mut(NUMBERS).zip(boxes) {
            to[0] = found.class as f32;
            to[1] = found.score;
            to[2..].copy_from_slice(&found.corners);
        }
    }
}

/// Returns the reason why the numbers are not a valid box after a box with score `highest`, or
/// `None` if they are valid.
fn box_fault(numbers: &[f32], classes: usize, highest: f32) -> Option<String> {
    let [class, score, left, top, right, bottom] = *numbers else {
        return None;
    };
    if class.fract() != 0.0 || class < 0.0 || class >= classes as f32 {
        let last = classes.saturating_sub(1);
        return Some(format!("expected a class from 0 to {last}, found {class}"));
    }
    if !(0.0..=highest).contains(&score) {
        return Some(format!(
            "expected scores from 0 to 1 in descending order, found {score} after {highest}"
        ));
    }
    (left > right || top > bottom).then(|| {
        format!(
            "expected left <= right and top <= bottom, found [{left}, {top}, {right}, \
                 {bottom}]"
        )
    })
}

fn scored_box(numbers: &[f32]) -> ScoredBox {
    let corner = |at: usize| numbers[2 + at];
    ScoredBox {
        class: numbers[0] as u32,
        score: numbers[1],
        corners: [corner(0), corner(1), corner(2), corner(3)],
    }
}

/// Returns the area of a box.
pub(super) fn area([left, top, right, bottom]: Corners) -> f64 {
    let side = |first: f32, last: f32| (f64::from(last) - f64::from(first)).max(0.0);
    side(left, right) * side(top, bottom)
}

/// Returns the common area of two boxes.
pub(super) fn intersection(a: Corners, b: Corners) -> f64 {
    area([
        a[0].max(b[0]),
        a[1].max(b[1]),
        a[2].min(b[2]),
        a[3].min(b[3]),
    ])
}

/// Returns the common area of two boxes divided by the area of their union.
pub(super) fn iou(a: Corners, b: Corners) -> f64 {
    let shared = intersection(a, b);
    let all = area(a) + area(b) - shared;
    if all > 0.0 { shared / all } else { 0.0 }
}

/// Sorts boxes by descending score. Boxes with equal scores keep their order.
pub(super) fn sort(boxes: &mut [ScoredBox]) {
    boxes.sort_by(|a, b| b.score.total_cmp(&a.score));
}

/// Returns at most `most` boxes that no box of the same class with a higher score overlaps by more
/// than `overlap`: greedy non-maximum suppression. `boxes` must be in score order.
pub(super) fn without_overlaps(
    boxes: &[ScoredBox],
    overlap: Threshold,
    most: usize,
) -> Vec<ScoredBox> {
    let mut kept: Vec<ScoredBox> = Vec::new();
    for found in boxes {
        if kept.len() == most {
            break;
        }
        let hides = |other: &ScoredBox| {
            other.class == found.class && iou(other.corners, found.corners) > overlap.get()
        };
        if !kept.iter().any(hides) {
            kept.push(*found);
        }
    }
    kept
}
