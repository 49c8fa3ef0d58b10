//! Samples from files (CSV with a header, or NumPy's `.npy`), or made up.

use std::borrow::Cow;
use std::sync::OnceLock;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use thiserror::Error;

use crate::network::Shape;

use super::npy::parse_npy;

/// Rows of raw values (before scaling), with labels where the file has them.
#[derive(Clone, Debug, PartialEq)]
pub struct Samples {
    /// Empty while made-up values were not asked for.
    values: OnceLock<Vec<f32>>,
    rows: usize,
    width: usize,
    labels: Option<Vec<usize>>,
}

/// Why a file gives no samples.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum SamplesError {
    #[error("expected a .csv or .npy file")]
    Kind,
    #[error("expected at least one sample, found none")]
    Empty,
    #[error("line {line}: {reason}")]
    Line { line: u64, reason: String },
    #[error("expected {expected} values a sample, found {found}")]
    Width { expected: usize, found: usize },
    #[error("not a readable .npy file: {0}")]
    Npy(String),
    #[error("sample {sample}: value {value} is not a finite number")]
    NotFinite { sample: usize, value: usize },
    #[error("line 1: expected a header that names the columns, found numbers")]
    NoHeader,
}

impl Samples {
    /// Takes rows that a program holds.
    ///
    /// # Errors
    /// There is no row, or the values are no whole number of rows, or labels are not one a row.
    pub fn new(
        values: Vec<f32>,
        width: usize,
        labels: Option<Vec<usize>>,
    ) -> Result<Self, SamplesError> {
        if values.is_empty() || width == 0 {
            return Err(SamplesError::Empty);
        }
        let rows = values.len() / width;
        let labelled = labels.as_ref().is_none_or(|l| l.len() == rows);
        if values.len() != rows * width || !labelled {
            return Err(SamplesError::Width {
                expected: width,
                found: values.len(),
            });
        }
        Ok(Samples {
            values: OnceLock::from(values),
            rows,
            width,
            labels,
        })
    }

    /// `rows` made-up samples of `width` values from −1 to 1, the same each time, without
    /// labels; they are made when they are first asked for.
    ///
    /// # Errors
    /// [`SamplesError::Empty`] where there is no row or value.
    pub fn synthetic(rows: usize, width: usize) -> Result<Self, SamplesError> {
        if rows == 0 || width == 0 {
            return Err(SamplesError::Empty);
        }
        Ok(Samples {
            values: OnceLock::new(),
            rows,
            width,
            labels: None,
        })
    }

    /// Reads the bytes of a file called `name`, with samples of `shape`; labels (the
    /// last column of a CSV, where it is called `label`) are below `classes`.
    ///
    /// # Errors
    /// What is wrong, and in which line.
    pub fn parse(
        name: &str,
        bytes: &[u8],
        shape: Shape,
        classes: Option<usize>,
    ) -> Result<Self, SamplesError> {
        let lower = name.to_ascii_lowercase();
        if lower.ends_with(".csv") {
            parse_csv(bytes, shape.elements(), classes)
        } else if lower.ends_with(".npy") {
            parse_npy(bytes, shape)
        } else {
            Err(SamplesError::Kind)
        }
    }

    /// Leaves out the first `rows`.
    ///
    /// # Errors
    /// [`SamplesError::Empty`] where none is left.
    pub fn skip(mut self, rows: usize) -> Result<Self, SamplesError> {
        if rows >= self.len() {
            return Err(SamplesError::Empty);
        }
        let values = self.values().get(rows * self.width..);
        self.values = OnceLock::from(values.unwrap_or_default().to_vec());
        self.rows -= rows;
        if let Some(labels) = &mut self.labels {
            labels.drain(..rows);
        }
        Ok(self)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Never: samples are at least one.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Values of one sample.
    pub fn width(&self) -> usize {
        self.width
    }

    /// All values, row after row.
    pub fn values(&self) -> &[f32] {
        self.values.get_or_init(|| make_up(self.rows * self.width))
    }

    /// Values of sample `index`, counted round and round.
    pub fn row(&self, index: usize) -> &[f32] {
        let i = index % self.len();
        &self.values()[i * self.width..(i + 1) * self.width]
    }

    /// Labels, one a sample, where they are known.
    pub fn labels(&self) -> Option<&[usize]> {
        self.labels.as_deref()
    }

    /// Values of `count` samples from `first` on, counted round and round; copied only
    /// where they are not neighbours.
    pub fn rows(&self, first: usize, count: usize) -> Cow<'_, [f32]> {
        let first = first % self.len();
        if first + count <= self.len() {
            return Cow::Borrowed(&self.values()[first * self.width..(first + count) * self.width]);
        }
        let rows = (first..first + count).flat_map(|i| self.row(i));
        Cow::Owned(rows.copied().collect())
    }

    /// Labels of `count` samples from `first` on, counted round and round, where they are
    /// known; copied only where they are not neighbours.
    pub fn labels_of(&self, first: usize, count: usize) -> Option<Cow<'_, [usize]>> {
        let labels = self.labels()?;
        let first = first % labels.len();
        Some(match labels.get(first..first + count) {
            Some(neighbours) => Cow::Borrowed(neighbours),
            None => labels
                .iter()
                .cycle()
                .skip(first)
                .take(count)
                .copied()
                .collect(),
        })
    }

    /// The label of sample `index`, counted round and round.
    pub fn label(&self, index: usize) -> Option<usize> {
        self.labels.as_ref().map(|l| l[index % l.len()])
    }
}

fn make_up(values: usize) -> Vec<f32> {
    let mut random = ChaCha8Rng::seed_from_u64(0);
    (0..values)
        .map(|_| random.random_range(-1.0..=1.0))
        .collect()
}

fn parse_csv(bytes: &[u8], width: usize, classes: Option<usize>) -> Result<Samples, SamplesError> {
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(bytes);
    let wrong = |line: u64, reason: String| SamplesError::Line { line, reason };
    let header = reader
        .headers()
        .map_err(|e| wrong(1, e.to_string()))?
        .clone();
    if !header.is_empty() && header.iter().all(|h| h.trim().parse::<f64>().is_ok()) {
        return Err(SamplesError::NoHeader);
    }
    let labelled = header.iter().next_back().map(str::trim) == Some("label");
    let columns = width + usize::from(labelled);
    if header.len() != columns {
        return Err(SamplesError::Width {
            expected: width,
            found: header.len() - usize::from(labelled && !header.is_empty()),
        });
    }
    let (mut values, mut labels) = (Vec::new(), Vec::new());
    for record in reader.records() {
        let record = record
            .map_err(|e| wrong(e.position().map_or(0, csv::Position::line), e.to_string()))?;
        let line = record.position().map_or(0, csv::Position::line);
        if record.len() != columns {
            let why = format!("expected {columns} columns, found {}", record.len());
            return Err(wrong(line, why));
        }
        for (column, text) in record.iter().take(width).enumerate() {
            let value = text.trim().parse::<f32>().ok().filter(|v| v.is_finite());
            values.push(value.ok_or_else(|| {
                let name = &header[column];
                let why = format!("column {name}: expected a finite number, found `{text}`");
                wrong(line, why)
            })?);
        }
        if labelled {
            labels.push(parse_label(&record[width], classes).map_err(|why| wrong(line, why))?);
        }
    }
    Samples::new(values, width, labelled.then_some(labels))
}

fn parse_label(text: &str, classes: Option<usize>) -> Result<usize, String> {
    let most = classes.unwrap_or(usize::MAX);
    text.trim()
        .parse::<usize>()
        .ok()
        .filter(|&label| label < most)
        .ok_or_else(|| format!("column label: expected a class below {most}, found `{text}`"))
}
