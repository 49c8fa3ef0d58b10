//! A set of samples: rows of raw values from a file, from memory, or made up.

use std::borrow::Cow;
use std::sync::OnceLock;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use divisi_runtime::network::Shape;

use super::error::SamplesError;
use super::form::ImageLayout;
use super::table::NumberTable;
use super::targets::Targets;
use super::text::SampleText;

/// Rows of raw values (before scaling), with targets where they are known.
#[derive(Clone, Debug, PartialEq)]
pub struct Samples {
    source: SampleSource,
    /// All values as float32, from the first call of [`Samples::values`] on.
    floats: OnceLock<Vec<f32>>,
    /// The number of rows of the source that are left out.
    skipped: usize,
    rows: usize,
    width: usize,
    targets: Option<Targets>,
    /// The text of each sample, or none where samples are no texts.
    texts: Vec<SampleText>,
    /// The names of the files that the samples come from, without their ends; empty where all
    /// come from one.
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
    /// Takes rows of `width` values.
    ///
    /// # Errors
    /// There is no row, the values are no whole number of rows, or there are not as many
    /// labels.
    pub fn new(
        values: Vec<f32>,
        width: usize,
        labels: Option<Vec<usize>>,
    ) -> Result<Self, SamplesError> {
        if values.is_empty() || width == 0 {
            return Err(SamplesError::Empty);
        }
        let rows = values.len() / width;
        if values.len() != rows * width {
            return Err(SamplesError::Width {
                expected: width,
                found: values.len(),
            });
        }
        let samples = Samples::from_source(SampleSource::Floats(values), rows, width)?;
        match labels {
            Some(labels) => samples.with_labels(labels),
            None => Ok(samples),
        }
    }

    /// Creates `rows` synthetic samples of `width` values from −1 to 1, the same each time,
    /// without labels. Their values are made at their first use.
    ///
    /// # Errors
    /// [`SamplesError::Empty`] if there is no row or value.
    pub fn synthetic(rows: usize, width: usize) -> Result<Self, SamplesError> {
        Samples::from_source(SampleSource::MadeUp, rows, width)
    }

    /// Takes `rows` rows of `width` values.
    ///
    /// # Errors
    /// [`SamplesError::Empty`] if there is no row or value.
    pub(super) fn from_source(
        source: SampleSource,
        rows: usize,
        width: usize,
    ) -> Result<Self, SamplesError> {
        if rows == 0 || width == 0 {
            return Err(SamplesError::Empty);
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

    /// Returns the names of the files that the samples come from, without their ends, or
    /// nothing where all come from one.
    pub fn names(&self) -> &[String] {
        self.names.get(self.skipped..).unwrap_or_default()
    }

    /// Adds labels that are classes, as [`Samples::with_targets`] does.
    pub(super) fn with_labels(self, labels: Vec<usize>) -> Result<Self, SamplesError> {
        self.with_targets(Targets::Classes(labels))
    }

    /// Adds targets, one a sample.
    ///
    /// # Errors
    /// There are targets already, or not as many as samples.
    pub fn with_targets(mut self, targets: Targets) -> Result<Self, SamplesError> {
        let (expected, found) = (self.rows, targets.len());
        let are_classes = matches!(targets, Targets::Classes(_));
        match (self.targets.is_some(), are_classes) {
            (true, true) => return Err(SamplesError::LabelledTwice),
            (true, false) => return Err(SamplesError::TargetedTwice),
            (false, true) if found != expected => {
                return Err(SamplesError::Labels { expected, found });
            }
            (false, false) if found != expected => {
                return Err(SamplesError::TargetRows { expected, found });
            }
            (false, _) => self.targets = Some(targets),
        }
        Ok(self)
    }

    /// Takes the targets away, where there are some that are `wanted`.
    pub(super) fn take_targets(&mut self, wanted: bool) -> Option<Targets> {
        self.targets.take_if(|_| wanted)
    }

    /// Adds the texts that the samples were made from, one a sample.
    pub(super) fn with_texts(self, texts: Vec<SampleText>) -> Self {
        Samples { texts, ..self }
    }

    /// Leaves out the first `rows`.
    ///
    /// # Errors
    /// [`SamplesError::Empty`] if none is left.
    pub fn skip(mut self, rows: usize) -> Result<Self, SamplesError> {
        if rows >= self.len() {
            return Err(SamplesError::Empty);
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

    /// Whether the samples are made up, and say nothing of those that are served.
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

    /// Returns all values as float32, row after row. If the source has another type, all of
    /// them are kept from the first call on; [`Samples::rows`] converts only what it returns.
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

    /// Returns the targets, one a sample, if they are known.
    pub fn targets(&self) -> Option<&Targets> {
        self.targets.as_ref()
    }

    /// Returns the texts that the samples were made from, one a sample, or none where samples
    /// are no texts.
    pub fn texts(&self) -> &[SampleText] {
        &self.texts
    }

    /// Returns the number of texts whose end was cut off.
    pub fn cut_texts(&self) -> usize {
        self.texts.iter().filter(|text| text.is_cut).count()
    }

    /// Returns the labels, one a sample, if they are known and are classes.
    pub fn labels(&self) -> Option<&[usize]> {
        match self.targets.as_ref()? {
            Targets::Classes(labels) => Some(labels),
            Targets::Rows { .. } | Targets::Boxes(_) => None,
        }
    }

    /// Returns the values of `count` samples from `first` on, beginning again after the
    /// last. They are copied only if they are not consecutive or not float32.
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

    /// Returns consecutive samples as they lie in memory, if they are float32 in the order
    /// of networks.
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

    /// Returns the label of sample `index` modulo the number of samples, if it is known.
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
