//! Files of texts: one text per line, or the column `text` of a CSV.

use csv::StringRecord;

use crate::ensemble::samples::csv::each;
use crate::ensemble::samples::error::SamplesError;
use crate::ensemble::samples::form::{Classes, SampleForm};
use crate::ensemble::samples::rows::Samples;
use crate::ensemble::samples::target_rows::CsvTargets;
use crate::ensemble::samples::targets::{TargetForm, Targets};

use super::input::TextInput;
use super::rows::TextRows;

/// The mark that some programs write at the beginning of a text.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Reads a text from each line. Ignores empty lines at the end.
pub(in crate::ensemble::samples) fn lines(
    bytes: &[u8],
    input: &TextInput,
) -> Result<Samples, SamplesError> {
    let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    let mut rows = TextRows::new(input);
    for (before, line) in bytes.trim_ascii_end().split(|b| *b == b'\n').enumerate() {
        let wrong = |reason: String| SamplesError::Line {
            line: before as u64 + 1,
            reason,
        };
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let text = str::from_utf8(line).map_err(|_| wrong("expected UTF-8 text".into()))?;
        rows.take(text, None).map_err(|e| wrong(e.to_string()))?;
    }
    rows.finish()
}

/// Reads the columns `text` and, for pairs, `text_pair`, with labels from `label` or targets from
/// the last columns. Ignores other columns.
pub(in crate::ensemble::samples) fn csv(
    bytes: &[u8],
    form: &SampleForm<'_>,
    input: &TextInput,
) -> Result<Samples, SamplesError> {
    let begin = |header| CsvTexts::begin(&header, form, input);
    let read = each(bytes, begin, |texts, line, record| {
        let taken = texts.take(record);
        taken.map_err(|reason| SamplesError::Line { line, reason })
    })?;
    let samples = read.rows.finish()?;
    match read.targets {
        TextTargets::None => Ok(samples),
        TextTargets::Labels { found, .. } => samples.with_targets(Targets::Classes(found)),
        TextTargets::Rows { columns, .. } => samples.with_targets(columns.finish()),
    }
}

/// The texts and targets read from a CSV.
struct CsvTexts<'a> {
    /// The number of columns.
    columns: usize,
    text: usize,
    pair: Option<usize>,
    rows: TextRows<'a>,
    targets: TextTargets<'a>,
}

/// The targets of texts.
enum TextTargets<'a> {
    None,
    Labels {
        column: usize,
        classes: Classes<'a>,
        found: Vec<usize>,
    },
    /// In the columns from this one.
    Rows {
        first: usize,
        columns: CsvTargets<'a>,
    },
}

impl<'a> CsvTexts<'a> {
    fn begin(
        header: &StringRecord,
        form: &SampleForm<'a>,
        input: &'a TextInput,
    ) -> Result<Self, SamplesError> {
        let names: Vec<&str> = header.iter().map(str::trim).collect();
        let column = |wanted: &str| names.iter().position(|name| *name == wanted);
        let text = column("text").ok_or_else(|| SamplesError::no_text(&names))?;
        Ok(CsvTexts {
            columns: names.len(),
            text,
            pair: column("text_pair"),
            rows: TextRows::new(input),
            targets: TextTargets::from_header(&names, form),
        })
    }

    fn take(&mut self, record: &StringRecord) -> Result<(), String> {
        if record.len() != self.columns {
            let (expected, found) = (self.columns, record.len());
            return Err(format!("expected {expected} columns, found {found}"));
        }
        let pair = self.pair.map(|column| &record[column]);
        let taken = self.rows.take(&record[self.text], pair);
        taken.map_err(|e| format!("column text: {e}"))?;
        self.targets.take(record)
    }
}

impl<'a> TextTargets<'a> {
    fn from_header(names: &[&str], form: &SampleForm<'a>) -> Self {
        match form.targets() {
            TargetForm::Classes(classes) => {
                let column = names.iter().position(|name| *name == "label");
                column.map_or(TextTargets::None, |column| TextTargets::Labels {
                    column,
                    classes,
                    found: Vec::new(),
                })
            }
            TargetForm::Rows(columns) => {
                let first = names.len() - CsvTargets::at_end(columns, names);
                let named = CsvTargets::named(columns, &names[first..]);
                named.map_or(TextTargets::None, |columns| TextTargets::Rows {
                    first,
                    columns,
                })
            }
            // Boxes are only supported in JSON.
            TargetForm::Boxes(_) => TextTargets::None,
        }
    }

    fn take(&mut self, record: &StringRecord) -> Result<(), String> {
        match self {
            TextTargets::None => Ok(()),
            TextTargets::Labels {
                column,
                classes,
                found,
            } => {
                let label = classes.named(&record[*column]);
                found.push(label.map_err(|why| format!("column label: {why}"))?);
                Ok(())
            }
            TextTargets::Rows { first, columns } => {
                let taken = columns.take(record.iter().skip(*first));
                taken.map_err(|why| why.to_string())
            }
        }
    }
}
