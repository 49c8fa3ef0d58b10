//! Lines and tables in the texts of reports.

use divisi_model::allocation::Matrix;
use divisi_model::metrics::SplitMeans;
use divisi_runtime::tensor::TensorSpec;
use serde::{Serialize, Serializer};

/// Returns the parts that exist, each on its own line.
pub(crate) fn lines(parts: impl IntoIterator<Item = Option<String>>) -> String {
    parts.into_iter().flatten().collect::<Vec<_>>().join("\n")
}

/// Returns a table of left-aligned columns below their heads, with a newline after each row.
pub(crate) fn columns<R: Into<Vec<String>>>(
    head: &[impl AsRef<str>],
    rows: impl IntoIterator<Item = R>,
) -> String {
    figures(usize::MAX, head, rows) + "\n"
}

/// Returns a table of figures below their heads: the first `left` columns are left-aligned, the
/// others are right-aligned.
pub(crate) fn figures<R: Into<Vec<String>>>(
    left: usize,
    head: &[impl AsRef<str>],
    rows: impl IntoIterator<Item = R>,
) -> String {
    let head = head.iter().map(|head| head.as_ref().to_owned()).collect();
    let rows = rows.into_iter().map(Into::into);
    let rows: Vec<Vec<String>> = std::iter::once(head).chain(rows).collect();
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let most = rows.iter().map(Vec::len).max();
    let widths: Vec<usize> = (0..most.unwrap_or(0)).map(width).collect();
    let lines = rows.iter().map(|row| {
        let cells = row.iter().zip(&widths).enumerate();
        let cells = cells.map(|(at, (cell, &width))| match at < left {
            true => format!("{cell:width$}"),
            false => format!("{cell:>width$}"),
        });
        let line = cells.collect::<Vec<_>>().join("  ");
        line.trim_end().to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns a matrix as a table.
pub(crate) fn matrix_table(matrix: &Matrix) -> String {
    let frame = matrix.frame();
    let members = frame.members.iter().map(|member| format!("{member:>4}"));
    let head: Vec<String> = std::iter::once(String::new()).chain(members).collect();
    let rows = frame.devices.iter().zip(matrix.rows());
    let rows = rows.map(|(device, row)| {
        let entries = row.iter().map(|entry| match entry {
            0 => "·".to_owned(),
            size => size.to_string(),
        });
        let cells = std::iter::once(device.clone()).chain(entries);
        cells.collect::<Vec<_>>()
    });
    figures(1, &head, rows)
}

/// A matrix in a report, with the names of its columns.
#[derive(Serialize)]
pub(crate) struct MatrixReport {
    members: Vec<String>,
    matrix: ReportedMatrix,
}

impl MatrixReport {
    /// Returns the report of a matrix.
    pub(crate) fn new(matrix: &Matrix) -> Self {
        MatrixReport {
            members: matrix.frame().members.clone(),
            matrix: ReportedMatrix(matrix.clone()),
        }
    }

    /// Returns the matrix.
    pub(crate) fn matrix(&self) -> &Matrix {
        &self.matrix.0
    }
}

/// A matrix in a report, as rows of batch sizes.
pub(crate) struct ReportedMatrix(pub Matrix);

impl Serialize for ReportedMatrix {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.0.rows())
    }
}

/// Returns the stages of a request with their mean times in microseconds.
pub(crate) fn stages(split: &SplitMeans) -> [(&'static str, f64); 6] {
    [
        ("admission", split.admission),
        ("queueing", split.queueing),
        ("batching", split.batching),
        ("copying", split.copying),
        ("computing", split.computing),
        ("combining", split.combining),
    ]
}

/// Returns the names, types and shapes of tensors.
pub(crate) fn tensors_in_words(specs: &[TensorSpec]) -> String {
    let each = specs.iter().map(|spec| format!("{} {spec}", spec.name));
    each.collect::<Vec<_>>().join(", ")
}
