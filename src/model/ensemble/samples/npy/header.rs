//! The header of an `.npy` file: a Python dictionary with three entries.
//!
//! `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`. The header is read in one pass
//! without a general parser, so its cost is bounded by its length
//! (<https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>).

use divisi_runtime::reading::ReadError;

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
    pub(crate) fn read(file: &[u8]) -> Result<Self, ReadError> {
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
        let dims = fields.dims.ok_or_else(|| missing("shape"))?;
        Ok(Header {
            values: product(&dims)?,
            dims,
            code: fields.code.ok_or_else(|| missing("descr"))?,
            fortran: fields.fortran.ok_or_else(|| missing("fortran_order"))?,
            start,
        })
    }
}

/// Returns the header's text, and the offset of the data.
fn text(file: &[u8]) -> Result<(&str, usize), ReadError> {
    let rest = file.strip_prefix(b"\x93NUMPY");
    let rest = rest.ok_or_else(|| ReadError::new("its first bytes are not NumPy's"))?;
    let (version, rest) = rest.split_first_chunk().ok_or_else(truncated)?;
    let (length, rest) = length(*version, rest)?;
    let bounded = usize::try_from(length).ok().filter(|&n| n <= MAX_HEADER);
    let length = bounded.ok_or_else(|| {
        ReadError::expected(
            format_args!("a header of at most {MAX_HEADER} bytes"),
            length,
        )
    })?;
    let (header, data) = rest.split_at_checked(length).ok_or_else(truncated)?;
    let text = str::from_utf8(header);
    let text = text.map_err(|_| ReadError::new("expected a header of plain letters"))?;
    Ok((text, file.len() - data.len()))
}

/// Returns the header's length for the format's version, and the bytes after the length.
fn length(version: [u8; 2], rest: &[u8]) -> Result<(u32, &[u8]), ReadError> {
    match version {
        [1, 0] => {
            let (length, rest) = rest.split_first_chunk().ok_or_else(truncated)?;
            Ok((u16::from_le_bytes(*length).into(), rest))
        }
        [2 | 3, 0] => {
            let (length, rest) = rest.split_first_chunk().ok_or_else(truncated)?;
            Ok((u32::from_le_bytes(*length), rest))
        }
        [major, minor] => Err(ReadError::expected(
            "version 1.0, 2.0 or 3.0",
            format_args!("{major}.{minor}"),
        )),
    }
}

/// Returns the number of values with these dimensions.
fn product(dims: &[u64]) -> Result<usize, ReadError> {
    let all = dims.iter().try_fold(1u64, |n, &d| n.checked_mul(d));
    let all = all.and_then(|n| usize::try_from(n).ok());
    all.ok_or_else(|| {
        ReadError::new(format_args!(
            "truncated: its shape {dims:?} is larger than any file"
        ))
    })
}

fn truncated() -> ReadError {
    ReadError::new("truncated within its header")
}

fn missing(field: &str) -> ReadError {
    ReadError::new(format_args!("its header has no `{field}`"))
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
    fn read(&mut self, rest: &mut HeaderText<'_>) -> Result<(), ReadError> {
        let name = rest.quoted()?;
        rest.take(':')?;
        let twice = match name {
            "descr" => self.code.replace(rest.code()?).is_some(),
            "fortran_order" => self.fortran.replace(rest.flag()?).is_some(),
            "shape" => self.dims.replace(rest.dims()?).is_some(),
            _ => {
                let expected = "a header of `descr`, `fortran_order` and `shape`";
                let found = format_args!("`{}`", shown(name));
                return Err(ReadError::expected(expected, found));
            }
        };
        match twice {
            true => Err(ReadError::new(format_args!(
                "`{name}` appears twice in its header"
            ))),
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

    fn take(&mut self, sign: char) -> Result<(), ReadError> {
        self.sees(sign)
            .ok_or_else(|| self.wrong(&format!("`{sign}`")))
    }

    fn end(&mut self) -> Result<(), ReadError> {
        self.skip_spaces();
        match self.0 {
            "" => Ok(()),
            _ => Err(self.wrong("its end")),
        }
    }

    fn wrong(&self, expected: &str) -> ReadError {
        let expected = format_args!("{expected} in its header");
        match shown(self.0) {
            found if found.is_empty() => ReadError::new(format_args!("expected {expected}")),
            found => ReadError::expected(expected, format_args!("`{found}`")),
        }
    }

    /// Takes a word in quotes, single or double.
    fn quoted(&mut self) -> Result<&'a str, ReadError> {
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

    fn code(&mut self) -> Result<String, ReadError> {
        self.skip_spaces();
        match self.0.starts_with(['[', '(']) {
            true => Err(ReadError::expected("numbers", "records")),
            false => self.quoted().map(shown),
        }
    }

    fn flag(&mut self) -> Result<bool, ReadError> {
        self.skip_spaces();
        for (word, value) in [("True", true), ("False", false)] {
            if let Some(rest) = self.0.strip_prefix(word) {
                self.0 = rest;
                return Ok(value);
            }
        }
        Err(self.wrong("True or False"))
    }

    fn dims(&mut self) -> Result<Vec<u64>, ReadError> {
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
                let wrong = format_args!("expected at most {MAX_DIMENSIONS} dimensions");
                return Err(ReadError::new(wrong));
            }
            if self.sees(',').is_none() {
                self.take(close)?;
                break;
            }
        }
        Ok(dims)
    }

    fn dimension(&mut self) -> Result<u64, ReadError> {
        self.skip_spaces();
        let end = self.0.find(|c: char| !c.is_ascii_digit());
        let (digits, rest) = self.0.split_at(end.unwrap_or(self.0.len()));
        let number = match digits {
            "" => return Err(self.wrong("a shape of whole numbers")),
            digits => digits.parse(),
        };
        // Python 2 marked long numbers.
        self.0 = rest.strip_prefix('L').unwrap_or(rest);
        number.map_err(|_| {
            let digits = shown(digits);
            ReadError::new(format_args!(
                "truncated: a dimension of {digits} is larger than any file"
            ))
        })
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
