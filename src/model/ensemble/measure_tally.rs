//! Sums over answers and targets, from which measures are computed.

use super::answers::AnswerKind;
use super::average_precision::BoxTally;
use super::boxes::{ScoredBox, TargetBox};
use super::measure::{Measure, Quality};
use super::measure_counts::{LabelCount, PositionCounts};
use super::rule::label_of;
use super::samples::SampleTarget;

/// Returns whether an answer equals the target: the same class, or exactly the same labels. Values
/// never do.
pub fn is_right(answers: AnswerKind, row: &[f32], target: SampleTarget<'_>) -> bool {
    match (answers, target) {
        (AnswerKind::Classes { .. }, SampleTarget::Class(class)) => label_of(row) == Some(class),
        (AnswerKind::Labels { threshold, .. }, SampleTarget::Row(target)) => {
            let mut pairs = row.iter().zip(target);
            pairs.all(|(p, t)| p.is_finite() && threshold.is_met(*p) == (*t != 0.0))
        }
        _ => false,
    }
}

/// Sums over answers, from which measures are computed. Weights are floats, because older samples
/// may count less.
#[derive(Clone, Debug)]
pub struct MeasureTally {
    answers: AnswerKind,
    /// The samples counted.
    weight: f64,
    sums: MeasureSums,
}

#[derive(Clone, Debug)]
enum MeasureSums {
    Classes {
        right: f64,
    },
    Values {
        squares: f64,
        absolutes: f64,
        cosines: f64,
    },
    Labels {
        exact: f64,
        counts: Vec<LabelCount>,
    },
    Positions(PositionCounts),
    Boxes(BoxTally),
}

impl MeasureTally {
    /// Creates an empty tally.
    pub fn new(answers: AnswerKind) -> Self {
        MeasureTally::with_names(answers, None)
    }

    /// Creates an empty tally for answers whose classes have these names. Token classes may mark
    /// spans.
    pub fn with_names(answers: AnswerKind, names: Option<&[String]>) -> Self {
        MeasureTally {
            answers,
            weight: 0.0,
            sums: match answers {
                AnswerKind::Classes { .. } => MeasureSums::Classes { right: 0.0 },
                AnswerKind::Values { .. } => MeasureSums::Values {
                    squares: 0.0,
                    absolutes: 0.0,
                    cosines: 0.0,
                },
                AnswerKind::Labels { count, .. } => MeasureSums::Labels {
                    exact: 0.0,
                    counts: vec![LabelCount::default(); count.get() as usize],
                },
                AnswerKind::Masks { .. } | AnswerKind::Tokens { .. } => {
                    MeasureSums::Positions(PositionCounts::new(answers, names))
                }
                AnswerKind::Boxes { .. } => MeasureSums::Boxes(BoxTally::default()),
            },
        }
    }

    /// Returns the tally limited to the latest samples, for boxes, whose samples are kept
    /// individually.
    #[must_use]
    pub fn limited_to_latest(mut self, samples: usize) -> Self {
        if let MeasureSums::Boxes(boxes) = &mut self.sums {
            boxes.keep_latest(samples);
        }
        self
    }

    /// Returns the total weight of the counted samples.
    pub fn weight(&self) -> f64 {
        match &self.sums {
            MeasureSums::Boxes(boxes) => boxes.len() as f64,
            _ => self.weight,
        }
    }

    /// Counts an answer. An answer with NaN or infinities is a wrong class, has no labels, and is
    /// left out of the errors of values. A target of another kind is left out.
    pub fn add(&mut self, row: &[f32], target: SampleTarget<'_>) {
        match (self.answers, target) {
            (AnswerKind::Classes { .. }, SampleTarget::Class(class)) => {
                self.add_class(label_of(row) == Some(class));
            }
            (AnswerKind::Values { .. }, SampleTarget::Row(target)) => self.add_values(row, target),
            (AnswerKind::Labels { threshold, .. }, SampleTarget::Row(target)) => {
                let sound = row.iter().all(|p| p.is_finite());
                let given = row.iter().map(|p| sound && threshold.is_met(*p));
                self.add_labels(given, target);
            }
            (AnswerKind::Masks { .. } | AnswerKind::Tokens { .. }, SampleTarget::Row(target)) => {
                self.add_positions(row, target);
            }
            (AnswerKind::Boxes { .. }, SampleTarget::Boxes(target)) => self.add_boxes(row, target),
            _ => {}
        }
    }

    /// Counts the similarity of two answers. The second answer serves as the target.
    pub fn add_alike(&mut self, row: &[f32], other: &[f32]) {
        match self.answers {
            AnswerKind::Classes { .. } => {
                let class = label_of(other);
                self.add_class(class.is_some() && label_of(row) == class);
            }
            AnswerKind::Values { .. } => self.add_values(row, other),
            AnswerKind::Labels { threshold, .. } => {
                let given = |p: f32| f32::from(u8::from(threshold.is_met(p)));
                let target: Vec<f32> = other.iter().map(|p| given(*p)).collect();
                self.add_labels(row.iter().map(|p| threshold.is_met(*p)), &target);
            }
            AnswerKind::Masks { .. } | AnswerKind::Tokens { .. } => {
                let positions = self.answers.positions();
                let target = positions.and_then(|positions| positions.classes(other));
                let target = target.unwrap_or_default();
                let target: Vec<f32> = target.iter().map(|class| *class as f32).collect();
                self.add_positions(row, &target);
            }
            AnswerKind::Boxes { .. } => {
                let other = self.answers.boxes().and_then(|rows| rows.boxes(other));
                let target = |found: &ScoredBox| TargetBox {
                    class: found.class,
                    corners: found.corners,
                    is_crowd: false,
                };
                let target: Vec<TargetBox> = other.iter().flatten().map(target).collect();
                self.add_boxes(row, &target);
            }
        }
    }

    /// Counts the boxes of an answer. An answer with NaN or infinities has no boxes.
    fn add_boxes(&mut self, row: &[f32], target: &[TargetBox]) {
        let found = self.answers.boxes().and_then(|rows| rows.boxes(row));
        if let MeasureSums::Boxes(boxes) = &mut self.sums {
            boxes.add(found.unwrap_or_default(), target);
        }
    }

    /// Counts the classes of an answer. All classes of an answer with NaN or infinities are wrong.
    fn add_positions(&mut self, row: &[f32], target: &[f32]) {
        let classes = self
            .answers
            .positions()
            .map(|positions| positions.classes(row));
        if let (MeasureSums::Positions(counts), Some(classes)) = (&mut self.sums, classes) {
            self.weight += 1.0;
            counts.add(classes.as_deref(), target);
        }
    }

    fn add_class(&mut self, is_right: bool) {
        self.weight += 1.0;
        if let (MeasureSums::Classes { right }, true) = (&mut self.sums, is_right) {
            *right += 1.0;
        }
    }

    fn add_values(&mut self, row: &[f32], target: &[f32]) {
        let MeasureSums::Values {
            squares,
            absolutes,
            cosines,
        } = &mut self.sums
        else {
            return;
        };
        if row.iter().any(|v| !v.is_finite()) {
            return;
        }
        self.weight += 1.0;
        let (mut dot, mut of_row, mut of_target) = (0.0, 0.0, 0.0);
        for (value, target) in row.iter().zip(target) {
            let (value, target) = (f64::from(*value), f64::from(*target));
            *squares += (value - target).powi(2);
            *absolutes += (value - target).abs();
            dot += value * target;
            of_row += value * value;
            of_target += target * target;
        }
        let lengths = (of_row * of_target).sqrt();
        *cosines += if lengths > 0.0 { dot / lengths } else { 0.0 };
    }

    fn add_labels(&mut self, given: impl Iterator<Item = bool>, target: &[f32]) {
        let MeasureSums::Labels { exact, counts } = &mut self.sums else {
            return;
        };
        self.weight += 1.0;
        let mut all = true;
        for ((count, given), target) in counts.iter_mut().zip(given).zip(target) {
            let expected = *target != 0.0;
            all &= given == expected;
            match (given, expected) {
                (true, true) => count.right += 1.0,
                (true, false) => count.wrong += 1.0,
                (false, true) => count.missed += 1.0,
                (false, false) => {}
            }
        }
        *exact += f64::from(u8::from(all));
    }

    /// Multiplies the weight of all samples by a factor.
    pub fn fade(&mut self, factor: f64) {
        self.weight *= factor;
        match &mut self.sums {
            MeasureSums::Classes { right } => *right *= factor,
            MeasureSums::Values {
                squares,
                absolutes,
                cosines,
            } => {
                *squares *= factor;
                *absolutes *= factor;
                *cosines *= factor;
            }
            MeasureSums::Labels { exact, counts } => {
                *exact *= factor;
                counts.iter_mut().for_each(|count| count.fade(factor));
            }
            MeasureSums::Positions(counts) => counts.fade(factor),
            // Only the latest samples count.
            MeasureSums::Boxes(_) => {}
        }
    }

    /// Returns the value of a measure, or `None` if the measure does not apply to the answers or
    /// nothing relevant was counted.
    pub fn value(&self, measure: Measure) -> Option<f64> {
        if self.weight() <= 0.0 {
            return None;
        }
        let of_all = |sum: f64| Some(sum / self.weight);
        let of_values = |sum: f64| sum / (self.weight * self.answers.width() as f64);
        match (measure, &self.sums) {
            (Measure::Accuracy, MeasureSums::Classes { right }) => of_all(*right),
            (Measure::Rmse, MeasureSums::Values { squares, .. }) => {
                Some(of_values(*squares).sqrt())
            }
            (Measure::MeanAbsoluteError, MeasureSums::Values { absolutes, .. }) => {
                Some(of_values(*absolutes))
            }
            (Measure::MeanCosine, MeasureSums::Values { cosines, .. }) => of_all(*cosines),
            (Measure::ExactMatch, MeasureSums::Labels { exact, .. }) => of_all(*exact),
            (Measure::MicroF1, MeasureSums::Labels { counts, .. }) => {
                let all = counts.iter().fold(LabelCount::default(), LabelCount::and);
                all.f1()
            }
            (Measure::MacroF1, MeasureSums::Labels { counts, .. }) => {
                let each: Vec<f64> = counts.iter().filter_map(|count| count.f1()).collect();
                (!each.is_empty()).then(|| each.iter().sum::<f64>() / each.len() as f64)
            }
            (measure, MeasureSums::Positions(counts)) => counts.value(measure),
            (measure, MeasureSums::Boxes(boxes)) => boxes.value(measure),
            _ => None,
        }
    }

    /// Returns every measure that applies to the answers and has a value, the main one first.
    pub fn qualities(&self) -> Vec<Quality> {
        let suited = Measure::suited(self.answers).iter();
        let quality = |measure: &Measure| self.quality(*measure);
        suited.filter_map(quality).collect()
    }

    /// Returns the value of a measure with its name, or `None` as [`MeasureTally::value`].
    pub fn quality(&self, measure: Measure) -> Option<Quality> {
        let value = self.value(measure)?;
        Some(Quality { measure, value })
    }
}
