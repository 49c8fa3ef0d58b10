//! Reports of commands: as text, JSON or CSV, on standard output or in a file.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::ValueEnum;
use serde::Serialize;
use serde_json::Value;

use super::output::{OutputFile, note, print};

/// The format of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// For people
    #[default]
    Text,
    /// For programs: all fields
    Json,
    /// For spreadsheets: a row for each entry of each list
    Csv,
}

/// A report of a command: its serialised fields for programs, a text for people, and rows for
/// spreadsheets.
pub(crate) trait Report: Serialize {
    /// Returns the text for people.
    fn text(&self) -> String;

    /// Returns the rows for spreadsheets.
    fn csv(&self) -> Result<String> {
        as_csv(&serde_json::to_value(self)?)
    }
}

impl OutputFormat {
    /// Returns the report in this format.
    fn written(self, report: &impl Report) -> Result<String> {
        match self {
            OutputFormat::Text => Ok(report.text()),
            OutputFormat::Json => Ok(serde_json::to_string_pretty(report)?),
            OutputFormat::Csv => report.csv(),
        }
    }

    /// Prints the report.
    pub(crate) fn print(self, report: &impl Report) -> Result<()> {
        print(&self.written(report)?)
    }
}

/// The form and the place of a command's report.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Report")]
pub(crate) struct ReportOptions {
    /// Format of the report
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    pub format: OutputFormat,
    /// Write the report to this file (`-`: standard output)
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace existing files
    #[arg(long)]
    pub force: bool,
}

impl ReportOptions {
    /// Checks, before the work begins, that the report can be written.
    ///
    /// # Errors
    /// The file exists and `--force` is missing, or its folder does not exist.
    pub(crate) fn open(&self) -> Result<OpenedReport> {
        OpenedReport::new(self.format, self.output.as_deref(), self.force)
    }

    /// Writes a report without a check in advance, since it took no time to compute.
    pub(crate) fn write(&self, report: &impl Report) -> Result<()> {
        self.open()?.write(report)
    }
}

/// The form of a command's report, if `--output` is its product, such as a matrix or answers.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Report")]
pub(crate) struct ProductOptions {
    /// Format of the report
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    pub format: OutputFormat,
    /// Replace existing files
    #[arg(long)]
    pub force: bool,
}

impl ProductOptions {
    /// Checks, before the work begins, that the product can be written to `path`, if there is one.
    ///
    /// # Errors
    /// The file exists and `--force` is missing, or its folder does not exist.
    pub(crate) fn open(&self, path: Option<&Path>) -> Result<Option<OutputFile>> {
        opened(path, self.force)
    }

    /// Prints the report, on standard error if the product is on standard output.
    pub(crate) fn print(&self, report: &impl Report, product: Option<&OutputFile>) -> Result<()> {
        if !product.is_some_and(OutputFile::is_standard) {
            return self.format.print(report);
        }
        note(&self.format.written(report)?);
        Ok(())
    }
}

fn opened(path: Option<&Path>, replaces: bool) -> Result<Option<OutputFile>> {
    path.map(|path| OutputFile::new(path, replaces)).transpose()
}

/// A checked place for a report.
pub(crate) struct OpenedReport {
    format: OutputFormat,
    output: Option<OutputFile>,
}

impl OpenedReport {
    /// Checks a place, standard output without a path.
    ///
    /// # Errors
    /// The file exists and is not to be replaced, or its folder does not exist.
    pub(crate) fn new(format: OutputFormat, path: Option<&Path>, replaces: bool) -> Result<Self> {
        let output = opened(path, replaces)?;
        Ok(OpenedReport { format, output })
    }

    /// Writes the report.
    pub(crate) fn write(&self, report: &impl Report) -> Result<()> {
        let written = self.format.written(report)?;
        match &self.output {
            None => print(&written),
            Some(file) => file.write(&format!("{}\n", written.trim_end())),
        }
    }
}

/// A row of a table: the values of columns by their names.
type FlatRow = Vec<(String, String)>;

/// Returns a report as CSV: one row for the scalar fields, then one for each entry of each list.
/// The column `section` names the list.
fn as_csv(report: &Value) -> Result<String> {
    let mut rows = Vec::new();
    match report {
        Value::Array(entries) => entries.iter().for_each(|e| add_rows("", "", e, &mut rows)),
        report => add_rows("report", "", report, &mut rows),
    }
    table(&rows)
}

/// Adds a row of the scalar fields of `value`, then the rows of the lists in it, below `path`.
fn add_rows(section: &str, path: &str, value: &Value, rows: &mut Vec<(String, FlatRow)>) {
    let (mut row, mut lists) = (FlatRow::new(), Vec::new());
    split("", value, &mut row, &mut lists);
    if !row.is_empty() {
        rows.push((section.to_owned(), row));
    }
    for (name, entries) in lists {
        let path = joined(path, &name);
        entries
            .iter()
            .for_each(|entry| add_rows(&path, &path, entry, rows));
    }
}

/// Splits a value into cells and lists of objects; the names of an object's fields contain a dot.
fn split<'a>(
    path: &str,
    value: &'a Value,
    row: &mut FlatRow,
    lists: &mut Vec<(String, &'a [Value])>,
) {
    match value {
        Value::Object(fields) => fields
            .iter()
            .for_each(|(name, value)| split(&joined(path, name), value, row, lists)),
        Value::Array(entries) if entries.iter().any(Value::is_object) => {
            lists.push((path.to_owned(), entries));
        }
        value if path.is_empty() => row.push(("value".to_owned(), cell(value))),
        value => row.push((path.to_owned(), cell(value))),
    }
}

fn joined(path: &str, name: &str) -> String {
    match path {
        "" => name.to_owned(),
        path => format!("{path}.{name}"),
    }
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(cell).collect::<Vec<_>>().join(" "),
        value => value.to_string(),
    }
}

fn table(rows: &[(String, FlatRow)]) -> Result<String> {
    let mut columns: Vec<&str> = Vec::new();
    for (name, _) in rows.iter().flat_map(|(_, row)| row) {
        if !columns.contains(&name.as_str()) {
            columns.push(name);
        }
    }
    let several = rows.windows(2).any(|pair| pair[0].0 != pair[1].0);
    written_csv(|writer| {
        let head = several.then_some("section").into_iter();
        writer.write_record(head.chain(columns.iter().copied()))?;
        rows.iter().try_for_each(|(section, row)| {
            let value = |column: &&str| {
                let found = row.iter().find(|(name, _)| name == column);
                found.map_or("", |(_, value)| value.as_str())
            };
            let head = several.then_some(section.as_str()).into_iter();
            writer.write_record(head.chain(columns.iter().map(value)))
        })
    })
}

/// Returns the CSV that `write` writes.
pub(crate) fn written_csv(
    write: impl FnOnce(&mut csv::Writer<Vec<u8>>) -> csv::Result<()>,
) -> Result<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    write(&mut writer)?;
    Ok(String::from_utf8(writer.into_inner()?)?)
}
