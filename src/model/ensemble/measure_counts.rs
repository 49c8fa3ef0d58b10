//! Counts of right, wrong and missed labels, pixels, tokens and spans.

use super::answers::AnswerKind;
use super::measure::Measure;
use super::samples::IGNORED;
use super::tags::{TagScheme, TokenSpan, TokenTags};

/// The counts of one label: given rightly, given wrongly and missed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LabelCount {
    pub right: f64,
    pub wrong: f64,
    pub missed: f64,
}

impl LabelCount {
    /// Returns F1, or `None` if the label is neither given nor expected.
    pub(super) fn f1(self) -> Option<f64> {
        let all = 2.0 * self.right + self.wrong + self.missed;
        (all > 0.0).then(|| 2.0 * self.right / all)
    }

    pub(super) fn and(self, other: &LabelCount) -> LabelCount {
        LabelCount {
            right: self.right + other.right,
            wrong: self.wrong + other.wrong,
            missed: self.missed + other.missed,
        }
    }

    /// Returns the intersection over union.
    fn iou(self) -> Option<f64> {
        let all = self.right + self.wrong + self.missed;
        (all > 0.0).then(|| self.right / all)
    }

    /// Reduces the counts by a factor.
    pub(super) fn fade(&mut self, factor: f64) {
        self.right *= factor;
        self.wrong *= factor;
        self.missed *= factor;
    }
}

/// Counts over the positions of answers.
#[derive(Clone, Debug)]
pub(super) struct PositionCounts {
    /// The positions whose target is known.
    counted: f64,
    right: f64,
    /// The counts of each class, by its number.
    classes: Vec<LabelCount>,
    /// The class that per-class measures leave out.
    left_out: Option<usize>,
    /// The tags of tokens that mark spans, and the counts of spans.
    spans: Option<(TokenTags, LabelCount)>,
}

impl PositionCounts {
    /// Creates empty counts for answers whose classes have these names.
    pub(super) fn new(answers: AnswerKind, names: Option<&[String]>) -> Self {
        let positions = answers.positions();
        let scheme = match answers {
            AnswerKind::Tokens { scheme, .. } => scheme,
            _ => TagScheme::Plain,
        };
        let tags = names.filter(|_| scheme == TagScheme::Spans);
        PositionCounts {
            counted: 0.0,
            right: 0.0,
            classes: vec![LabelCount::default(); positions.map_or(0, |p| p.numbers())],
            left_out: match scheme {
                TagScheme::Outside { class } => Some(class as usize),
                // The class number of positions outside the only class.
                _ => positions.filter(|p| p.is_binary()).map(|_| 0),
            },
            spans: tags.map(|names| (TokenTags::from_names(names), LabelCount::default())),
        }
    }

    /// Counts the classes of an answer, if there is one. Targets below 0 are not counted.
    pub(super) fn add(&mut self, found: Option<&[u32]>, target: &[f32]) {
        let known = target.iter().enumerate().filter(|(_, t)| **t != IGNORED);
        let pairs = known.map(|(at, t)| (found.and_then(|f| f.get(at).copied()), *t as u32));
        let pairs: Vec<(Option<u32>, u32)> = pairs.collect();
        for (found, expected) in &pairs {
            self.add_class(*found, *expected);
        }
        if let Some((tags, count)) = &mut self.spans {
            let expected: Vec<u32> = pairs.iter().map(|(_, expected)| *expected).collect();
            let found: Option<Vec<u32>> = pairs.iter().map(|(found, _)| *found).collect();
            let found = found.map_or_else(Vec::new, |found| tags.spans(&found));
            count_spans(&found, &tags.spans(&expected), count);
        }
    }

    fn add_class(&mut self, found: Option<u32>, expected: u32) {
        self.counted += 1.0;
        let is_right = found == Some(expected);
        self.right += f64::from(u8::from(is_right));
        if let Some(count) = self.classes.get_mut(expected as usize) {
            match is_right {
                true => count.right += 1.0,
                false => count.missed += 1.0,
            }
        }
        let wrong = found.filter(|_| !is_right);
        if let Some(count) = wrong.and_then(|class| self.classes.get_mut(class as usize)) {
            count.wrong += 1.0;
        }
    }

    /// Multiplies the weight of all counts by a factor.
    pub(super) fn fade(&mut self, factor: f64) {
        self.counted *= factor;
        self.right *= factor;
        self.classes.iter_mut().for_each(|count| count.fade(factor));
        if let Some((_, count)) = &mut self.spans {
            count.fade(factor);
        }
    }

    /// Returns the value of a measure, or `None` if nothing relevant was counted.
    pub(super) fn value(&self, measure: Measure) -> Option<f64> {
        match measure {
            Measure::PixelAccuracy | Measure::TokenAccuracy => {
                (self.counted > 0.0).then(|| self.right / self.counted)
            }
            Measure::MeanIou => {
                let each: Vec<f64> = self.classes().filter_map(|count| count.iou()).collect();
                (!each.is_empty()).then(|| each.iter().sum::<f64>() / each.len() as f64)
            }
            Measure::MicroF1 => {
                let all = self
                    .classes()
                    .fold(LabelCount::default(), |all, one| all.and(one));
                all.f1()
            }
            Measure::SpanF1 => self.spans.as_ref()?.1.f1(),
            _ => None,
        }
    }

    /// Returns the counts of the classes that per-class measures use.
    fn classes(&self) -> impl Iterator<Item = &LabelCount> {
        let numbered = self.classes.iter().enumerate();
        let counted = numbered.filter(|(class, _)| Some(*class) != self.left_out);
        counted.map(|(_, count)| count)
    }
}

/// Counts spans. A span is right if both sorted lists contain it.
fn count_spans(found: &[TokenSpan], expected: &[TokenSpan], count: &mut LabelCount) {
    let right = found.iter().filter(|span| {
        let place = expected.binary_search_by_key(&span.1, |other| other.1);
        place.is_ok_and(|at| expected[at] == **span)
    });
    let right = right.count();
    count.right += right as f64;
    count.wrong += (found.len() - right) as f64;
    count.missed += (expected.len() - right) as f64;
}
