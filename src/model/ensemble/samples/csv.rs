//! CSV files: samples with or without targets, and targets only.

use csv::{ReaderBuilder, StringRecord};

use divisi_runtime::reading::ReadError;

use super::error::{no_boxes_name, other_width};
use super::form::{Classes, SampleForm};
use super::rows::Samples;
use super::target_rows::CsvTargets;
use super::targets::{TargetColumns, TargetForm, Targets};

/// The place of a label in a line.
pub(super) const LABEL: &str = "column label";

fn in_line(line: u64, error: ReadError) -> ReadError {
    error.at(format_args!("line {line}"))
}

/// Calls `begin` with the header, then `take` with each record. Errors of `take` get the line.
pub(super) fn each<T>(
    bytes: &[u8],
    begin: impl FnOnce(StringRecord) -> Result<T, ReadError>,
    mut take: impl FnMut(&mut T, &StringRecord) -> Result<(), ReadError>,
) -> Result<T, ReadError> {
    let mut reader = ReaderBuilder::new().flexible(true).from_reader(bytes);
    let header = reader.headers();
    let header = header.map_err(|e| in_line(1, ReadError::new(e)))?;
    let mut state = begin(header.clone())?;
    let mut record = StringRecord::new();
    loop {
        let more = reader.read_record(&mut record).map_err(|e| {
            let line = e.position().map_or(0, csv::Position::line);
            in_line(line, ReadError::new(e))
        })?;
        if !more {
            return Ok(state);
        }
        let taken = take(&mut state, &record);
        taken.map_err(|e| in_line(line_of(bytes, &record), e))?;
    }
}

/// Returns the line of a record. The reader counts from the end of the previous record, without
/// skipped line breaks such as the second half of a two-byte one.
fn line_of(bytes: &[u8], record: &StringRecord) -> u64 {
    let Some(position) = record.position() else {
        return 0;
    };
    let from = usize::try_from(position.byte()).unwrap_or(usize::MAX);
    let rest = bytes.get(from..).unwrap_or_default().iter();
    let skipped = rest.take_while(|byte| matches!(byte, b'\r' | b'\n'));
    position.line() + skipped.filter(|byte| **byte == b'\n').count() as u64
}

/// The rows read.
struct CsvRows<'a> {
    header: StringRecord,
    labelled: bool,
    values: Vec<f32>,
    labels: Vec<usize>,
    /// The targets in the last columns, if there are any.
    targets: Option<CsvTargets<'a>>,
}

/// Reads samples, with labels if the last column is `label`, or with targets if the last columns
/// are targets.
pub(super) fn samples(bytes: &[u8], form: &SampleForm<'_>) -> Result<Samples, ReadError> {
    let width = form.shape.elements();
    let begin = |header| CsvRows::begin(header, width, form.rows);
    let mut rows = each(bytes, begin, |rows, record| {
        rows.take(record, width, &form.classes)
    })?;
    rows.values.shrink_to_fit();
    form.layout.to_planes(form.shape, &mut rows.values);
    let samples = Samples::new(rows.values, width, rows.labelled.then_some(rows.labels))?;
    match rows.targets {
        Some(targets) => samples.with_targets(targets.finish()),
        None => Ok(samples),
    }
}

impl<'a> CsvRows<'a> {
    fn begin(
        header: StringRecord,
        width: usize,
        rows: Option<TargetColumns<'a>>,
    ) -> Result<Self, ReadError> {
        if !header.is_empty() && header.iter().all(|h| h.trim().parse::<f64>().is_ok()) {
            let wrong = ReadError::expected("a header that names the columns", "numbers");
            return Err(in_line(1, wrong));
        }
        let names: Vec<&str> = header.iter().map(str::trim).collect();
        let labelled = rows.is_none() && names.last() == Some(&"label");
        let behind = match rows {
            Some(columns) if header.len() != width => CsvTargets::at_end(columns, &names),
            Some(_) => 0,
            None => usize::from(labelled),
        };
        if header.len() != width + behind {
            return Err(other_width(width, header.len().saturating_sub(behind)));
        }
        let targets = rows.filter(|_| behind > 0);
        Ok(CsvRows {
            targets: targets.and_then(|columns| CsvTargets::named(columns, &names[width..])),
            header,
            labelled,
            values: Vec::new(),
            labels: Vec::new(),
        })
    }

    fn take(
        &mut self,
        record: &StringRecord,
        width: usize,
        classes: &Classes<'_>,
    ) -> Result<(), ReadError> {
        let columns = self.header.len();
        if record.len() != columns {
            return Err(ReadError::expected(
                format_args!("{columns} columns"),
                record.len(),
            ));
        }
        for (column, text) in record.iter().take(width).enumerate() {
            let value = text.trim().parse::<f32>().ok().filter(|v| v.is_finite());
            self.values.push(value.ok_or_else(|| {
                let wrong = ReadError::expected("a finite number", format_args!("`{text}`"));
                wrong.at(format_args!("column {}", &self.header[column]))
            })?);
        }
        if self.labelled {
            let label = classes.named(&record[width]);
            self.labels.push(label.map_err(|e| e.at(LABEL))?);
        }
        if let Some(targets) = &mut self.targets {
            targets.take(record.iter().skip(width))?;
        }
        Ok(())
    }
}

/// Reads only targets.
pub(super) fn targets(bytes: &[u8], form: TargetForm<'_>) -> Result<Targets, ReadError> {
    match form {
        TargetForm::Classes(classes) => labels(bytes, &classes).map(Targets::Classes),
        TargetForm::Rows(columns) => target_rows(bytes, columns),
        TargetForm::Boxes(_) => Err(no_boxes_name()),
    }
}

/// Reads only rows of targets: every column is a target.
fn target_rows(bytes: &[u8], columns: TargetColumns<'_>) -> Result<Targets, ReadError> {
    let begin = |header: StringRecord| {
        let names: Vec<&str> = header.iter().map(str::trim).collect();
        CsvTargets::named(columns, &names).ok_or_else(|| {
            let (count, found) = (columns.count, header.len());
            ReadError::new(format_args!(
                "expected {count} columns with the names of the values or labels or with names \
                 that begin with `target` (or, for labels, one column `labels`), found {found} \
                 columns"
            ))
        })
    };
    let rows = each(bytes, begin, |rows, record| {
        rows.take_whole(record.len(), record.iter())
    })?;
    Ok(rows.finish())
}

/// Reads only labels, from the column `label`.
fn labels(bytes: &[u8], classes: &Classes<'_>) -> Result<Vec<usize>, ReadError> {
    let begin = |header: StringRecord| {
        let column = header.iter().position(|name| name.trim() == "label");
        let column = column.ok_or_else(|| {
            let wrong = ReadError::new("expected a header with a column called `label`");
            in_line(1, wrong)
        })?;
        Ok((column, Vec::new()))
    };
    let (_, labels) = each(bytes, begin, |(column, labels), record| {
        let text = record.get(*column).unwrap_or_default();
        let label = classes.named(text);
        labels.push(label.map_err(|e| e.at(LABEL))?);
        Ok(())
    })?;
    Ok(labels)
}
