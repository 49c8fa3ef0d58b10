//! Reports of commands: as text, JSON or CSV, on standard output or in a file.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::ValueEnum;
use serde::Serialize;
use serde_json::{Map, Value};

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

impl OutputFormat {
    /// Returns the report in this format.
    pub(crate) fn written(self, report: &impl Serialize, text: &str) -> Result<String> {
        match self {
            OutputFormat::Text => Ok(text.to_owned()),
            OutputFormat::Json => Ok(serde_json::to_string_pretty(report)?),
            OutputFormat::Csv => as_csv(&serde_json::to_value(report)?),
        }
    }

    /// Prints the report.
    pub(crate) fn print(self, report: &impl Serialize, text: &str) -> Result<()> {
        print(&self.written(report, text)?)
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
        let output = self.output.as_deref();
        let output = output.map(|path| OutputFile::new(path, self.force));
        Ok(OpenedReport {
            format: self.format,
            output: output.transpose()?,
        })
    }

    /// Writes a report without a check in advance, since it took no time to compute.
    pub(crate) fn write(&self, report: &impl Serialize, text: &str) -> Result<()> {
        self.open()?.write(report, text)
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
        path.map(|path| OutputFile::new(path, self.force))
            .transpose()
    }

    /// Prints the report, on standard error if the product is on standard output.
    pub(crate) fn print(
        &self,
        report: &impl Serialize,
        text: &str,
        product: Option<&OutputFile>,
    ) -> Result<()> {
        match product.is_some_and(OutputFile::is_standard) {
            true => {
                note(&self.format.written(report, text)?);
                Ok(())
            }
            false => self.format.print(report, text),
        }
    }
}

/// A checked place for a report.
pub(crate) struct OpenedReport {
    format: OutputFormat,
    output: Option<OutputFile>,
}

impl OpenedReport {
    /// Writes the report.
    pub(crate) fn write(&self, report: &impl Serialize, text: &str) -> Result<()> {
        self.write_text(&self.format.written(report, text)?)
    }

    /// Writes a formatted report.
    pub(crate) fn write_text(&self, written: &str) -> Result<()> {
        match &self.output {
            None => print(written),
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
        Value::Array(entries) => section("", entries, &mut rows),
        Value::Object(fields) => {
            let alone = flat("", fields);
            if !alone.is_empty() {
                rows.push(("report".to_owned(), alone));
            }
            lists("", fields, &mut rows);
        }
        other => rows.push((String::new(), vec![("value".to_owned(), cell(other))])),
    }
    table(&rows)
}

/// Adds the rows of all lists below `fields`.
fn lists(path: &str, fields: &Map<String, Value>, rows: &mut Vec<(String, FlatRow)>) {
    for (name, value) in fields {
        let path = joined(path, name);
        match value {
            Value::Array(entries) if entries.iter().any(Value::is_object) => {
                section(&path, entries, rows);
            }
            Value::Object(fields) => lists(&path, fields, rows),
            _ => {}
        }
    }
}

/// Adds a row for each entry of a list, and the lists in it.
fn section(path: &str, entries: &[Value], rows: &mut Vec<(String, FlatRow)>) {
    for entry in entries {
        let Value::Object(fields) = entry else {
            rows.push((path.to_owned(), vec![("value".to_owned(), cell(entry))]));
            continue;
        };
        rows.push((path.to_owned(), flat("", fields)));
        lists(path, fields, rows);
    }
}

/// Returns the fields other than lists of objects; the names of an object's fields contain a dot.
fn flat(path: &str, fields: &Map<String, Value>) -> FlatRow {
    let of_field = |(name, value): (&String, &Value)| {
        let path = joined(path, name);
        match value {
            Value::Object(fields) => flat(&path, fields),
            Value::Array(entries) if entries.iter().any(Value::is_object) => Vec::new(),
            value => vec![(path, cell(value))],
        }
    };
    fields.iter().flat_map(of_field).collect()
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
    let mut writer = csv::Writer::from_writer(Vec::new());
    let head = several.then_some("section").into_iter();
    writer.write_record(head.chain(columns.iter().copied()))?;
    for (section, row) in rows {
        let value = |column: &&str| {
            let found = row.iter().find(|(name, _)| name == column);
            found.map_or("", |(_, value)| value.as_str())
        };
        let head = several.then_some(section.as_str()).into_iter();
        writer.write_record(head.chain(columns.iter().map(value)))?;
    }
    Ok(String::from_utf8(writer.into_inner()?)?)
}
