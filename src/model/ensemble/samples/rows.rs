//! A set of samples: rows of raw values from a file, from memory, or synthetic.

use std::borrow::Cow;
use std::sync::OnceLock;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use divisi_runtime::network::Shape;
use divisi_runtime::reading::ReadError;

use super::error::{no_samples, other_width};
use super::form::ImageLayout;
use super::table::NumberTable;
use super::targets::Targets;
use super::text::SampleText;

/// Rows of raw values (before scaling), with targets if they are known.
#[derive(Clone, Debug, PartialEq)]
pub struct Samples {
    source: SampleSource,
    /// All values as float32, from the first call of [`Samples::values`].
    floats: OnceLock<Vec<f32>>,
    /// The number of skipped rows of the source.
    skipped: usize,
    rows: usize,
    width: usize,
    targets: Option<Targets>,
    /// The text of each sample; empty if samples are not texts.
    texts: Vec<SampleText>,
    /// The names of the samples' files, without extensions; empty if all samples come from one
    /// file.
    names: Vec<String>,
}

/// The source of values.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum SampleSource {
    MadeUp,
    Floats(Vec<f32>),
    File(NumberTable, Shape, ImageLayout),
}

impl Samples {
    /// Creates samples from rows of `width` values.
    ///
    /// # Errors
    /// There are no rows, the last row is incomplete, or the number of labels differs from the
    /// number of rows.
    pub fn new(
        values: Vec<f32>,
        width: usize,
        labels: Option<Vec<usize>>,
    ) -> Result<Self, ReadError> {
        if values.is_empty() || width == 0 {
            return Err(no_samples());
        }
        let rows = values.len() / width;
        if values.len() != rows * width {
            return Err(other_width(width, values.len()));
        }
        let samples = Samples::from_source(SampleSource::Floats(values), rows, width)?;
        match labels {
            Some(labels) => samples.with_labels(labels),
            None => Ok(samples),
        }
    }

    /// Creates `rows` synthetic samples of `width` values from −1 to 1, reproducibly and without
    /// labels. Their values are generated at their first use.
    ///
    /// # Errors
    /// There is no row or value.
    pub fn synthetic(rows: usize, width: usize) -> Result<Self, ReadError> {
        Samples::from_source(SampleSource::MadeUp, rows, width)
    }

    /// Creates samples from `rows` rows of `width` values.
    ///
    /// # Errors
    /// There is no row or value.
    pub(super) fn from_source(
        source: SampleSource,
        rows: usize,
        width: usize,
    ) -> Result<Self, ReadError> {
        if rows == 0 || width == 0 {
            return Err(no_samples());
        }
        Ok(Samples {
            source,
            floats: OnceLock::new(),
            skipped: 0,
            rows,
            width,
            targets: None,
            texts: Vec::new(),
            names: Vec::new(),
        })
    }

    /// Returns the samples with the names of their files.
    #[must_use]
    pub(super) fn named(self, names: Vec<String>) -> Self {
        Samples { names, ..self }
    }

    /// Returns the names of the samples' files, without extensions, or an empty list if all samples
    /// come from one file.
    pub fn names(&self) -> &[String] {
        self.names.get(self.skipped..).unwrap_or_default()
    }

    /// Adds class labels, as [`Samples::with_targets`] does.
    pub(super) fn with_labels(self, labels: Vec<usize>) -> Result<Self, ReadError> {
        self.with_targets(Targets::Classes(labels))
    }

    /// Adds targets, one per sample.
    ///
    /// # Errors
    /// The samples already have targets, or the number of targets differs from the number of
    /// samples.
    pub fn with_targets(mut self, targets: Targets) -> Result<Self, ReadError> {
        let (one, all) = match targets {
            Targets::Classes(_) => ("a label", "labels"),
            Targets::Rows { .. } | Targets::Boxes(_) => ("a row of targets", "targets"),
        };
        if self.targets.is_some() {
            return Err(ReadError::new(format_args!(
                "the samples already have {all}"
            )));
        }
        if targets.len() != self.rows {
            let expected = format_args!("{one} for each of {} samples", self.rows);
            return Err(ReadError::expected(expected, targets.len()));
        }
        self.targets = Some(targets);
        Ok(self)
    }

    /// Takes the targets if there are any and `wanted` is set.
    pub(super) fn take_targets(&mut self, wanted: bool) -> Option<Targets> {
        self.targets.take_if(|_| wanted)
    }

    /// Adds the texts of the samples, one per sample.
    pub(super) fn with_texts(self, texts: Vec<SampleText>) -> Self {
        Samples { texts, ..self }
    }

    /// Skips the first `rows` samples.
    ///
    /// # Errors
    /// No samples are left.
    pub fn skip(mut self, rows: usize) -> Result<Self, ReadError> {
        if rows >= self.len() {
            return Err(no_samples());
        }
        self.skipped += rows;
        self.rows -= rows;
        self.floats = OnceLock::new();
        if let Some(targets) = &mut self.targets {
            targets.skip(rows);
        }
        self.texts.drain(..rows.min(self.texts.len()));
        Ok(self)
    }

    /// Returns the number of samples.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Returns false: there is at least one sample.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Returns the number of values of one sample.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Returns whether the samples are synthetic, and therefore not representative.
    pub fn are_made_up(&self) -> bool {
        matches!(self.source, SampleSource::MadeUp)
    }

    /// Returns the bytes of memory that the values take.
    pub fn bytes(&self) -> usize {
        let of_floats = |values: &Vec<f32>| size_of_val(&values[..]);
        let source = match &self.source {
            SampleSource::MadeUp => 0,
            SampleSource::Floats(values) => of_floats(values),
            SampleSource::File(table, ..) => table.bytes(),
        };
        source + self.floats.get().map_or(0, of_floats)
    }

    /// Returns all values as float32, row by row. If the source has another type, all values are
    /// converted and kept at the first call; [`Samples::rows`] converts only the returned values.
    pub fn values(&self) -> &[f32] {
        let all = self.rows * self.width;
        match self.borrow(0, self.rows) {
            Some(values) => values,
            None => self.floats.get_or_init(|| match self.source {
                SampleSource::MadeUp => {
                    make_up(self.skipped * self.width + all).split_off(self.skipped * self.width)
                }
                _ => self.convert(0, self.rows),
            }),
        }
    }

    /// Returns the values of sample `index` modulo the number of samples, by
    /// [`Samples::values`].
    pub fn row(&self, index: usize) -> &[f32] {
        let i = index % self.len();
        &self.values()[i * self.width..(i + 1) * self.width]
    }

    /// Returns the targets, one per sample, or `None` if they are not known.
    pub fn targets(&self) -> Option<&Targets> {
        self.targets.as_ref()
    }

    /// Returns the texts of the samples, one per sample, or an empty list if samples are not texts.
    pub fn texts(&self) -> &[SampleText] {
        &self.texts
    }

    /// Returns the number of truncated texts.
    pub fn cut_texts(&self) -> usize {
        self.texts.iter().filter(|text| text.is_cut).count()
    }

    /// Returns the labels, one per sample, or `None` if they are not known or not classes.
    pub fn labels(&self) -> Option<&[usize]> {
        match self.targets.as_ref()? {
            Targets::Classes(labels) => Some(labels),
            Targets::Rows { .. } | Targets::Boxes(_) => None,
        }
    }

    /// Returns the values of `count` samples from `first`, starting over after the last sample.
    /// Copies them only if they are not consecutive or not float32.
    pub fn rows(&self, first: usize, count: usize) -> Cow<'_, [f32]> {
        let first = first % self.len();
        if let SampleSource::MadeUp = self.source {
            self.values();
        }
        if first + count <= self.len() {
            return match self.borrow(first, count) {
                Some(values) => Cow::Borrowed(values),
                None => Cow::Owned(self.convert(first, count)),
            };
        }
        let mut values = Vec::with_capacity(count * self.width);
        let (mut at, mut left) = (first, count);
        while left > 0 {
            let piece = left.min(self.len() - at);
            values.extend_from_slice(&self.rows(at, piece));
            left -= piece;
            at = 0;
        }
        Cow::Owned(values)
    }

    /// Returns consecutive samples in place, if they are float32 in the order of networks.
    fn borrow(&self, first: usize, count: usize) -> Option<&[f32]> {
        let from = first * self.width..(first + count) * self.width;
        if let Some(values) = self.floats.get() {
            return values.get(from);
        }
        let skipped = self.skipped * self.width;
        let from = skipped + from.start..skipped + from.end;
        match &self.source {
            SampleSource::Floats(values) => values.get(from),
            SampleSource::File(table, shape, layout) if layout.is_plain(*shape) => {
                table.borrow(from)
            }
            _ => None,
        }
    }

    /// Converts consecutive samples to float32 in the order of networks.
    fn convert(&self, first: usize, count: usize) -> Vec<f32> {
        let mut values = Vec::with_capacity(count * self.width);
        if let SampleSource::File(table, shape, layout) = &self.source {
            let first = (self.skipped + first) * self.width;
            table.read(first..first + count * self.width, &mut values);
            layout.to_planes(*shape, &mut values);
        }
        values
    }

    /// Returns the label of sample `index` modulo the number of samples, or `None` if it is not
    /// known.
    pub fn label(&self, index: usize) -> Option<usize> {
        self.labels().map(|l| l[index % l.len()])
    }
}

fn make_up(values: usize) -> Vec<f32> {
    let mut random = ChaCha8Rng::seed_from_u64(0);
    (0..values)
        .map(|_| random.random_range(-1.0..=1.0))
        .collect()
}
