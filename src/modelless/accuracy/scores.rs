//! The checked scores of members for labelled rows.

use thiserror::Error;

use super::members::MemberSet;

/// The largest magnitude of a score: sums of 64 scores are exact (see `tally.rs`).
const GREATEST_SCORE: f32 = 1024.0;

/// The scores of each member for each class of each labelled row.
#[derive(Clone, Debug)]
pub struct ScoreTable {
    members: usize,
    classes: usize,
    /// `[members, rows, classes]`.
    scores: Vec<f32>,
    labels: Vec<u32>,
}

/// A table of scores on which no accuracy can be counted.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum ScoreTableError {
    /// There are no members, or more than a set can contain.
    #[error("expected 1 to 64 members, found {0}")]
    Members(usize),
    /// There are fewer than two classes.
    #[error("expected at least 2 classes, found {0}")]
    Classes(usize),
    /// There are no labelled rows, or too many.
    #[error("expected 1 to 4294967295 labelled rows, found {0}")]
    Rows(usize),
    /// The number of scores does not match the members, rows and classes.
    #[error(
        "expected {expected} scores ({members} members x {rows} rows x {classes} classes), found {found}"
    )]
    Shape {
        /// The number of members.
        members: usize,
        /// The number of labels.
        rows: usize,
        /// The number of classes.
        classes: usize,
        /// The expected number of scores.
        expected: usize,
        /// The number of scores found.
        found: usize,
    },
    /// A score is not a number or too large.
    #[error(
        "member {member}, row {row}, class {class}: expected a score from -1024 to 1024, found {found}"
    )]
    Score {
        /// The member, counted from 0.
        member: usize,
        /// The row, counted from 0.
        row: usize,
        /// The class, counted from 0.
        class: usize,
        /// The score.
        found: f32,
    },
    /// A label is not a class.
    #[error("row {row}: expected a label from 0 to {last}, found {found}")]
    Label {
        /// The row, counted from 0.
        row: usize,
        /// The last class.
        last: usize,
        /// The label.
        found: u32,
    },
}

impl ScoreTable {
    /// Creates a table from scores (`[members, rows, classes]`) and a label for each row.
    ///
    /// # Errors
    /// Returns an error if the sizes do not match, a score is not a number, or a label is not a
    /// class.
    pub fn new(
        members: usize,
        classes: usize,
        scores: Vec<f32>,
        labels: Vec<u32>,
    ) -> Result<Self, ScoreTableError> {
        let table = ScoreTable {
            members,
            classes,
            scores,
            labels,
        };
        table.check_shape()?;
        table.check_labels()?;
        table.check_scores()?;
        Ok(table)
    }

    fn check_shape(&self) -> Result<(), ScoreTableError> {
        let (members, rows, classes) = (self.members, self.rows(), self.classes);
        if !(1..=MemberSet::MOST).contains(&members) {
            return Err(ScoreTableError::Members(members));
        }
        if classes < 2 {
            return Err(ScoreTableError::Classes(classes));
        }
        if rows == 0 || u32::try_from(rows).is_err() {
            return Err(ScoreTableError::Rows(rows));
        }
        let (expected, found) = (
            members.saturating_mul(rows).saturating_mul(classes),
            self.scores.len(),
        );
        match expected == found {
            true => Ok(()),
            false => Err(ScoreTableError::Shape {
                members,
                rows,
                classes,
                expected,
                found,
            }),
        }
    }

    fn check_labels(&self) -> Result<(), ScoreTableError> {
        let is_class = |label: u32| usize::try_from(label).is_ok_and(|l| l < self.classes);
        let wrong = self.labels.iter().position(|label| !is_class(*label));
        match wrong {
            None => Ok(()),
            Some(row) => Err(ScoreTableError::Label {
                row,
                last: self.classes - 1,
                found: self.labels[row],
            }),
        }
    }

    fn check_scores(&self) -> Result<(), ScoreTableError> {
        let is_score = |score: &f32| (-GREATEST_SCORE..=GREATEST_SCORE).contains(score);
        let wrong = self.scores.iter().position(|score| !is_score(score));
        match wrong {
            None => Ok(()),
            Some(at) => Err(ScoreTableError::Score {
                member: at / (self.rows() * self.classes),
                row: at / self.classes % self.rows(),
                class: at % self.classes,
                found: self.scores[at],
            }),
        }
    }

    /// Returns the number of members.
    pub fn members(&self) -> usize {
        self.members
    }

    /// Returns the number of labelled rows.
    pub fn rows(&self) -> usize {
        self.labels.len()
    }

    /// Returns the number of classes.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// Returns the scores of one member for one row.
    pub fn scores(&self, member: usize, row: usize) -> &[f32] {
        let at = (member * self.rows() + row) * self.classes;
        &self.scores[at..at + self.classes]
    }

    /// Returns the label of a row.
    pub fn label(&self, row: usize) -> usize {
        self.labels[row] as usize
    }
}
