//! The header of an `.npy` file (a Python dictionary with three entries), and the errors of such
//! files.
//!
//! `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`. The header is read in one pass
//! without a general parser, so its cost is bounded by its length
//! (<https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>).

use thiserror::Error;

/// The header of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// The shape.
    pub dims: Vec<u64>,
    /// The byte order and type: `<f4`.
    pub code: String,
    /// Whether the data are in Fortran order.
    pub fortran: bool,
    /// The offset of the data.
    pub start: usize,
    /// The number of numbers or texts: the product of `dims`.
    pub values: usize,
}

/// The maximum number of characters of a file's text in a message.
const SHOWN: usize = 24;

impl Header {
    /// Reads the beginning of a file.
    ///
    /// # Errors
    /// The header is malformed, too long, or not a NumPy header.
    pub(crate) fn read(file: &[u8]) -> Result<Self, NpyError> {
        let (text, start) = text(file)?;
        let mut fields = Fields::default();
        let mut rest = HeaderText(text);
        rest.take('{')?;
        while rest.sees('}').is_none() {
            fields.read(&mut rest)?;
            if rest.sees(',').is_none() {
                rest.take('}')?;
                break;
            }
        }
        rest.end()?;
        let dims = fields.dims.ok_or(NpyError::MissingField("shape"))?;
        Ok(Header {
            values: product(&dims)?,
            dims,
            code: fields.code.ok_or(NpyError::MissingField("descr"))?,
            fortran: fields
                .fortran
                .ok_or(NpyError::MissingField("fortran_order"))?,
            start,
        })
    }
}

/// Returns the header's text, and the offset of the data.
fn text(file: &[u8]) -> Result<(&str, usize), NpyError> {
    let rest = file.strip_prefix(b"\x93NUMPY").ok_or(NpyError::NotNumpy)?;
    let (version, rest) = rest.split_first_chunk().ok_or(NpyError::TruncatedHeader)?;
    let (length, rest) = length(*version, rest)?;
    let bounded = usize::try_from(length).ok().filter(|&n| n <= MAX_HEADER);
    let length = bounded.ok_or(NpyError::LongHeader(length))?;
    let (header, data) = rest
        .split_at_checked(length)
        .ok_or(NpyError::TruncatedHeader)?;
    let text = str::from_utf8(header).map_err(|_| NpyError::HeaderText)?;
    Ok((text, file.len() - data.len()))
}

/// Returns the header's length for the format's version, and the bytes after the length.
fn length(version: [u8; 2], rest: &[u8]) -> Result<(u32, &[u8]), NpyError> {
    match version {
        [1, 0] => {
            let (length, rest) = rest.split_first_chunk().ok_or(NpyError::TruncatedHeader)?;
            Ok((u16::from_le_bytes(*length).into(), rest))
        }
        [2 | 3, 0] => {
            let (length, rest) = rest.split_first_chunk().ok_or(NpyError::TruncatedHeader)?;
            Ok((u32::from_le_bytes(*length), rest))
        }
        [major, minor] => Err(NpyError::Version(major, minor)),
    }
}

/// Returns the number of values with these dimensions.
fn product(dims: &[u64]) -> Result<usize, NpyError> {
    let all = dims.iter().try_fold(1u64, |n, &d| n.checked_mul(d));
    let all = all.and_then(|n| usize::try_from(n).ok());
    all.ok_or_else(|| NpyError::LargeShape(dims.to_vec()))
}

/// The fields read.
#[derive(Default)]
struct Fields {
    dims: Option<Vec<u64>>,
    code: Option<String>,
    fortran: Option<bool>,
}

impl Fields {
    /// Reads one field with its value.
    fn read(&mut self, rest: &mut HeaderText<'_>) -> Result<(), NpyError> {
        let name = rest.quoted()?;
        rest.take(':')?;
        let twice = match name {
            "descr" => self.code.replace(rest.code()?).is_some(),
            "fortran_order" => self.fortran.replace(rest.flag()?).is_some(),
            "shape" => self.dims.replace(rest.dims()?).is_some(),
            _ => {
                return Err(NpyError::UnknownField(shown(name)));
            }
        };
        match twice {
            true => Err(NpyError::RepeatedField(name.to_owned())),
            false => Ok(()),
        }
    }
}

/// The rest of a header.
struct HeaderText<'a>(&'a str);

impl<'a> HeaderText<'a> {
    fn skip_spaces(&mut self) {
        self.0 = self.0.trim_start();
    }

    /// Takes a sign if it is next.
    fn sees(&mut self, sign: char) -> Option<()> {
        self.skip_spaces();
        self.0 = self.0.strip_prefix(sign)?;
        Some(())
    }

    fn take(&mut self, sign: char) -> Result<(), NpyError> {
        self.sees(sign)
            .ok_or_else(|| self.wrong(&format!("`{sign}`")))
    }

    fn end(&mut self) -> Result<(), NpyError> {
        self.skip_spaces();
        match self.0 {
            "" => Ok(()),
            _ => Err(self.wrong("its end")),
        }
    }

    fn wrong(&self, expected: &str) -> NpyError {
        let expected = expected.to_owned();
        match shown(self.0) {
            found if found.is_empty() => NpyError::HeaderEnd(expected),
            found => NpyError::Header { expected, found },
        }
    }

    /// Takes a word in quotes, single or double.
    fn quoted(&mut self) -> Result<&'a str, NpyError> {
        self.skip_spaces();
        let quote = match self.0.chars().next() {
            Some(quote @ ('\'' | '"')) => quote,
            _ => return Err(self.wrong("a word in quotes")),
        };
        let found = self.0[1..].split_once(quote);
        // NumPy's own words need no escapes.
        let (word, rest) = found
            .filter(|(word, _)| !word.contains('\\'))
            .ok_or_else(|| self.wrong("a word in quotes"))?;
        self.0 = rest;
        Ok(word)
    }

    fn code(&mut self) -> Result<String, NpyError> {
        self.skip_spaces();
        match self.0.starts_with(['[', '(']) {
            true => Err(NpyError::Records),
            false => self.quoted().map(shown),
        }
    }

    fn flag(&mut self) -> Result<bool, NpyError> {
        self.skip_spaces();
        for (word, value) in [("True", true), ("False", false)] {
            if let Some(rest) = self.0.strip_prefix(word) {
                self.0 = rest;
                return Ok(value);
            }
        }
        Err(self.wrong("True or False"))
    }

    fn dims(&mut self) -> Result<Vec<u64>, NpyError> {
        let close = match self.sees('[') {
            Some(()) => ']',
            None => {
                self.take('(')?;
                ')'
            }
        };
        let mut dims = Vec::new();
        while self.sees(close).is_none() {
            dims.push(self.dimension()?);
            if dims.len() > MAX_DIMENSIONS {
                return Err(NpyError::ManyDimensions);
            }
            if self.sees(',').is_none() {
                self.take(close)?;
                break;
            }
        }
        Ok(dims)
    }

    fn dimension(&mut self) -> Result<u64, NpyError> {
        self.skip_spaces();
        let end = self.0.find(|c: char| !c.is_ascii_digit());
        let (digits, rest) = self.0.split_at(end.unwrap_or(self.0.len()));
        let number = match digits {
            "" => return Err(self.wrong("a shape of whole numbers")),
            digits => digits.parse(),
        };
        // Python 2 marked long numbers.
        self.0 = rest.strip_prefix('L').unwrap_or(rest);
        number.map_err(|_| NpyError::LargeDimension(shown(digits)))
    }
}

/// Returns the beginning of a file's text for a terminal.
fn shown(text: &str) -> String {
    let start: String = text.chars().take(SHOWN).collect();
    let more = if start.len() < text.len() { "…" } else { "" };
    format!("{}{more}", start.trim_end().escape_debug())
}

/// The maximum number of bytes of a header, including padding. NumPy's own headers have 118 bytes.
const MAX_HEADER: usize = 1 << 16;

/// The maximum number of dimensions, as in NumPy.
const MAX_DIMENSIONS: usize = 64;

/// The reason why an `.npy` file cannot be read.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum NpyError {
    /// It does not begin as a NumPy file.
    #[error("its first bytes are not NumPy's")]
    NotNumpy,
    /// The format has another version.
    #[error("expected version 1.0, 2.0 or 3.0, found {0}.{1}")]
    Version(u8, u8),
    /// It ends within its header.
    #[error("truncated within its header")]
    TruncatedHeader,
    /// The header claims to be too long.
    #[error("expected a header of at most {most} bytes, found {0}", most = MAX_HEADER)]
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
    /// The header has an unknown field.
    #[error("expected a header of `descr`, `fortran_order` and `shape`, found `{0}`")]
    UnknownField(String),
    /// The header has an unexpected content.
    #[error("expected {expected} in its header, found `{found}`")]
    Header {
        /// The expected text or value.
        expected: String,
        /// The unexpected text.
        found: String,
    },
    /// The header ends too early.
    #[error("expected {0} in its header")]
    HeaderEnd(String),
    /// It holds records.
    #[error("expected numbers, found records")]
    Records,
    /// It has too many dimensions.
    #[error("expected at most {most} dimensions", most = MAX_DIMENSIONS)]
    ManyDimensions,
    /// A dimension is too large.
    #[error("truncated: a dimension of {0} is larger than any file")]
    LargeDimension(String),
    /// The shape is too large.
    #[error("truncated: its shape {0:?} is larger than any file")]
    LargeShape(Vec<u64>),
    /// The data are shorter or longer than declared in the header.
    #[error("{how}: expected {expected} bytes of data, found {found}")]
    Size {
        /// `truncated`, or `more than one array`.
        how: &'static str,
        /// The number of bytes declared in the header.
        expected: usize,
        /// Bytes of data.
        found: usize,
    },
    /// Several dimensions are in Fortran order.
    #[error("expected C order, found Fortran order: save numpy.ascontiguousarray(x)")]
    FortranOrder,
    /// The type of the numbers cannot be read.
    #[error("expected one of {known}, found {code}{advice}")]
    NumberType {
        /// The supported types.
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
    /// Texts have no characters.
    #[error("expected names of classes, found empty texts")]
    EmptyTexts,
    /// Labels have another shape.
    #[error("expected the shape [n], one label per sample, found {0:?}")]
    LabelShape(Vec<u64>),
    /// Targets have another shape.
    #[error("expected the shape [n, {count}], one row of targets per sample, found {found:?}")]
    TargetShape {
        /// The number of values or labels.
        count: usize,
        /// The shape of the file.
        found: Vec<u64>,
    },
    /// Samples have another shape.
    #[error("expected the shape {expected}, found {found:?}{advice}")]
    Shape {
        /// The valid shapes.
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
