//! Compares answers with those in float32: the share of equal classes and the largest difference.

use divisi_engine::serving::Answer;
use divisi_model::ensemble::{Ensemble, OwnAnswers, label_of};
use divisi_runtime::device::MemberIndex;
use serde::Serialize;

use crate::cli::output::columns;

/// The answers of an ensemble or a pipeline to all samples, and the answers of each member.
pub(super) struct AnswerRows {
    width: usize,
    own: OwnAnswers,
    together: Vec<f32>,
    members: Vec<Vec<f32>>,
}

impl AnswerRows {
    /// Reserves space for the answers to `samples` samples.
    pub(super) fn new(ensemble: &Ensemble, samples: usize) -> Self {
        let width = ensemble.answer_width();
        let rows = || vec![0.0; samples * width];
        AnswerRows {
            width,
            own: ensemble.own_answers(),
            together: rows(),
            members: alone(ensemble).map(|_| rows()).collect(),
        }
    }

    /// Stores the answers to the samples from `first` on.
    pub(super) fn add(&mut self, first: usize, answer: &Answer) {
        let width = self.width;
        let into = |rows: &mut [f32], at: usize, row: &[f32]| {
            let place = rows.chunks_exact_mut(width).nth(first + at);
            let both = place.into_iter().flatten().zip(row);
            both.for_each(|(to, value)| *to = *value);
        };
        for (at, row) in answer.rows().enumerate() {
            into(&mut self.together, at, row);
        }
        for (member, rows) in MemberIndex::enumerate(&mut self.members) {
            for (at, row) in answer.member_rows(member).enumerate() {
                into(rows, at, &self.own.answer(member, row));
            }
        }
    }

    fn row(&self, rows: &[f32], at: usize) -> Vec<f32> {
        let row = rows.chunks_exact(self.width).nth(at);
        row.map(<[f32]>::to_vec).unwrap_or_default()
    }
}

/// Returns the members that answer samples. The members of a pipeline answer steps instead.
fn alone(ensemble: &Ensemble) -> impl Iterator<Item = &str> {
    let members = ensemble.members.iter();
    let are_alone = ensemble.pipeline.is_none();
    members
        .filter(move |_| are_alone)
        .map(|member| member.name.as_str())
}

/// Counts how answers in another precision differ from those in float32.
pub(super) struct LikenessCount<'a> {
    float32: &'a AnswerRows,
    together: DifferenceCount,
    members: Vec<DifferenceCount>,
}

#[derive(Clone, Copy, Default)]
struct DifferenceCount {
    samples: usize,
    same: usize,
    largest: f64,
}

impl DifferenceCount {
    fn add(&mut self, float32: &[f32], found: &[f32]) {
        let differences = float32.iter().zip(found);
        let differences = differences.map(|(a, b)| f64::from((a - b).abs()));
        self.samples += 1;
        self.same += usize::from(label_of(float32) == label_of(found));
        self.largest = differences.fold(self.largest, f64::max);
    }
}

impl<'a> LikenessCount<'a> {
    /// Starts a comparison with the answers in float32.
    pub(super) fn compared_with(float32: &'a AnswerRows) -> Self {
        LikenessCount {
            float32,
            together: DifferenceCount::default(),
            members: vec![DifferenceCount::default(); float32.members.len()],
        }
    }

    /// Counts the answers to the samples from `first` on.
    pub(super) fn add(&mut self, first: usize, answer: &Answer) {
        let float32 = self.float32;
        for (at, row) in answer.rows().enumerate() {
            let exact = float32.row(&float32.together, first + at);
            self.together.add(&exact, row);
        }
        let both = self.members.iter_mut().zip(&float32.members);
        for (member, (count, exact)) in MemberIndex::enumerate(both) {
            for (at, row) in answer.member_rows(member).enumerate() {
                let exact = float32.row(exact, first + at);
                count.add(&exact, &float32.own.answer(member, row));
            }
        }
    }

    /// Returns the counts as a report.
    pub(super) fn report(&self, ensemble: &Ensemble) -> LikenessReport {
        let row = |name: &str, count: &DifferenceCount| LikenessRow {
            name: name.to_owned(),
            agreement: ensemble
                .answers
                .is_of_classes()
                .then(|| count.same as f64 / count.samples.max(1) as f64),
            largest_difference: count.largest,
        };
        let together = match ensemble.pipeline {
            Some(_) => super::PIPELINE,
            None => "ensemble",
        };
        let members = alone(ensemble).zip(&self.members);
        LikenessReport {
            together: row(together, &self.together),
            members: members.map(|(name, count)| row(name, count)).collect(),
        }
    }
}

/// The differences between the answers in one precision and in float32, of the whole ensemble or
/// pipeline and of each member.
#[derive(Serialize)]
pub(super) struct LikenessReport {
    #[serde(flatten)]
    together: LikenessRow,
    members: Vec<LikenessRow>,
}

#[derive(Serialize)]
struct LikenessRow {
    name: String,
    /// The share of samples with the same class in both, 0 to 1, or `None` if answers are not
    /// classes.
    #[serde(skip_serializing_if = "Option::is_none")]
    agreement: Option<f64>,
    /// The largest difference between two values of answers.
    largest_difference: f64,
}

impl LikenessReport {
    /// Returns a table with a line for each member and one for the whole.
    pub(super) fn text(&self) -> String {
        let head = ["vs f32", "same class", "largest difference"].map(str::to_owned);
        let rows = self.members.iter().chain([&self.together]);
        let rows: Vec<[String; 3]> = std::iter::once(head)
            .chain(rows.map(LikenessRow::cells))
            .collect();
        columns(&rows).trim_end().to_owned()
    }
}

impl LikenessRow {
    fn cells(&self) -> [String; 3] {
        let share = |share: f64| format!("{:.2} %", 100.0 * share);
        [
            format!("  {}", self.name),
            self.agreement.map_or_else(|| "–".to_owned(), share),
            format!("{:.2e}", self.largest_difference),
        ]
    }
}
