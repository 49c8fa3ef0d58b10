//! The form of samples, known before their file is read: shape, layout, classes; and the errors in
//! files of samples and labels.

use std::str::FromStr;

use serde::Deserialize;
use thiserror::Error;

use crate::ensemble::answers::AnswerKind;
use crate::network::Shape;

use super::npy::NpyError;
use super::targets::TargetColumns;

/// The order in which files hold the values of an image. Networks take channels first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ImageLayout {
    /// Channel by channel: `[channels, height, width]`, as PyTorch has them.
    #[default]
    Nchw,
    /// Pixel by pixel: `[height, width, channels]`, as files of images and TensorFlow
    /// have them.
    Nhwc,
}

impl ImageLayout {
    /// Every layout.
    pub const ALL: [ImageLayout; 2] = [ImageLayout::Nchw, ImageLayout::Nhwc];

    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            ImageLayout::Nchw => "nchw",
            ImageLayout::Nhwc => "nhwc",
        }
    }

    /// Returns the dimensions of a sample in a file.
    pub fn dimensions(self, shape: Shape) -> Vec<usize> {
        match (self, shape) {
            (
                ImageLayout::Nhwc,
                Shape::Image {
                    channels,
                    height,
                    width,
                },
            ) => vec![height, width, channels],
            _ => shape.into(),
        }
    }

    /// Whether files hold samples of `shape` in the order of networks.
    pub fn is_plain(self, shape: Shape) -> bool {
        let many = matches!(shape, Shape::Image { channels: 2.., .. });
        self == ImageLayout::Nchw || !many
    }

    /// Converts samples of `shape` from this layout to the order of networks, in place.
    pub fn to_planes(self, shape: Shape, samples: &mut [f32]) {
        let Shape::Image {
            channels,
            height,
            width,
        } = shape
        else {
            return;
        };
        if self.is_plain(shape) {
            return;
        }
        let plane = height * width;
        let mut planes = vec![0.0; channels * plane];
        for sample in samples.chunks_exact_mut(channels * plane) {
            for (pixel, values) in sample.chunks_exact(channels).enumerate() {
                for (channel, value) in values.iter().enumerate() {
                    planes[channel * plane + pixel] = *value;
                }
            }
            sample.copy_from_slice(&planes);
        }
    }
}

impl FromStr for ImageLayout {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = ImageLayout::ALL.into_iter().find(|l| l.name() == text);
        found.ok_or_else(|| format!("expected nchw or nhwc, found `{text}`"))
    }
}

/// The form of samples, known before their file is read.
#[derive(Clone, Copy, Debug)]
pub struct SampleForm<'a> {
    /// The shape of one sample, as networks take it.
    pub shape: Shape,
    /// The order in which files hold the values of images.
    pub layout: ImageLayout,
    /// The classes that labels may name.
    pub classes: Classes<'a>,
    /// The columns of targets that are rows of numbers, in place of classes.
    pub rows: Option<TargetColumns<'a>>,
}

/// The classes that labels may name.
#[derive(Clone, Copy, Debug)]
pub struct Classes<'a> {
    /// The number of classes.
    pub count: usize,
    /// Their names, if they have any.
    pub names: Option<&'a [String]>,
}

/// Reads a whole number, which may be written with a fraction of 0: `3.0`.
fn whole(text: &str) -> Option<usize> {
    let digits = match text.split_once('.') {
        Some((digits, fraction)) if fraction.bytes().all(|b| b == b'0') => digits,
        _ => text,
    };
    digits.parse().ok()
}

/// The most names of classes in a message.
const MOST_NAMES: usize = 5;

impl<'a> SampleForm<'a> {
    /// Creates the form of samples of a shape, channels first, with labels of any class.
    pub fn new(shape: Shape) -> Self {
        SampleForm {
            shape,
            layout: ImageLayout::default(),
            classes: Classes::any(),
            rows: None,
        }
    }

    /// Returns the form with targets of answers of a kind, whose classes, values or labels
    /// have these names.
    #[must_use]
    pub fn answers(self, answers: AnswerKind, names: Option<&'a [String]>) -> Self {
        let count = answers.width();
        let are_labels = match answers {
            AnswerKind::Classes { .. } => return self.classes(count, names),
            AnswerKind::Values { .. } => false,
            AnswerKind::Labels { .. } => true,
        };
        let rows = TargetColumns {
            count,
            names,
            are_labels,
        };
        SampleForm {
            rows: Some(rows),
            ..self
        }
    }

    /// Returns the form with labels below `count`.
    #[must_use]
    pub fn classes(self, count: usize, names: Option<&'a [String]>) -> Self {
        let classes = Classes { count, names };
        SampleForm { classes, ..self }
    }
}

impl Classes<'_> {
    /// Returns classes of which every number is one.
    pub fn any() -> Self {
        Classes {
            count: usize::MAX,
            names: None,
        }
    }

    /// Returns the class of that number.
    ///
    /// # Errors
    /// There is none.
    pub fn numbered(&self, number: i128) -> Result<usize, ClassError> {
        let class = usize::try_from(number).ok().filter(|&c| c < self.count);
        class.ok_or_else(|| self.expected(&number.to_string()))
    }

    /// Returns the class that a text names, by its name or its number.
    ///
    /// # Errors
    /// There is none, or the text is the name of one class and the number of another.
    pub fn named(&self, text: &str) -> Result<usize, ClassError> {
        let text = text.trim();
        let names = self.names.unwrap_or_default();
        let by_name = names.iter().position(|name| name == text);
        let by_number = whole(text).filter(|&c| c < self.count);
        match (by_name, by_number) {
            (Some(name), Some(number)) if name != number => Err(ClassError::Ambiguous {
                text: text.to_owned(),
                name,
                number,
            }),
            (Some(class), _) | (None, Some(class)) => Ok(class),
            (None, None) => Err(self.expected(text)),
        }
    }

    fn expected(&self, found: &str) -> ClassError {
        let found = found.escape_debug().to_string();
        let mut expected = format!("a class below {}", self.count);
        if let Some(names) = self.names {
            let shown = names.iter().take(MOST_NAMES).map(|n| format!("`{n}`"));
            let shown = shown.collect::<Vec<_>>().join(", ");
            expected += &format!(" or one of {shown}");
            if let Some(more @ 1..) = names.len().checked_sub(MOST_NAMES) {
                expected += &format!(" and {more} more");
            }
        }
        ClassError::Unknown { expected, found }
    }
}

/// Why a file has no samples or labels that can be used.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum SamplesError {
    /// The name is not that of a kind of file that can be read.
    #[error("expected a .csv or .npy file")]
    Kind,
    /// There is no sample.
    #[error("expected at least one sample, found none")]
    Empty,
    /// An error in a line of a CSV.
    #[error("line {line}: {reason}")]
    Line {
        /// The line, from 1.
        line: u64,
        /// The reason, as it is shown.
        reason: String,
    },
    /// A label of an `.npy` is wrong.
    #[error("row {row}: {error}")]
    Row {
        /// The row, from 0.
        row: usize,
        /// The error of its label.
        error: ClassError,
    },
    /// The samples have another number of values.
    #[error("expected {expected} values a sample, found {found}")]
    Width {
        /// Values of a sample of the ensemble.
        expected: usize,
        /// Values of a sample of the file.
        found: usize,
    },
    /// There are not as many labels as samples.
    #[error("expected a label for each of {expected} samples, found {found}")]
    Labels {
        /// The number of samples.
        expected: usize,
        /// The number of labels.
        found: usize,
    },
    /// A file of targets has other columns.
    #[error(
        "expected {expected} columns that have the names of the values or labels or begin with \
         `target` (or, for labels, one called `labels`), found {found} columns"
    )]
    TargetColumns {
        /// The number of values or labels.
        expected: usize,
        /// The number of columns.
        found: usize,
    },
    /// There are not as many rows of targets as samples.
    #[error("expected a row of targets for each of {expected} samples, found {found}")]
    TargetRows {
        /// The number of samples.
        expected: usize,
        /// The number of rows.
        found: usize,
    },
    /// A target in an `.npy` is wrong.
    #[error("row {row}, column {column}: expected {expected}, found {found}")]
    TargetValue {
        /// The row, from 0.
        row: usize,
        /// The column, from 0.
        column: usize,
        /// The values that can be used.
        expected: &'static str,
        /// The value.
        found: String,
    },
    /// An `.npy` file cannot be read.
    #[error("not a readable .npy file: {0}")]
    Npy(#[from] NpyError),
    /// A value is NaN or infinite.
    #[error("sample {sample}: value {value} is not a finite number")]
    NotFinite {
        /// The sample, from 0.
        sample: usize,
        /// The value in it, from 0.
        value: usize,
    },
    /// A CSV begins with numbers.
    #[error("line 1: expected a header that names the columns, found numbers")]
    NoHeader,
    /// Labels are given for samples that have them already.
    #[error("the samples have labels of their own (their last column, `label`)")]
    LabelledTwice,
    /// Targets are given for samples that have them already.
    #[error("the samples have targets of their own (their last columns)")]
    TargetedTwice,
}

/// Why a label names no class.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ClassError {
    /// It is no number or name of a class.
    #[error("expected {expected}, found `{found}`")]
    Unknown {
        /// The numbers and names of classes.
        expected: String,
        /// The label.
        found: String,
    },
    /// It is the name of one class and the number of another.
    #[error(
        "`{text}` is the name of class {name} and the number of class {number}; give \
         numbers in an .npy of integers, or names that are no numbers"
    )]
    Ambiguous {
        /// The label.
        text: String,
        /// The class of that name.
        name: usize,
        /// The class of that number.
        number: usize,
    },
    /// It is a number with a fraction.
    #[error("expected a whole number, found {0}")]
    NotWhole(String),
}
