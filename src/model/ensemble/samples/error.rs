//! The errors in files of samples and labels.

use thiserror::Error;

use divisi_runtime::tensor::{MOST_EXACT, SampleFault, SignatureError, WrittenTensorError};

use super::images::ImageError;
use super::json::JsonError;
use super::npy::NpyError;
use super::text::TextError;

/// The reason why a file has no usable samples or labels.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum SamplesError {
    /// The name does not have the extension of a supported file.
    #[error(
        "expected a .csv, .npy, .npz, .json, .jsonl, .txt, .png, .jpg, .jpeg or .webp file, or a \
         folder of images"
    )]
    Kind,
    /// The name does not have the extension of a supported file of labels or other targets.
    #[error(
        "expected a .csv, .npy, .npz or .json file of labels or targets, or, for masks of images, a \
         folder of PNGs"
    )]
    LabelsKind,
    /// The file cannot be read.
    #[error("{0}")]
    Unreadable(String),
    /// An error in a part of a file, or in a file of a folder.
    #[error("{part}: {error}")]
    Within {
        /// The part's name.
        part: String,
        /// The error in it.
        error: Box<SamplesError>,
    },
    /// There are too many samples.
    #[error("expected at most {most} samples with this shape, found {found}")]
    Many {
        /// The maximum number of samples that fit in memory.
        most: usize,
        /// The number of samples.
        found: usize,
    },
    /// There is not enough memory for the samples.
    #[error("not enough memory for {samples} samples")]
    Memory {
        /// The number of samples.
        samples: usize,
    },
    /// A folder is not a set of images.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// An image cannot be read or does not have a sample's size.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// An `.npz` file cannot be read, or has other arrays.
    #[error("not a readable .npz file: {0}")]
    Npz(NpzError),
    /// The JSON cannot be read, or has another structure.
    #[error(transparent)]
    Json(#[from] JsonError),
    /// Tensors of a request do not match the ensemble's.
    #[error(transparent)]
    Signature(#[from] SignatureError),
    /// A tensor does not match its type.
    #[error(transparent)]
    Tensor(#[from] WrittenTensorError),
    /// Samples of several tensors are in another kind of file.
    #[error(
        "expected a .json or .jsonl file with named tensors under `inputs`, or an .npz file with \
         one array for each of {}; other files, such as .npy, hold one unnamed array",
        .0.join(", ")
    )]
    Named(Vec<String>),
    /// Texts are in another kind of file.
    #[error(
        "expected texts: a .txt file with one text per line, a .csv file with a column `text`, or \
         a .json or .jsonl file with fields `text`"
    )]
    TextKind,
    /// The samples are not texts.
    #[error("expected samples of numbers, found texts; the ensemble has no [input.text]")]
    NoTextInput,
    /// A table has no text column.
    #[error("expected a header with a column `text`, found {0}")]
    NoText(String),
    /// A text cannot become a sample.
    #[error(transparent)]
    Text(TextError),
    /// An integer that float32 does not hold exactly.
    #[error(
        "`{tensor}`, sample {sample}: expected integers from -{most} to {most}",
        most = MOST_EXACT - 1
    )]
    Integer {
        /// The tensor's name.
        tensor: String,
        /// The sample, from 0.
        sample: usize,
    },
    /// A sample that no network can process.
    #[error(transparent)]
    Sample(#[from] SampleFault),
    /// The number of lengths differs from the number of samples.
    #[error("`lengths`: expected {expected} lengths, one per sample, found {found}")]
    Lengths {
        /// The number of samples.
        expected: usize,
        /// The number of lengths.
        found: usize,
    },
    /// A length is out of range.
    #[error("`lengths`, sample {sample}: expected a whole number from 1 to {most}")]
    Length {
        /// The sample, from 0.
        sample: usize,
        /// The length of the arrays.
        most: usize,
    },
    /// There are no samples.
    #[error("expected at least one sample, found none")]
    Empty,
    /// An error in a line of a CSV.
    #[error("line {line}: {reason}")]
    Line {
        /// The line, from 1.
        line: u64,
        /// The reason as shown.
        reason: String,
    },
    /// A label of an array is wrong.
    #[error("row {row}: {error}")]
    Row {
        /// The row, from 0.
        row: usize,
        /// The error of its label.
        error: ClassError,
    },
    /// The samples have a wrong number of values.
    #[error("expected {expected} values per sample, found {found}")]
    Width {
        /// Values of a sample of the ensemble.
        expected: usize,
        /// Values of a sample of the file.
        found: usize,
    },
    /// The number of labels differs from the number of samples.
    #[error("expected a label for each of {expected} samples, found {found}")]
    Labels {
        /// The number of samples.
        expected: usize,
        /// The number of labels.
        found: usize,
    },
    /// A file of targets has wrong columns.
    #[error(
        "expected {expected} columns with the names of the values or labels or with names that \
         begin with `target` (or, for labels, one column `labels`), found {found} columns"
    )]
    TargetColumns {
        /// The number of values or labels.
        expected: usize,
        /// The number of columns.
        found: usize,
    },
    /// The number of target rows differs from the number of samples.
    #[error("expected a row of targets for each of {expected} samples, found {found}")]
    TargetRows {
        /// The number of samples.
        expected: usize,
        /// The number of rows.
        found: usize,
    },
    /// A sample has more tokens than targets.
    #[error("targets, row {row}: expected a class for each of {expected} tokens, found {found}")]
    TokenTargets {
        /// The row, from 0.
        row: usize,
        /// The number of tokens of the sample.
        expected: usize,
        /// The number of classes in its row.
        found: usize,
    },
    /// A target in an array is wrong.
    #[error("row {row}, column {column}: expected {expected}, found {found}")]
    TargetValue {
        /// The row, from 0.
        row: usize,
        /// The column, from 0.
        column: usize,
        /// The valid values.
        expected: &'static str,
        /// The value.
        found: String,
    },
    /// Boxes cannot be read.
    #[error(transparent)]
    Boxes(#[from] BoxError),
    /// A pixel of a mask is wrong.
    #[error("expected {expected}, found {found}")]
    Pixel {
        /// The valid numbers.
        expected: &'static str,
        /// The number.
        found: u16,
    },
    /// Lists of labels would need too much memory as rows.
    #[error("expected at most {0} lists with this number of labels")]
    TargetLists(usize),
    /// An `.npy` file cannot be read.
    #[error("not a readable .npy file: {0}")]
    Npy(NpyError),
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
    /// Labels are given for samples that already have labels.
    #[error("the samples already have labels")]
    LabelledTwice,
    /// Targets are given for samples that already have targets.
    #[error("the samples already have targets")]
    TargetedTwice,
}

impl From<NpyError> for SamplesError {
    fn from(error: NpyError) -> Self {
        SamplesError::Npy(error)
    }
}

impl From<NpzError> for SamplesError {
    fn from(error: NpzError) -> Self {
        SamplesError::Npz(error)
    }
}

/// The maximum number of column names in a message.
const SHOWN_COLUMNS: usize = 8;

impl SamplesError {
    /// Returns the error of a table with only these columns.
    pub(super) fn no_text(columns: &[&str]) -> Self {
        let shown = columns.iter().take(SHOWN_COLUMNS);
        let shown: Vec<String> = shown.map(|name| name.escape_debug().to_string()).collect();
        SamplesError::NoText(shown.join(", "))
    }

    /// Returns the error with the part of a file or folder in which it occurred.
    pub(super) fn within(self, part: impl Into<String>) -> Self {
        let (part, error) = (part.into(), Box::new(self));
        SamplesError::Within { part, error }
    }
}

/// The reason why a folder is not a set of images.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum FolderError {
    /// The folder is empty.
    #[error("expected images (.png, .jpg, .jpeg, .webp) or folders of them, found an empty folder")]
    Empty,
    /// It holds both files and folders.
    #[error("expected only images, or one folder per class, found both `{file}` and `{folder}`")]
    Mixed {
        /// The first file.
        file: String,
        /// The first folder.
        folder: String,
    },
    /// The folder of a class is empty.
    #[error("`{0}`: expected at least one image, found none")]
    EmptyClass(String),
    /// A folder's name is not a class.
    #[error("`{folder}`: {error}")]
    Class {
        /// The folder's name.
        folder: String,
        /// The valid classes.
        error: ClassError,
    },
    /// The answers are not classes, so folders cannot name them.
    #[error("`{0}`: expected only images, since the answers are not classes, found a folder")]
    NoClasses(String),
    /// The folder of a class contains a folder.
    #[error("`{0}`: expected only images in a class's folder, found a folder")]
    Nested(String),
    /// A file's name is not that of an image.
    #[error("`{0}`: expected a .png, .jpg, .jpeg or .webp image")]
    NoImage(String),
    /// An image has no mask.
    #[error("expected a mask `{0}.png`, found none")]
    NoMask(String),
    /// There are more files than the limit.
    #[error("expected at most {0} files in a folder")]
    Many(usize),
    /// A folder cannot be read.
    #[error("{0}")]
    Unreadable(String),
}

/// The reason why a file holds no boxes of samples.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum BoxError {
    /// It is another kind of file.
    #[error("expected boxes in a .json file (COCO or one list per sample) or a .jsonl file")]
    Kind,
    /// It is not valid JSON, or has another structure.
    #[error(
        "expected COCO's `images`, `annotations` and `categories`, or lists of [class, x, y, width, \
         height]: {0}"
    )]
    Json(String),
    /// Numbers do not form a box.
    #[error("expected a box [x, y, width, height] of finite numbers, found [{found}]")]
    NoBox {
        /// The numbers.
        found: String,
    },
    /// An image is missing in the file, or has no size there.
    #[error("expected the image `{0}` under `images`, with a width and a height")]
    NoImage(String),
    /// No category is a class.
    #[error("expected `categories` with the names of classes, found `{0}`")]
    NoClass(String),
}

/// The reason why an `.npz` file holds no samples or labels.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum NpzError {
    /// The archive is damaged, or uses an unknown compression.
    #[error("{0}")]
    Damaged(String),
    /// The archive is empty.
    #[error("expected an array, found none")]
    NoArray,
    /// There is no array with this name.
    #[error("expected an array `{0}`")]
    Missing(String),
    /// There are several arrays with unknown names.
    #[error("expected one array, or `samples` (`x`) and `labels` (`targets`, `y`), found {0}")]
    Unknown(String),
    /// An array is too large.
    #[error("expected arrays of at most 4 GiB: `{0}` is larger")]
    Large(String),
}

/// The reason why a label does not name a class.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ClassError {
    /// It is not a number or name of a class.
    #[error("expected {expected}, found `{found}`")]
    Unknown {
        /// The numbers and names of classes.
        expected: String,
        /// The label.
        found: String,
    },
    /// It is both the name of one class and the number of another.
    #[error(
        "`{text}` is the name of class {name} and the number of class {number}; write numbers to \
         an .npy file of integers, or use names that are not numbers"
    )]
    Ambiguous {
        /// The label.
        text: String,
        /// The class with that name.
        name: usize,
        /// The class with that number.
        number: usize,
    },
    /// It is a number with a fraction.
    #[error("expected a whole number, found {0}")]
    NotWhole(String),
}
