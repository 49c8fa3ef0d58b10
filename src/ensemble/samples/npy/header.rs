//! The header of an `.npy` file: a dictionary of Python's with three entries.
//!
//! `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`. Read in one pass and
//! nothing more than that, so that no header takes time or memory that its bytes do not
//! bear out (<https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>).

/// What a file's header says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub dims: Vec<u64>,
    /// The order of bytes and the type: `<f4`.
    pub code: String,
    pub fortran: bool,
    /// Where the data begin.
    pub start: usize,
    /// Numbers or texts: the product of `dims`.
    pub values: usize,
}

/// Bytes of a header at most, with what fills it up; NumPy's own have 118.
const MAX_HEADER: usize = 1 << 16;

/// NumPy's own bound.
const MAX_DIMENSIONS: usize = 64;

/// Letters of a word that is not understood, in a message.
const SHOWN: usize = 24;

impl Header {
    /// Reads the beginning of a file.
    ///
    /// # Errors
    /// What was expected.
    pub fn read(file: &[u8]) -> Result<Self, String> {
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
        let dims = fields.dims.ok_or("its header has no `shape`")?;
        Ok(Header {
            values: product(&dims)?,
            dims,
            code: fields.code.ok_or("its header has no `descr`")?,
            fortran: fields.fortran.ok_or("its header has no `fortran_order`")?,
            start,
        })
    }
}

/// The header's text, and where the data begin.
fn text(file: &[u8]) -> Result<(&str, usize), String> {
    let rest = file
        .strip_prefix(b"\x93NUMPY")
        .ok_or("its first bytes are not NumPy's")?;
    let (version, rest) = rest.split_first_chunk().ok_or_else(truncated)?;
    let (length, rest) = length(*version, rest)?;
    let bounded = usize::try_from(length).ok().filter(|&n| n <= MAX_HEADER);
    let length = bounded.ok_or_else(|| {
        format!("expected a header of {MAX_HEADER} bytes at most, found {length}")
    })?;
    let (header, data) = rest.split_at_checked(length).ok_or_else(truncated)?;
    let text = str::from_utf8(header).map_err(|_| "expected a header of plain letters")?;
    Ok((text, file.len() - data.len()))
}

/// The header's length by the format's version, and what follows.
fn length(version: [u8; 2], rest: &[u8]) -> Result<(u32, &[u8]), String> {
    match version {
        [1, 0] => {
            let (length, rest) = rest.split_first_chunk().ok_or_else(truncated)?;
            Ok((u16::from_le_bytes(*length).into(), rest))
        }
        [2 | 3, 0] => {
            let (length, rest) = rest.split_first_chunk().ok_or_else(truncated)?;
            Ok((u32::from_le_bytes(*length), rest))
        }
        [major, minor] => Err(format!(
            "expected version 1.0, 2.0 or 3.0, found {major}.{minor}"
        )),
    }
}

fn truncated() -> String {
    "truncated within its header".into()
}

/// How many there are with these dimensions.
fn product(dims: &[u64]) -> Result<usize, String> {
    let all = dims.iter().try_fold(1u64, |n, &d| n.checked_mul(d));
    let all = all.and_then(|n| usize::try_from(n).ok());
    all.ok_or_else(|| format!("truncated: its shape {dims:?} is larger than any file"))
}

/// What was read so far.
#[derive(Default)]
struct Fields {
    dims: Option<Vec<u64>>,
    code: Option<String>,
    fortran: Option<bool>,
}

impl Fields {
    /// One field with its value.
    fn read(&mut self, rest: &mut HeaderText<'_>) -> Result<(), String> {
        let name = rest.quoted()?;
        rest.take(':')?;
        let twice = match name {
            "descr" => self.code.replace(rest.code()?).is_some(),
            "fortran_order" => self.fortran.replace(rest.flag()?).is_some(),
            "shape" => self.dims.replace(rest.dims()?).is_some(),
            _ => {
                let found = shown(name);
                return Err(format!(
                    "expected a header of `descr`, `fortran_order` and `shape`, found `{found}`"
                ));
            }
        };
        match twice {
            true => Err(format!("`{name}` appears twice in its header")),
            false => Ok(()),
        }
    }
}

/// What is left of a header.
struct HeaderText<'a>(&'a str);

impl<'a> HeaderText<'a> {
    fn skip_spaces(&mut self) {
        self.0 = self.0.trim_start();
    }

    /// Takes a sign, where it is there.
    fn sees(&mut self, sign: char) -> Option<()> {
        self.skip_spaces();
        self.0 = self.0.strip_prefix(sign)?;
        Some(())
    }

    fn take(&mut self, sign: char) -> Result<(), String> {
        self.sees(sign)
            .ok_or_else(|| self.wrong(&format!("`{sign}`")))
    }

    fn end(&mut self) -> Result<(), String> {
        self.skip_spaces();
        match self.0 {
            "" => Ok(()),
            _ => Err(self.wrong("its end")),
        }
    }

    fn wrong(&self, expected: &str) -> String {
        match shown(self.0) {
            found if found.is_empty() => format!("expected {expected} in its header"),
            found => format!("expected {expected} in its header, found `{found}`"),
        }
    }

    /// What is in quotes, single or double.
    fn quoted(&mut self) -> Result<&'a str, String> {
        self.skip_spaces();
        let quote = match self.0.chars().next() {
            Some(quote @ ('\'' | '"')) => quote,
            _ => return Err(self.wrong("a word in quotes")),
        };
        let found = self.0[1..].split_once(quote);
        // What NumPy writes needs no escapes.
        let (word, rest) = found
            .filter(|(word, _)| !word.contains('\\'))
            .ok_or_else(|| self.wrong("a word in quotes"))?;
        self.0 = rest;
        Ok(word)
    }

    fn code(&mut self) -> Result<String, String> {
        self.skip_spaces();
        match self.0.starts_with(['[', '(']) {
            true => Err("expected numbers, found records".into()),
            false => self.quoted().map(shown),
        }
    }

    fn flag(&mut self) -> Result<bool, String> {
        self.skip_spaces();
        for (word, value) in [("True", true), ("False", false)] {
            if let Some(rest) = self.0.strip_prefix(word) {
                self.0 = rest;
                return Ok(value);
            }
        }
        Err(self.wrong("True or False"))
    }

    fn dims(&mut self) -> Result<Vec<u64>, String> {
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
                return Err(format!("expected {MAX_DIMENSIONS} dimensions at most"));
            }
            if self.sees(',').is_none() {
                self.take(close)?;
                break;
            }
        }
        Ok(dims)
    }

    fn dimension(&mut self) -> Result<u64, String> {
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
            let found = shown(digits);
            format!("truncated: a dimension of {found} is larger than any file")
        })
    }
}

/// The beginning of a file's own words, as a terminal can show it.
fn shown(text: &str) -> String {
    let start: String = text.chars().take(SHOWN).collect();
    let more = if start.len() < text.len() { "…" } else { "" };
    format!("{}{more}", start.trim_end().escape_debug())
}
