//! Mean average precision of boxes, computed as COCO's evaluation does (Lin et al., arXiv
//! 1405.0312, and its program `cocoeval`).
//!
//! The boxes of a sample are matched in score order, each to the free expected box of its class
//! with the largest overlap. Boxes that match a crowd are left out. Precision is made
//! non-increasing with recall and sampled at 101 recalls from 0 to 1. The mean of these is the
//! average precision of a class at one overlap.

use std::collections::{BTreeMap, VecDeque};

use super::boxes::{ScoredBox, TargetBox, area, intersection, iou, sort};
use super::measure::Measure;

/// The overlaps from which a box is right, in percent.
const OVERLAPS: [u32; 10] = [50, 55, 60, 65, 70, 75, 80, 85, 90, 95];

/// The highest of the sampled recalls, in percent.
const RECALLS: u32 = 100;

/// The boxes of samples, matched with the expected boxes.
#[derive(Clone, Debug, Default)]
pub(super) struct BoxTally {
    samples: VecDeque<MatchedSample>,
    /// The maximum number of samples to keep, the latest ones, or `None` for all samples.
    latest: Option<usize>,
}

#[derive(Clone, Debug)]
struct MatchedSample {
    found: Vec<MatchedBox>,
    /// The classes of the expected boxes, without crowds.
    expected: Vec<u32>,
}

/// A found box. Each bit stands for one of the overlaps.
#[derive(Clone, Copy, Debug)]
struct MatchedBox {
    class: u32,
    score: f32,
    right: u16,
    left_out: u16,
}

impl BoxTally {
    /// Keeps only the latest samples.
    pub(super) fn keep_latest(&mut self, samples: usize) {
        self.latest = Some(samples);
    }

    /// Returns the number of kept samples.
    pub(super) fn len(&self) -> usize {
        self.samples.len()
    }

    /// Counts the boxes of a sample.
    pub(super) fn add(&mut self, mut found: Vec<ScoredBox>, expected: &[TargetBox]) {
        sort(&mut found);
        let matched = MatchedSample::new(&found, expected);
        self.samples.push_back(matched);
        if self.latest.is_some_and(|most| self.samples.len() > most) {
            self.samples.pop_front();
        }
    }

    /// Returns the value of a measure, or `None` if no box is expected.
    pub(super) fn value(&self, measure: Measure) -> Option<f64> {
        let overlaps = match measure {
            Measure::Map50 => 1,
            Measure::Map => OVERLAPS.len(),
            _ => return None,
        };
        let classes = self.classes();
        let counted = classes.values().filter(|class| class.expected > 0);
        let each = counted.flat_map(|class| (0..overlaps).map(|bit| class.precision(bit)));
        let each: Vec<f64> = each.collect();
        (!each.is_empty()).then(|| each.iter().sum::<f64>() / each.len() as f64)
    }

    /// Returns the boxes of each class in descending score order.
    fn classes(&self) -> BTreeMap<u32, ClassBoxes> {
        let mut classes: BTreeMap<u32, ClassBoxes> = BTreeMap::new();
        for sample in &self.samples {
            for class in &sample.expected {
                classes.entry(*class).or_default().expected += 1;
            }
            for found in &sample.found {
                classes.entry(found.class).or_default().found.push(*found);
            }
        }
        for class in classes.values_mut() {
            class.found.sort_by(|a, b| b.score.total_cmp(&a.score));
        }
        classes
    }
}

impl MatchedSample {
    /// Matches boxes in the order of their scores.
    fn new(found: &[ScoredBox], expected: &[TargetBox]) -> Self {
        let mut matched: Vec<MatchedBox> = found.iter().map(unmatched).collect();
        for (bit, overlap) in OVERLAPS.iter().enumerate() {
            let mut taken = vec![false; expected.len()];
            for (found, matched) in found.iter().zip(&mut matched) {
                let Some(at) = best(found, expected, &taken, f64::from(*overlap) / 100.0) else {
                    continue;
                };
                taken[at] = true;
                match expected[at].is_crowd {
                    true => matched.left_out |= 1 << bit,
                    false => matched.right |= 1 << bit,
                }
            }
        }
        let single = expected.iter().filter(|target| !target.is_crowd);
        MatchedSample {
            found: matched,
            expected: single.map(|target| target.class).collect(),
        }
    }
}

fn unmatched(found: &ScoredBox) -> MatchedBox {
    MatchedBox {
        class: found.class,
        score: found.score,
        right: 0,
        left_out: 0,
    }
}

/// Returns the expected box that a box matches: the box with the largest overlap, if that is at
/// least the minimum. A crowd can be matched by many boxes, but only by boxes that match nothing
/// else.
fn best(found: &ScoredBox, expected: &[TargetBox], taken: &[bool], overlap: f64) -> Option<usize> {
    let of = |is_crowd: bool| {
        let mut best = None;
        let mut most = overlap;
        for (at, target) in expected.iter().enumerate() {
            let is_free = is_crowd || !taken[at];
            if target.class != found.class || target.is_crowd != is_crowd || !is_free {
                continue;
            }
            let share = match is_crowd {
                true => inside(found, target),
                false => iou(found.corners, target.corners),
            };
            if share >= most {
                (best, most) = (Some(at), share);
            }
        }
        best
    };
    of(false).or_else(|| of(true))
}

/// Returns the share of a box that lies in a crowd.
fn inside(found: &ScoredBox, crowd: &TargetBox) -> f64 {
    let own = area(found.corners);
    let shared = intersection(found.corners, crowd.corners);
    if own > 0.0 { shared / own } else { 0.0 }
}

/// The boxes of a class in all samples.
#[derive(Default)]
struct ClassBoxes {
    found: Vec<MatchedBox>,
    expected: usize,
}

impl ClassBoxes {
    /// Returns the average precision at an overlap.
    fn precision(&self, bit: usize) -> f64 {
        let mut curve = self.curve(1 << bit);
        // From the end, raise each precision to at least the later ones.
        for at in (1..curve.len()).rev() {
            curve[at - 1].1 = curve[at - 1].1.max(curve[at].1);
        }
        let at_recall = |percent: u32| {
            let recall = f64::from(percent) / f64::from(RECALLS);
            let place = curve.partition_point(|(known, _)| *known < recall);
            curve.get(place).map_or(0.0, |(_, precision)| *precision)
        };
        (0..=RECALLS).map(at_recall).sum::<f64>() / f64::from(RECALLS + 1)
    }

    /// Returns recall and precision after each counted box.
    fn curve(&self, bit: u16) -> Vec<(f64, f64)> {
        let (mut right, mut all) = (0.0, 0.0);
        let counted = self.found.iter().filter(|found| found.left_out & bit == 0);
        let each = counted.map(|found| {
            right += f64::from(u8::from(found.right & bit != 0));
            all += 1.0;
            (right / self.expected as f64, right / all)
        });
        each.collect()
    }
}
