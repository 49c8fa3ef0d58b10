//! NumPy's `.npy` files: reads samples and targets, and writes float32.

mod header;

use std::fmt::Display;

use divisi_runtime::reading::ReadError;
use divisi_runtime::words;

use super::error::{many_samples, no_boxes_name, not_whole, wrong_cell};
use super::form::{Classes, ImageLayout, MOST_BYTES, SampleForm};
use super::rows::{SampleSource, Samples};
use super::table::{Number, NumberTable};
use super::targets::{TargetColumns, TargetForm, Targets};
use super::token_targets::MISSING;

use header::Header;

/// Reads samples.
pub(super) fn samples(bytes: Vec<u8>, form: &SampleForm<'_>) -> Result<Samples, ReadError> {
    let header = read(&bytes)?;
    check_shape(&header.dims, form)?;
    let table = table(header, bytes)?;
    let width = form.shape.elements();
    if let Some(at) = table.not_finite() {
        let (sample, value) = (at / width, at % width);
        let wrong = format_args!("value {value} is not a finite number");
        return Err(ReadError::new(wrong).at(format_args!("sample {sample}")));
    }
    let rows = table.len() / width;
    Samples::from_source(
        SampleSource::File(table, form.shape, form.layout),
        rows,
        width,
    )
}

/// Returns the dimensions of each sample of an array.
///
/// # Errors
/// The bytes are not an array.
pub(super) fn sample_dims(bytes: &[u8]) -> Result<Vec<usize>, ReadError> {
    let dims = read(bytes)?.dims;
    let rest = dims.get(1..).unwrap_or_default().iter();
    Ok(rest
        .map(|&d| usize::try_from(d).unwrap_or(usize::MAX))
        .collect())
}

/// Reads only targets.
pub(super) fn targets(bytes: Vec<u8>, form: TargetForm<'_>) -> Result<Targets, ReadError> {
    match form {
        TargetForm::Classes(classes) => labels(bytes, &classes).map(Targets::Classes),
        TargetForm::Rows(columns) => target_rows(bytes, columns),
        TargetForm::Boxes(_) => Err(no_boxes_name()),
    }
}

/// Reads labels: whole numbers, or names of classes.
fn labels(bytes: Vec<u8>, classes: &Classes<'_>) -> Result<Vec<usize>, ReadError> {
    let header = read(&bytes)?;
    if !matches!(header.dims[..], [_] | [_, 1]) {
        let found = format_args!("{:?}", header.dims);
        return Err(wrong("the shape [n], one label per sample", found));
    }
    if let Some(texts) = Texts::from_header(&header)? {
        return texts.labels(&header, &bytes, classes);
    }
    let code = header.code.clone();
    let table = table(header, bytes).map_err(|error| match Number::written(&code) {
        Some(_) => error,
        None => {
            let wrong = ReadError::expected("whole numbers or names of classes", code);
            unreadable(wrong.at("labels"))
        }
    })?;
    let labels = table.whole().into_iter().map(|number| match number {
        Ok(whole) => classes.numbered(whole),
        Err(found) => Err(not_whole(found)),
    });
    in_rows(labels)
}

/// Reads rows of numbers: `[n, count]`, `[n]` for one column, `[n, height, width]` for masks, or
/// rows with fewer tokens than the longest sample.
fn target_rows(bytes: Vec<u8>, columns: TargetColumns<'_>) -> Result<Targets, ReadError> {
    let header = read(&bytes)?;
    let count = columns.count;
    if !columns.fits(&header.dims) {
        return Err(wrong(
            format_args!("the shape [n, {count}], one row of targets per sample"),
            format_args!("{:?}", header.dims),
        ));
    }
    let found = match header.dims[..] {
        [_, found] if columns.are_tokens() => found as usize,
        _ => count,
    };
    let table = table(header, bytes)?;
    let mut values = Vec::with_capacity(table.len());
    table.read(0..table.len(), &mut values);
    for (at, value) in values.iter_mut().enumerate() {
        *value = columns.cell(*value).ok_or_else(|| {
            let number = words::number(f64::from(*value));
            wrong_cell(at / found, at % found, columns.expected(), number)
        })?;
    }
    Ok(Targets::Rows {
        width: count,
        values: match found < count {
            true => widened(&values, found, count)?,
            false => values,
        },
    })
}

/// Widens rows of `found` token classes to `count`.
fn widened(values: &[f32], found: usize, count: usize) -> Result<Vec<f32>, ReadError> {
    let rows = values.len() / found;
    let most = usize::try_from(MOST_BYTES).unwrap_or(usize::MAX) / size_of::<f32>() / count;
    if rows > most {
        return Err(many_samples(most, rows));
    }
    let mut wide = Vec::with_capacity(rows * count);
    for row in values.chunks_exact(found) {
        wide.extend_from_slice(row);
        wide.resize(wide.len() + count - found, MISSING);
    }
    Ok(wide)
}

/// Collects labels, or returns the row of the first wrong label.
fn in_rows(
    labels: impl Iterator<Item = Result<usize, ReadError>>,
) -> Result<Vec<usize>, ReadError> {
    let labels = labels
        .enumerate()
        .map(|(row, label)| label.map_err(|error| error.at(format_args!("row {row}"))));
    labels.collect()
}

fn read(bytes: &[u8]) -> Result<Header, ReadError> {
    let header = Header::read(bytes).map_err(unreadable)?;
    // With one dimension both orders are the same.
    let several = header.dims.iter().filter(|d| **d > 1).count() > 1;
    if header.fortran && several {
        let found = "Fortran order: save numpy.ascontiguousarray(x)";
        return Err(wrong("C order", found));
    }
    Ok(header)
}

fn unreadable(error: ReadError) -> ReadError {
    error.at("not a readable .npy file")
}

/// Returns the error of an array that the reader does not take.
fn wrong(expected: impl Display, found: impl Display) -> ReadError {
    unreadable(ReadError::expected(expected, found))
}

fn table(header: Header, bytes: Vec<u8>) -> Result<NumberTable, ReadError> {
    let Some((number, big)) = Number::written(&header.code) else {
        return Err(unknown(&header.code));
    };
    let found = bytes.len() - header.start;
    let expected = header.values.checked_mul(number.bytes());
    if expected != Some(found) {
        return Err(other_size(expected, found));
    }
    let table = NumberTable::new(bytes, header.start, header.values, number, big);
    table.ok_or_else(|| unreadable(ReadError::new("truncated")))
}

/// Returns the error of a file with too few or too many bytes.
fn other_size(expected: Option<usize>, found: usize) -> ReadError {
    let expected = expected.unwrap_or(usize::MAX);
    let how = match found < expected {
        true => "truncated",
        false => "more than one array",
    };
    let wrong = ReadError::expected(format_args!("{expected} bytes of data"), found);
    unreadable(wrong.at(how))
}

/// Texts of one length.
struct Texts {
    /// Bytes of a character: 1 or 4.
    unit: usize,
    /// Bytes of a text.
    size: usize,
    /// Whether the most significant byte comes first.
    big: bool,
}

impl Texts {
    /// Returns the form of a file's texts, or `None` if it does not contain texts.
    fn from_header(header: &Header) -> Result<Option<Self>, ReadError> {
        let code = header.code.as_str();
        let big = code.starts_with('>');
        let kind = code.trim_start_matches(['<', '>', '|']);
        let (unit, length) = match (kind.strip_prefix('U'), kind.strip_prefix(['S', 'a'])) {
            (Some(length), _) => (4, length),
            (None, Some(length)) => (1, length),
            (None, None) => return Ok(None),
        };
        let size = length.parse().ok().and_then(|n: usize| n.checked_mul(unit));
        match size {
            None => Err(wrong("names of classes", code)),
            Some(0) => Err(wrong("names of classes", "empty texts")),
            Some(size) => Ok(Some(Texts { unit, size, big })),
        }
    }

    fn labels(
        &self,
        header: &Header,
        bytes: &[u8],
        classes: &Classes<'_>,
    ) -> Result<Vec<usize>, ReadError> {
        let data = &bytes[header.start..];
        let expected = header.values.checked_mul(self.size);
        if expected != Some(data.len()) {
            return Err(other_size(expected, data.len()));
        }
        let texts = data.chunks_exact(self.size);
        in_rows(texts.map(|text| classes.named(&self.text(text))))
    }

    fn text(&self, text: &[u8]) -> String {
        match self.unit {
            1 => latin(text),
            _ => unicode(text, self.big),
        }
    }
}

/// Decodes text of one byte a character, padded with zeros.
fn latin(text: &[u8]) -> String {
    let text: Vec<u8> = text.iter().copied().take_while(|b| *b != 0).collect();
    String::from_utf8_lossy(&text).into_owned()
}

/// Decodes text of four bytes a character, padded with zeros.
fn unicode(text: &[u8], big: bool) -> String {
    let points = text.chunks_exact(4).map(|c| {
        let raw = [c[0], c[1], c[2], c[3]];
        match big {
            true => u32::from_be_bytes(raw),
            false => u32::from_le_bytes(raw),
        }
    });
    let points = points.take_while(|point| *point != 0);
    let letter = |point| char::from_u32(point).unwrap_or(char::REPLACEMENT_CHARACTER);
    points.map(letter).collect()
}

/// Returns the error of an unsupported type.
fn unknown(code: &str) -> ReadError {
    let known = Number::ALL.map(|(.., words)| words).join(", ");
    let advice = match code.trim_start_matches(['<', '>', '|']) {
        // The code that ml_dtypes writes. The .npy format has no name for bfloat16.
        "V2" => "; NumPy has no name for bfloat16: save x.astype('float32')",
        code if code.starts_with('O') => "; Python objects are not supported: save numbers",
        _ => "",
    };
    wrong(
        format_args!("one of {known}"),
        format_args!("{code}{advice}"),
    )
}

/// Checks the shape of all samples together.
fn check_shape(dims: &[u64], form: &SampleForm<'_>) -> Result<(), ReadError> {
    let fits = |form: &SampleForm<'_>| dims.split_first().is_some_and(|(_, d)| form.fits(d));
    if fits(form) {
        return Ok(());
    }
    let layout = match form.layout {
        ImageLayout::Nchw => ImageLayout::Nhwc,
        ImageLayout::Nhwc => ImageLayout::Nchw,
    };
    let advice = match fits(&SampleForm { layout, ..*form }) {
        true => format!("; is its layout {}?", layout.name()),
        false => String::new(),
    };
    let expected = form.expected_dimensions("n, ");
    Err(wrong(
        format_args!("the shape {expected}"),
        format_args!("{dims:?}{advice}"),
    ))
}

/// Returns the bytes of an `.npy` file of float32, little endian, with shape `dims`.
pub fn to_npy(values: impl Iterator<Item = f32>, dims: &[usize]) -> Vec<u8> {
    let mut bytes = to_header("<f4", dims);
    bytes.reserve(4 * dims.iter().product::<usize>());
    bytes.extend(values.flat_map(f32::to_le_bytes));
    bytes
}

/// Returns the bytes of an `.npy` file of class numbers below `most`, of shape `dims`: bytes if all
/// numbers fit, with 255 for no class, else int32, with -1 for no class.
pub fn to_npy_classes(
    classes: impl Iterator<Item = Option<u32>>,
    most: usize,
    dims: &[usize],
) -> Vec<u8> {
    if most <= usize::from(u8::MAX) {
        let mut bytes = to_header("|u1", dims);
        let byte = |class: u32| u8::try_from(class).ok();
        bytes.extend(classes.map(|class| class.and_then(byte).unwrap_or(u8::MAX)));
        return bytes;
    }
    let mut bytes = to_header("<i4", dims);
    let number = |class: u32| i32::try_from(class).ok();
    bytes.extend(classes.flat_map(|class| class.and_then(number).unwrap_or(-1).to_le_bytes()));
    bytes
}

/// Returns the start of an `.npy` file of numbers of a type.
///
/// Format version 1.0: the magic, the version, the length of the header, and the header as a Python
/// dictionary, padded so that the data begin at a multiple of 64 bytes.
fn to_header(number: &str, dims: &[usize]) -> Vec<u8> {
    let shape = match dims {
        // A tuple of one.
        [only] => format!("{only},"),
        _ => dims
            .iter()
            .map(usize::to_string)
            .collect::<Vec<_>>()
            .join(", "),
    };
    let mut header =
        format!("{{'descr': '{number}', 'fortran_order': False, 'shape': ({shape}), }}");
    let before = PREFIX.len() + size_of::<u16>();
    let padded = (before + header.len() + 1).next_multiple_of(64) - before;
    header = format!("{header:<width$}\n", width = padded - 1);
    let mut bytes = Vec::with_capacity(before + padded);
    bytes.extend_from_slice(PREFIX);
    bytes.extend((padded as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes
}

const PREFIX: &[u8] = b"\x93NUMPY\x01\x00";
