//! The errors that several readers of samples and targets have in common.

use std::fmt::Display;

use divisi_runtime::reading::ReadError;
use divisi_runtime::words;

/// Returns the error of a file whose name is not one of samples.
pub(super) fn no_samples_name() -> ReadError {
    ReadError::new(
        "expected a .csv, .npy, .npz, .json, .jsonl, .txt, .png, .jpg, .jpeg or .webp file, or a \
         folder of images",
    )
}

/// Returns the error of a file whose name is not one of labels or other targets.
pub(super) fn no_targets_name() -> ReadError {
    ReadError::new(
        "expected a .csv, .npy, .npz or .json file of labels or targets, or, for masks of images, a \
         folder of PNGs",
    )
}

/// Returns the error of a file that cannot hold boxes.
pub(super) fn no_boxes_name() -> ReadError {
    ReadError::new("expected boxes in a .json file (COCO or one list per sample) or a .jsonl file")
}

/// Returns the error of texts for an ensemble that takes numbers.
pub(super) fn no_text_input() -> ReadError {
    ReadError::new("expected samples of numbers, found texts; the ensemble has no [input.text]")
}

/// Returns the error of an empty file.
pub(super) fn no_samples() -> ReadError {
    ReadError::new("expected at least one sample, found none")
}

/// Returns the error of more samples than memory is used for.
pub(super) fn many_samples(most: usize, found: usize) -> ReadError {
    ReadError::expected(
        format_args!("at most {most} samples with this shape"),
        found,
    )
}

/// Returns the error of samples with another number of values.
pub(super) fn other_width(expected: usize, found: usize) -> ReadError {
    ReadError::expected(format_args!("{expected} values per sample"), found)
}

/// Returns the error of samples that the system has no memory for.
pub(super) fn no_memory(samples: usize) -> ReadError {
    ReadError::new(format_args!("not enough memory for {samples} samples"))
}

/// Returns the error of a label with a fraction.
pub(super) fn not_whole(label: f64) -> ReadError {
    ReadError::expected("a whole number", words::number(label))
}

/// Returns the error of a target at a row and column, from 0.
pub(super) fn wrong_cell(
    row: usize,
    column: usize,
    expected: &str,
    found: impl Display,
) -> ReadError {
    ReadError::expected(expected, found).at(format_args!("row {row}, column {column}"))
}
