//! NumPy's `.npy` files: samples and labels.

use npyz::{DType, Order};

use super::form::{Classes, SampleForm};
use super::layout::Layout;
use super::table::{Number, Table};
use super::{Samples, SamplesError, Source};

/// What a file's header says.
struct Header {
    dims: Vec<u64>,
    /// The order of bytes and the type: `<f4`.
    code: String,
    /// Where the data begin.
    start: usize,
    values: usize,
}

pub(super) fn samples(bytes: Vec<u8>, form: &SampleForm<'_>) -> Result<Samples, SamplesError> {
    let header = Header::read(&bytes)?;
    check_shape(&header.dims, form)?;
    let table = header.table(bytes)?;
    let width = form.shape.elements();
    if let Some(at) = table.not_finite() {
        return Err(SamplesError::NotFinite {
            sample: at / width,
            value: at % width,
        });
    }
    let rows = table.len() / width;
    Samples::from_source(Source::File(table, form.shape, form.layout), rows, width)
}

/// Labels: whole numbers, or names of classes.
pub(super) fn labels(bytes: Vec<u8>, classes: &Classes<'_>) -> Result<Vec<usize>, SamplesError> {
    let header = Header::read(&bytes)?;
    let flat = match header.dims[..] {
        [_] | [_, 1] => true,
        _ => false,
    };
    if !flat {
        let found = &header.dims;
        let why = format!("expected the shape [n], a label a sample, found {found:?}");
        return Err(SamplesError::Npy(why));
    }
    let wrong = |(row, label): (usize, Result<usize, String>)| {
        label.map_err(|reason| SamplesError::Row { row, reason })
    };
    if let Some(texts) = header.texts(&bytes)? {
        let labels = texts.iter().map(|text| classes.named(text));
        return labels.enumerate().map(wrong).collect();
    }
    let code = header.code.clone();
    let numbers = header.table(bytes)?.whole().ok_or_else(|| {
        let why = format!("labels: expected whole numbers or names of classes, found {code}");
        SamplesError::Npy(why)
    })?;
    let labels = numbers.into_iter().map(|number| classes.numbered(number));
    labels.enumerate().map(wrong).collect()
}

impl Header {
    fn read(bytes: &[u8]) -> Result<Self, SamplesError> {
        let bad = |why: String| SamplesError::Npy(why);
        // A header may claim more than can be counted, and the reader multiplies.
        let values = claimed_values(bytes).and_then(|n| usize::try_from(n).ok());
        let values = values.ok_or_else(|| bad("truncated".into()))?;
        let mut rest = bytes;
        let header = npyz::NpyHeader::from_reader(&mut rest).map_err(|e| bad(e.to_string()))?;
        let dims = header.shape().to_vec();
        // In one dimension both orders are the same.
        let several = dims.iter().filter(|d| **d > 1).count() > 1;
        if header.order() != Order::C && several {
            return Err(bad(
                "expected C order, found Fortran order: save numpy.ascontiguousarray(x)".into(),
            ));
        }
        let DType::Plain(code) = header.dtype() else {
            return Err(bad("expected numbers, found records".into()));
        };
        Ok(Header {
            dims,
            code: code.to_string(),
            start: bytes.len() - rest.len(),
            values,
        })
    }

    fn table(self, bytes: Vec<u8>) -> Result<Table, SamplesError> {
        let (order, code) = self.code.split_at(1.min(self.code.len()));
        let Some(number) = Number::named(code) else {
            return Err(SamplesError::Npy(unknown(&self.code)));
        };
        let found = bytes.len() - self.start;
        let table = Table::new(bytes, self.start, self.values, number, order == ">");
        table.ok_or_else(|| {
            let expected = self.values.saturating_mul(number.bytes());
            SamplesError::Npy(format!(
                "truncated: its header says {expected} bytes of numbers, found {found}"
            ))
        })
    }

    /// The texts of a file of texts; none of one of something else.
    fn texts(&self, bytes: &[u8]) -> Result<Option<Vec<String>>, SamplesError> {
        let (order, code) = self.code.split_at(1.min(self.code.len()));
        let (unit, length) = match code.split_at(1.min(code.len())) {
            ("U", length) => (4, length),
            ("S", length) => (1, length),
            _ => return Ok(None),
        };
        let truncated = || SamplesError::Npy("truncated".into());
        let length: usize = length.parse().map_err(|_| truncated())?;
        let size = length.checked_mul(unit).ok_or_else(truncated)?;
        let all = size.checked_mul(self.values).ok_or_else(truncated)?;
        let data = bytes[self.start..].get(..all).ok_or_else(truncated)?;
        if size == 0 {
            return Ok(Some(vec![String::new(); self.values]));
        }
        let texts = data.chunks_exact(size).map(|text| match unit {
            1 => latin(text),
            _ => unicode(text, order == ">"),
        });
        Ok(Some(texts.collect()))
    }
}

/// Text of one byte a character, filled up with zeros.
fn latin(text: &[u8]) -> String {
    let text: Vec<u8> = text.iter().copied().take_while(|b| *b != 0).collect();
    String::from_utf8_lossy(&text).into_owned()
}

/// Text of four bytes a character, filled up with zeros.
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

fn unknown(code: &str) -> String {
    let known = Number::ALL.map(|(.., words)| words).join(", ");
    let advice = match code.trim_start_matches(['<', '>', '|']) {
        // What ml_dtypes writes: an .npy has no name for it.
        "V2" => "; bfloat16 has none of NumPy's names: save x.astype('float32')",
        code if code.starts_with('O') => "; Python objects are not read: save numbers",
        _ => "",
    };
    format!("expected one of {known}, found {code}{advice}")
}

/// Samples may be flat, and images of one channel without it.
fn check_shape(dims: &[u64], form: &SampleForm<'_>) -> Result<(), SamplesError> {
    let expected = form.layout.dimensions(form.shape);
    let fits = |tail: &[usize]| {
        dims.len() == tail.len() + 1 && dims[1..].iter().zip(tail).all(|(d, t)| *d == *t as u64)
    };
    let without_one: Vec<usize> = match (form.layout, &expected[..]) {
        (Layout::Nchw, [1, plane @ ..]) | (Layout::Nhwc, [plane @ .., 1]) => plane.to_vec(),
        _ => expected.clone(),
    };
    let flat = form.shape.elements();
    if fits(&expected) || fits(&[flat]) || fits(&without_one) {
        return Ok(());
    }
    let mut why = format!(
        "expected the shape [n, {}] or [n, {flat}], found {dims:?}",
        join(&expected)
    );
    let other = match form.layout {
        Layout::Nchw => Layout::Nhwc,
        Layout::Nhwc => Layout::Nchw,
    };
    if fits(&other.dimensions(form.shape)) {
        why += &format!("; is its layout {}?", other.name());
    }
    Err(SamplesError::Npy(why))
}

fn join(dims: &[usize]) -> String {
    dims.iter()
        .map(usize::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}

/// Values that the header's shape claims; none where they cannot be counted. The
/// reader multiplies without looking, so this looks first.
fn claimed_values(bytes: &[u8]) -> Option<u64> {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4096)]);
    let Some((_, after)) = text.split_once("'shape'") else {
        return Some(0); // Not a header at all: the reader says so.
    };
    let dims = after.split_once('(')?.1.split_once(')')?.0;
    let mut numbers = dims.split(',').map(str::trim).filter(|d| !d.is_empty());
    numbers.try_fold(1u64, |all, d| all.checked_mul(d.parse().ok()?))
}
