//! Reads files of samples and targets, each by its kind.

use std::path::Path;

use divisi_runtime::reading::{self, ReadError};

use super::error::{no_samples_name, no_targets_name, no_text_input};
use super::form::{Classes, SampleForm};
use super::rows::Samples;
use super::targets::{TargetForm, Targets};
use super::text::{self, TextInput, TextRows};
use super::{boxes, csv, images, json, named, npy, npz};

impl Samples {
    /// Checks that a file `name` can hold samples, without opening it.
    ///
    /// # Errors
    /// The name does not have the extension of a supported file.
    pub fn check_name(name: &str) -> Result<(), ReadError> {
        let kind = SampleFileKind::from_name(name);
        kind.map(drop).ok_or_else(no_samples_name)
    }

    /// Checks that a file `name` can hold labels or other targets, without opening it.
    ///
    /// # Errors
    /// The name does not have the extension of a supported file.
    pub fn check_labels_name(name: &str) -> Result<(), ReadError> {
        SampleFileKind::of_labels(name).map(drop)
    }

    /// Makes samples from texts.
    ///
    /// # Errors
    /// There are no texts, a text is empty, or the input is not text.
    pub fn of_texts<'t>(
        texts: impl IntoIterator<Item = &'t str>,
        form: &SampleForm<'_>,
    ) -> Result<Self, ReadError> {
        let input = form.text.ok_or_else(no_text_input)?;
        let mut rows = TextRows::new(input);
        texts
            .into_iter()
            .try_for_each(|text| rows.take(text, None))?;
        rows.finish()
    }

    /// Reads the file at `path`, or the images of the folder `path`: the images of each class in a
    /// folder named by the class or its number, or all images without labels, in the order of their
    /// names.
    ///
    /// # Errors
    /// There is nothing readable, or the samples do not have this form.
    pub fn read(path: &Path, form: &SampleForm<'_>) -> Result<Self, ReadError> {
        if path.is_dir() && form.tensors.is_none() {
            return images::of_folder(path, form);
        }
        let name = path.to_string_lossy();
        Samples::check_name(&name)?;
        Samples::parse(&name, read(path)?, form)
    }

    /// Reads the bytes of the file `name`. Targets are the last columns of a CSV if these have the
    /// targets' names, or the array `labels`, `targets` or `y` of an `.npz` or JSON file.
    ///
    /// # Errors
    /// The bytes are not samples of this form.
    pub fn parse(name: &str, bytes: Vec<u8>, form: &SampleForm<'_>) -> Result<Self, ReadError> {
        Samples::parsed(name, bytes, form)?.with_tokens_counted(form)
    }

    fn parsed(name: &str, bytes: Vec<u8>, form: &SampleForm<'_>) -> Result<Self, ReadError> {
        let kind = SampleFileKind::from_name(name).ok_or_else(no_samples_name)?;
        let samples = of_kind(kind, bytes, form)?;
        if let Some(check) = form.check.filter(|check| !check.is_empty()) {
            check.check(samples.values()).map_err(ReadError::new)?;
        }
        Ok(samples)
    }

    /// Reads images without labels, each from its name and bytes.
    ///
    /// # Errors
    /// A file is not an image, or there are too many images.
    pub fn of_images(images: &[(&str, &[u8])], form: &SampleForm<'_>) -> Result<Self, ReadError> {
        images::of_files(images, form)
    }

    /// Adds the targets in the file at `path`, as [`Samples::targeted_by`] does, or the masks in
    /// the folder `path`.
    ///
    /// # Errors
    /// The file cannot be read, or as [`Samples::targeted_by`].
    pub fn targeted_by_file(self, path: &Path, form: &SampleForm<'_>) -> Result<Self, ReadError> {
        if path.is_dir() {
            let masks = images::masks_of_folder(path, self.names(), form)?;
            return self.with_targets(masks);
        }
        let name = path.to_string_lossy();
        Samples::check_labels_name(&name)?;
        self.targeted_by(&name, read(path)?, form)
    }

    /// Adds the labels in the bytes of the file `name`, one per sample: the column `label` of a
    /// CSV, or an array of whole numbers or names in an `.npy`, `.npz` or JSON file.
    ///
    /// # Errors
    /// The bytes are not labels of these classes, the samples already have labels, or the number of
    /// labels differs from the number of samples.
    pub fn labelled_by(
        self,
        name: &str,
        bytes: Vec<u8>,
        classes: &Classes<'_>,
    ) -> Result<Self, ReadError> {
        self.with_targets(read_targets(name, bytes, TargetForm::Classes(*classes))?)
    }

    /// Adds the targets in the bytes of the file `name`, one per sample: labels as in
    /// [`Samples::labelled_by`], or rows with the columns of `form`. These come from a CSV, or from
    /// an array of numbers in an `.npy`, `.npz` or JSON file. JSON may also list labels by name.
    ///
    /// # Errors
    /// The bytes are not such targets, the samples already have targets, or the number of targets
    /// differs from the number of samples.
    pub fn targeted_by(
        self,
        name: &str,
        bytes: Vec<u8>,
        form: &SampleForm<'_>,
    ) -> Result<Self, ReadError> {
        let boxes = match form.boxes {
            Some(_) => boxes::targets(name, &bytes, self.names(), form)?,
            None => None,
        };
        let targets = match boxes {
            Some(targets) => targets,
            None => read_targets(name, bytes, form.targets())?,
        };
        self.with_targets(targets)?.with_tokens_counted(form)
    }
}

/// Returns whether a file contains the tensors of samples that may also be texts.
fn is_of_tensors(kind: SampleFileKind, bytes: &[u8]) -> bool {
    match kind {
        SampleFileKind::Npz => true,
        SampleFileKind::Json => named::is_request(bytes),
        SampleFileKind::JsonLines => {
            let line = bytes.trim_ascii_start().split(|b| *b == b'\n').next();
            line.is_some_and(named::is_request)
        }
        _ => false,
    }
}

/// Reads samples by the kind of their file.
fn of_kind(
    kind: SampleFileKind,
    bytes: Vec<u8>,
    form: &SampleForm<'_>,
) -> Result<Samples, ReadError> {
    if let Some(input) = form.text
        && !is_of_tensors(kind, &bytes)
    {
        return texts(kind, &bytes, form, input);
    }
    match (form.tensors, kind) {
        (None, _) | (_, SampleFileKind::Npz | SampleFileKind::Json | SampleFileKind::JsonLines) => {
        }
        (Some([_]), SampleFileKind::Npy) => {}
        (Some(tensors), _) => {
            let names: Vec<&str> = tensors.iter().map(|t| &*t.name).collect();
            return Err(ReadError::new(format_args!(
                "expected a .json or .jsonl file with named tensors under `inputs`, or an .npz \
                 file with one array for each of {}; other files, such as .npy, hold one unnamed \
                 array",
                names.join(", ")
            )));
        }
    }
    match kind {
        SampleFileKind::Csv => csv::samples(&bytes, form),
        SampleFileKind::Npy => match form.signature() {
            Some(signature) => named::of_array(bytes, &signature),
            None => npy::samples(bytes, form),
        },
        SampleFileKind::Npz => npz::samples(bytes, form),
        SampleFileKind::Json => json::samples(&bytes, form),
        SampleFileKind::JsonLines => json::lines(&bytes, form),
        SampleFileKind::Image => images::of_file(&bytes, form),
        SampleFileKind::Text => Err(no_text_input()),
    }
}

/// Reads texts, each by the kind of its file.
fn texts(
    kind: SampleFileKind,
    bytes: &[u8],
    form: &SampleForm<'_>,
    input: &TextInput,
) -> Result<Samples, ReadError> {
    match kind {
        SampleFileKind::Text => text::lines(bytes, input),
        SampleFileKind::Csv => text::csv(bytes, form, input),
        SampleFileKind::Json => json::texts(bytes, form, input),
        SampleFileKind::JsonLines => json::text_lines(bytes, form, input),
        SampleFileKind::Npy | SampleFileKind::Npz | SampleFileKind::Image => Err(ReadError::new(
            "expected texts: a .txt file with one text per line, a .csv file with a column \
                 `text`, or a .json or .jsonl file with fields `text`",
        )),
    }
}

/// Reads only targets from the bytes of the file `name`.
fn read_targets(name: &str, bytes: Vec<u8>, form: TargetForm<'_>) -> Result<Targets, ReadError> {
    match SampleFileKind::of_labels(name)? {
        SampleFileKind::Csv => csv::targets(&bytes, form),
        SampleFileKind::Npy => npy::targets(bytes, form),
        SampleFileKind::Npz => npz::targets(bytes, form),
        SampleFileKind::Json => json::targets(&bytes, form),
        SampleFileKind::JsonLines | SampleFileKind::Image | SampleFileKind::Text => {
            Err(no_targets_name())
        }
    }
}

fn read(path: &Path) -> Result<Vec<u8>, ReadError> {
    reading::bytes(path).map_err(ReadError::new)
}

/// The kind of a file, from its name.
#[derive(Clone, Copy)]
enum SampleFileKind {
    Csv,
    Npy,
    Npz,
    Json,
    JsonLines,
    Image,
    /// One text per line.
    Text,
}

impl SampleFileKind {
    /// Returns the kind of a file of samples.
    fn from_name(name: &str) -> Option<Self> {
        if images::is_image(name) {
            return Some(SampleFileKind::Image);
        }
        let (_, end) = name.rsplit_once('.')?;
        match end.to_ascii_lowercase().as_str() {
            "csv" => Some(SampleFileKind::Csv),
            "npy" => Some(SampleFileKind::Npy),
            "npz" => Some(SampleFileKind::Npz),
            "json" => Some(SampleFileKind::Json),
            "jsonl" => Some(SampleFileKind::JsonLines),
            "txt" => Some(SampleFileKind::Text),
            _ => None,
        }
    }

    /// Returns the kind of a file of targets.
    fn of_labels(name: &str) -> Result<Self, ReadError> {
        match Self::from_name(name) {
            None | Some(SampleFileKind::Image | SampleFileKind::Text) => Err(no_targets_name()),
            Some(kind) => Ok(kind),
        }
    }
}
