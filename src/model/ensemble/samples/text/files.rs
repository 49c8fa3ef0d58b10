//! Files of texts: one text per line, or the column `text` of a CSV.

use csv::StringRecord;

use divisi_runtime::reading::ReadError;

use crate::ensemble::samples::csv::{LABEL, each};
use crate::ensemble::samples::form::{Classes, SampleForm};
use crate::ensemble::samples::rows::Samples;
use crate::ensemble::samples::target_rows::CsvTargets;
use crate::ensemble::samples::targets::{TargetForm, Targets};

use super::input::TextInput;
use super::rows::TextRows;

/// The mark that some programs write at the beginning of a text.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// The maximum number of column names in a message.
const SHOWN_COLUMNS: usize = 8;

/// Reads a text from each line. Ignores empty lines at the end.
pub(in crate::ensemble::samples) fn lines(
    bytes: &[u8],
    input: &TextInput,
) -> Result<Samples, ReadError> {
    let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    let mut rows = TextRows::new(input);
    for (before, line) in bytes.trim_ascii_end().split(|b| *b == b'\n').enumerate() {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let text = str::from_utf8(line).map_err(|_| ReadError::new("expected UTF-8 text"));
        let taken = text.and_then(|text| rows.take(text, None));
        taken.map_err(|e| e.at(format_args!("line {}", before + 1)))?;
    }
    rows.finish()
}

/// Reads the columns `text` and, for pairs, `text_pair`, with labels from `label` or targets from
/// the last columns. Ignores other columns.
pub(in crate::ensemble::samples) fn csv(
    bytes: &[u8],
    form: &SampleForm<'_>,
    input: &TextInput,
) -> Result<Samples, ReadError> {
    let begin = |header| CsvTexts::begin(&header, form, input);
    let read = each(bytes, begin, CsvTexts::take)?;
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
    ) -> Result<Self, ReadError> {
        let names: Vec<&str> = header.iter().map(str::trim).collect();
        let column = |wanted: &str| names.iter().position(|name| *name == wanted);
        let text = column("text").ok_or_else(|| no_text(&names))?;
        Ok(CsvTexts {
            columns: names.len(),
            text,
            pair: column("text_pair"),
            rows: TextRows::new(input),
            targets: TextTargets::from_header(&names, form),
        })
    }

    fn take(&mut self, record: &StringRecord) -> Result<(), ReadError> {
        if record.len() != self.columns {
            let expected = format_args!("{} columns", self.columns);
            return Err(ReadError::expected(expected, record.len()));
        }
        let pair = self.pair.map(|column| &record[column]);
        let taken = self.rows.take(&record[self.text], pair);
        taken.map_err(|e| e.at("column text"))?;
        self.targets.take(record)
    }
}

/// Returns the error of a table with only these columns.
fn no_text(columns: &[&str]) -> ReadError {
    let shown = columns.iter().take(SHOWN_COLUMNS);
    let shown: Vec<String> = shown.map(|name| name.escape_debug().to_string()).collect();
    ReadError::expected("a header with a column `text`", shown.join(", "))
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

    fn take(&mut self, record: &StringRecord) -> Result<(), ReadError> {
        match self {
            TextTargets::None => Ok(()),
            TextTargets::Labels {
                column,
                classes,
                found,
            } => {
                let label = classes.named(&record[*column]);
                found.push(label.map_err(|e| e.at(LABEL))?);
                Ok(())
            }
            TextTargets::Rows { first, columns } => columns.take(record.iter().skip(*first)),
        }
    }
}
