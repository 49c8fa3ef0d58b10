//! Compares answers with those in float32: the share of equal classes and the largest difference.

use divisi_engine::serving::Answer;
use divisi_model::ensemble::{Ensemble, OwnAnswers, label_of};
use divisi_runtime::device::MemberIndex;
use serde::Serialize;

use crate::cli::tables::columns;

/// The answers of an ensemble or a pipeline to all samples, then those of each member.
pub(super) struct AnswerRows {
    own: OwnAnswers,
    parts: Vec<Vec<Vec<f32>>>,
}

impl AnswerRows {
    /// Reserves space for the answers to `samples` samples.
    pub(super) fn new(ensemble: &Ensemble, samples: usize) -> Self {
        AnswerRows {
            own: ensemble.own_answers(),
            parts: vec![vec![Vec::new(); samples]; 1 + alone(ensemble).count()],
        }
    }

    /// Stores the answers to the samples from `first` on.
    pub(super) fn add(&mut self, first: usize, answer: &Answer) {
        each_row(&self.own, self.parts.len() - 1, answer, |part, at, row| {
            if let Some(kept) = self.parts[place(part)].get_mut(first + at) {
                *kept = row.to_vec();
            }
        });
    }
}

/// Returns the place of a member's rows, or of those of the whole.
fn place(part: Option<MemberIndex>) -> usize {
    part.map_or(0, |member| 1 + member.get())
}

/// Calls `each` with the sample and the row of an answer, of the whole and of each member.
pub(super) fn each_row(
    own: &OwnAnswers,
    members: usize,
    answer: &Answer,
    mut each: impl FnMut(Option<MemberIndex>, usize, &[f32]),
) {
    for (at, row) in answer.rows().enumerate() {
        each(None, at, row);
    }
    for member in MemberIndex::all(members) {
        for (at, row) in answer.member_rows(member).enumerate() {
            each(Some(member), at, &own.answer(member, row));
        }
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
    /// The counts of the whole and of each member.
    parts: Vec<DifferenceCount>,
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
            parts: vec![DifferenceCount::default(); float32.parts.len()],
        }
    }

    /// Counts the answers to the samples from `first` on.
    pub(super) fn add(&mut self, first: usize, answer: &Answer) {
        let AnswerRows { own, parts } = self.float32;
        each_row(own, parts.len() - 1, answer, |part, at, row| {
            let part = place(part);
            let exact = parts[part].get(first + at);
            self.parts[part].add(exact.map_or(&[], Vec::as_slice), row);
        });
    }

    /// Returns the counts as a report.
    pub(super) fn report(&self, ensemble: &Ensemble) -> LikenessReport {
        let are_classes = ensemble.answers.is_of_classes();
        let row = |(name, count): (&str, &DifferenceCount)| LikenessRow {
            name: name.to_owned(),
            agreement: are_classes.then(|| count.same as f64 / count.samples.max(1) as f64),
            largest_difference: count.largest,
        };
        let together = match ensemble.pipeline {
            Some(_) => super::PIPELINE,
            None => "ensemble",
        };
        let mut counts = self.parts.iter();
        LikenessReport {
            together: row((
                together,
                counts.next().unwrap_or(&DifferenceCount::default()),
            )),
            members: alone(ensemble).zip(counts).map(row).collect(),
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
        let head = ["vs f32", "same class", "largest difference"];
        let rows = self.members.iter().chain([&self.together]);
        let table = columns(&head, rows.map(LikenessRow::cells));
        table.trim_end().to_owned()
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
