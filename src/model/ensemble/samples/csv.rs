//! CSV files: samples with or without targets, and targets only.

use csv::{ReaderBuilder, StringRecord};

use super::error::{BoxError, SamplesError};
use super::form::{Classes, SampleForm};
use super::rows::Samples;
use super::target_rows::CsvTargets;
use super::targets::{TargetColumns, TargetForm, Targets};

fn wrong(line: u64, reason: String) -> SamplesError {
    SamplesError::Line { line, reason }
}

/// Calls `begin` with the header, then `take` with each record and its line.
pub(super) fn each<T>(
    bytes: &[u8],
    begin: impl FnOnce(StringRecord) -> Result<T, SamplesError>,
    mut take: impl FnMut(&mut T, u64, &StringRecord) -> Result<(), SamplesError>,
) -> Result<T, SamplesError> {
    let mut reader = ReaderBuilder::new().flexible(true).from_reader(bytes);
    let header = reader.headers().map_err(|e| wrong(1, e.to_string()))?;
    let mut state = begin(header.clone())?;
    let mut record = StringRecord::new();
    loop {
        let more = reader.read_record(&mut record).map_err(|e| {
            let line = e.position().map_or(0, csv::Position::line);
            wrong(line, e.to_string())
        })?;
        if !more {
            return Ok(state);
        }
        take(&mut state, line_of(bytes, &record), &record)?;
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
pub(super) fn samples(bytes: &[u8], form: &SampleForm<'_>) -> Result<Samples, SamplesError> {
    let width = form.shape.elements();
    let begin = |header| CsvRows::begin(header, width, form.rows);
    let mut rows = each(bytes, begin, |rows, line, record| {
        rows.take(line, record, width, &form.classes)
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
    ) -> Result<Self, SamplesError> {
        if !header.is_empty() && header.iter().all(|h| h.trim().parse::<f64>().is_ok()) {
            return Err(SamplesError::NoHeader);
        }
        let names: Vec<&str> = header.iter().map(str::trim).collect();
        let labelled = rows.is_none() && names.last() == Some(&"label");
        let behind = match rows {
            Some(columns) if header.len() != width => CsvTargets::at_end(columns, &names),
            Some(_) => 0,
            None => usize::from(labelled),
        };
        if header.len() != width + behind {
            return Err(SamplesError::Width {
                expected: width,
                found: header.len().saturating_sub(behind),
            });
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
        line: u64,
        record: &StringRecord,
        width: usize,
        classes: &Classes<'_>,
    ) -> Result<(), SamplesError> {
        let columns = self.header.len();
        if record.len() != columns {
            let why = format!("expected {columns} columns, found {}", record.len());
            return Err(wrong(line, why));
        }
        for (column, text) in record.iter().take(width).enumerate() {
            let value = text.trim().parse::<f32>().ok().filter(|v| v.is_finite());
            self.values.push(value.ok_or_else(|| {
                let name = &self.header[column];
                let why = format!("column {name}: expected a finite number, found `{text}`");
                wrong(line, why)
            })?);
        }
        if self.labelled {
            let label = classes.named(&record[width]);
            let label = label.map_err(|why| wrong(line, format!("column label: {why}")))?;
            self.labels.push(label);
        }
        if let Some(targets) = &mut self.targets {
            let taken = targets.take(record.iter().skip(width));
            taken.map_err(|why| wrong(line, why.to_string()))?;
        }
        Ok(())
    }
}

/// Reads only targets.
pub(super) fn targets(bytes: &[u8], form: TargetForm<'_>) -> Result<Targets, SamplesError> {
    match form {
        TargetForm::Classes(classes) => labels(bytes, &classes).map(Targets::Classes),
        TargetForm::Rows(columns) => target_rows(bytes, columns),
        TargetForm::Boxes(_) => Err(BoxError::Kind.into()),
    }
}

/// Reads only rows of targets: every column is a target.
fn target_rows(bytes: &[u8], columns: TargetColumns<'_>) -> Result<Targets, SamplesError> {
    let begin = |header: StringRecord| {
        let names: Vec<&str> = header.iter().map(str::trim).collect();
        CsvTargets::named(columns, &names).ok_or(SamplesError::TargetColumns {
            expected: columns.count,
            found: header.len(),
        })
    };
    let rows = each(bytes, begin, |rows, line, record| {
        let taken = rows.take_whole(record.len(), record.iter());
        taken.map_err(|why| wrong(line, why.to_string()))
    })?;
    Ok(rows.finish())
}

/// Reads only labels, from the column `label`.
fn labels(bytes: &[u8], classes: &Classes<'_>) -> Result<Vec<usize>, SamplesError> {
    let begin = |header: StringRecord| {
        let column = header.iter().position(|name| name.trim() == "label");
        let column = column.ok_or_else(|| {
            let why = "expected a header with a column called `label`";
            wrong(1, why.to_owned())
        })?;
        Ok((column, Vec::new()))
    };
    let (_, labels) = each(bytes, begin, |(column, labels), line, record| {
        let text = record.get(*column).unwrap_or_default();
        let label = classes.named(text);
        labels.push(label.map_err(|why| wrong(line, format!("column label: {why}")))?);
        Ok(())
    })?;
    Ok(labels)
}
