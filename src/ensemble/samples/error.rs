//! Errors in files of samples and labels.

use thiserror::Error;

/// The most bytes of a header, padding included; NumPy's own have 118.
pub(super) const MAX_HEADER: usize = 1 << 16;

/// The most dimensions, as in NumPy.
pub(super) const MAX_DIMENSIONS: usize = 64;

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

/// Why an `.npy` file cannot be read.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum NpyError {
    /// It does not begin as NumPy's files do.
    #[error("its first bytes are not NumPy's")]
    NotNumpy,
    /// The format has another version.
    #[error("expected version 1.0, 2.0 or 3.0, found {0}.{1}")]
    Version(u8, u8),
    /// It ends within its header.
    #[error("truncated within its header")]
    TruncatedHeader,
    /// The header claims to be too long.
    #[error("expected a header of {most} bytes at most, found {0}", most = MAX_HEADER)]
    LongHeader(u32),
    /// The header is not text.
    #[error("expected a header of plain letters")]
    HeaderText,
    /// The header lacks a field.
    #[error("its header has no `{0}`")]
    MissingField(&'static str),
    /// The header has a field twice.
    #[error("`{0}` appears twice in its header")]
    RepeatedField(String),
    /// The header has a field that is not known.
    #[error("expected a header of `descr`, `fortran_order` and `shape`, found `{0}`")]
    UnknownField(String),
    /// The header has something else than expected.
    #[error("expected {expected} in its header, found `{found}`")]
    Header {
        /// The expected text or value.
        expected: String,
        /// The text that was found.
        found: String,
    },
    /// The header ends where something is expected.
    #[error("expected {0} in its header")]
    HeaderEnd(String),
    /// It holds records.
    #[error("expected numbers, found records")]
    Records,
    /// It has too many dimensions.
    #[error("expected {most} dimensions at most", most = MAX_DIMENSIONS)]
    ManyDimensions,
    /// A dimension is too large.
    #[error("truncated: a dimension of {0} is larger than any file")]
    LargeDimension(String),
    /// The shape is too large.
    #[error("truncated: its shape {0:?} is larger than any file")]
    LargeShape(Vec<u64>),
    /// The data are shorter or longer than the header says.
    #[error("{how}: its header says {expected} bytes of data, found {found}")]
    Size {
        /// `truncated`, or `more than one array`.
        how: &'static str,
        /// Bytes that the header says.
        expected: usize,
        /// Bytes of data.
        found: usize,
    },
    /// Several dimensions are in Fortran's order.
    #[error("expected C order, found Fortran order: save numpy.ascontiguousarray(x)")]
    FortranOrder,
    /// The type of the numbers cannot be read.
    #[error("expected one of {known}, found {code}{advice}")]
    NumberType {
        /// The types that can be read.
        known: String,
        /// The type's code.
        code: String,
        /// Advice on how to save the numbers.
        advice: &'static str,
    },
    /// Labels are neither numbers nor texts.
    #[error("labels: expected whole numbers or names of classes, found {0}")]
    LabelType(String),
    /// The length of texts cannot be read.
    #[error("expected names of classes, found {0}")]
    TextType(String),
    /// Texts have no letters.
    #[error("expected names of classes, found empty texts")]
    EmptyTexts,
    /// Labels have another shape.
    #[error("expected the shape [n], a label a sample, found {0:?}")]
    LabelShape(Vec<u64>),
    /// Samples have another shape.
    #[error("expected the shape {expected}, found {found:?}{advice}")]
    Shape {
        /// The shapes that fit.
        expected: String,
        /// The shape of the file.
        found: Vec<u64>,
        /// Advice on the layout.
        advice: String,
    },
    /// The data end early.
    #[error("truncated")]
    Truncated,
}
