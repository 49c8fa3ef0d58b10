//! NumPy's `.npz` files: zip archives of `.npy` files, one for each array.

use std::fmt::Display;
use std::io::{Cursor, Read};

use zip::ZipArchive;

use divisi_runtime::network::Shape;
use divisi_runtime::reading::ReadError;
use divisi_runtime::tensor::{Signature, TensorSpec};

use super::form::{MOST_BYTES, SampleForm};
use super::named::{self, TensorArray};
use super::npy;
use super::rows::Samples;
use super::targets::{TargetForm, Targets};

/// The names of an array of samples, in any case.
const SAMPLES: [&str; 2] = ["samples", "x"];

/// The names of an array of labels or other targets, in any case.
const TARGETS: [&str; 3] = ["labels", "targets", "y"];

/// The maximum number of arrays that are read, and named in a message.
const MOST_ARRAYS: usize = 8;

/// Reads samples: the only array, or `samples` (`x`) with `labels` (`targets`, `y`).
pub(super) fn samples(bytes: Vec<u8>, form: &SampleForm<'_>) -> Result<Samples, ReadError> {
    let mut arrays = Arrays::new(bytes)?;
    if let Some(signature) = form.signature() {
        return arrays.named(&signature, form);
    }
    let (samples, targets) = arrays.samples_and_targets()?;
    let table = arrays.unpack(samples)?;
    let samples = npy::samples(table, form).map_err(|e| arrays.within(samples, e))?;
    match targets {
        None => Ok(samples),
        Some(at) => samples.with_targets(arrays.targets(at, form.targets())?),
    }
}

/// Reads targets alone: the array `labels` (`targets`, `y`), or the only one.
pub(super) fn targets(bytes: Vec<u8>, form: TargetForm<'_>) -> Result<Targets, ReadError> {
    let mut arrays = Arrays::new(bytes)?;
    let at = match (arrays.find(&TARGETS), arrays.names.len()) {
        (Some(at), _) => at,
        (None, 1) => 0,
        _ => return Err(arrays.unknown()),
    };
    arrays.targets(at, form)
}

/// The arrays of a file.
struct Arrays {
    archive: ZipArchive<Cursor<Vec<u8>>>,
    /// Their names, without `.npy`.
    names: Vec<String>,
}

impl Arrays {
    fn new(bytes: Vec<u8>) -> Result<Self, ReadError> {
        let archive = ZipArchive::new(Cursor::new(bytes)).map_err(unreadable)?;
        if archive.is_empty() {
            return Err(unreadable("expected an array, found none"));
        }
        let names = archive.file_names().take(MOST_ARRAYS + 1);
        let names = names.map(|name| match name {
            Ok(name) => Ok(name.strip_suffix(".npy").unwrap_or(&name).to_owned()),
            Err(e) => Err(unreadable(e)),
        });
        Ok(Arrays {
            names: names.collect::<Result<_, _>>()?,
            archive,
        })
    }

    /// Returns the index of the array with one of these names.
    fn find(&self, wanted: &[&str]) -> Option<usize> {
        let is_wanted = |name: &String| wanted.iter().any(|w| name.eq_ignore_ascii_case(w));
        self.names.iter().position(is_wanted)
    }

    fn samples_and_targets(&self) -> Result<(usize, Option<usize>), ReadError> {
        let targets = self.find(&TARGETS);
        match (self.find(&SAMPLES), targets, self.names.len()) {
            (Some(samples), Some(_), 2) => Ok((samples, targets)),
            (_, None, 1) => Ok((0, None)),
            _ => Err(self.unknown()),
        }
    }

    /// Reads an array for each tensor, and targets if there are any.
    fn named(
        &mut self,
        signature: &Signature,
        form: &SampleForm<'_>,
    ) -> Result<Samples, ReadError> {
        let lengths = match signature.lengths {
            Some(_) => self.lengths(signature)?,
            None => None,
        };
        let read = |spec: &TensorSpec| self.tensor(spec, signature.largest_length());
        let samples = named::joined(signature, read, lengths)?;
        let is_tensor = |at: &usize| is_tensor(signature, &self.names[*at]);
        match self.find(&TARGETS).filter(|at| !is_tensor(at)) {
            None => Ok(samples),
            Some(at) => samples.with_targets(self.targets(at, form.targets())?),
        }
    }

    /// Reads the array of a tensor whose length varies up to `most`.
    fn tensor(&mut self, spec: &TensorSpec, most: usize) -> Result<TensorArray, ReadError> {
        let exact = self.names.iter().position(|name| *name == spec.name);
        let at = exact.ok_or_else(|| {
            unreadable(format_args!("expected an array `{}`", escaped(&spec.name)))
        })?;
        let array = self.unpack(at)?;
        named::array(array, spec, most).map_err(|e| self.within(at, e))
    }

    /// Reads the array `lengths`, if it exists and is not a tensor.
    fn lengths(&mut self, signature: &Signature) -> Result<Option<Vec<f32>>, ReadError> {
        match self.find(&["lengths"]) {
            Some(at) if !is_tensor(signature, &self.names[at]) => {
                let table = self.unpack(at)?;
                let read = npy::samples(table, &SampleForm::new(Shape::vector(1)));
                let read = read.map_err(|e| self.within(at, e))?;
                Ok(Some(read.values().to_vec()))
            }
            _ => Ok(None),
        }
    }

    /// Returns the error of unknown arrays, with the existing ones.
    fn unknown(&self) -> ReadError {
        let shown = self.names.iter().take(MOST_ARRAYS);
        let shown: Vec<String> = shown.map(|name| format!("`{}`", escaped(name))).collect();
        let more = match self.archive.len().saturating_sub(MOST_ARRAYS) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        unreadable(format_args!(
            "expected one array, or `samples` (`x`) and `labels` (`targets`, `y`), found {}{more}",
            shown.join(", ")
        ))
    }

    fn targets(&mut self, at: usize, form: TargetForm<'_>) -> Result<Targets, ReadError> {
        let table = self.unpack(at)?;
        npy::targets(table, form).map_err(|e| self.within(at, e))
    }

    /// Returns the bytes of an array's `.npy`.
    fn unpack(&mut self, at: usize) -> Result<Vec<u8>, ReadError> {
        let entry = self.archive.by_index(at).map_err(unreadable)?;
        let mut bytes = Vec::new();
        if entry.size() <= MOST_BYTES {
            // The size in the archive may be wrong, so the bytes are counted.
            let unpacked = entry.take(MOST_BYTES + 1).read_to_end(&mut bytes);
            unpacked.map_err(unreadable)?;
            if bytes.len() as u64 <= MOST_BYTES {
                return Ok(bytes);
            }
        }
        let name = escaped(&self.names[at]);
        Err(unreadable(format_args!(
            "expected arrays of at most 4 GiB: `{name}` is larger"
        )))
    }

    fn within(&self, at: usize, error: ReadError) -> ReadError {
        error.at(format_args!("array `{}`", escaped(&self.names[at])))
    }
}

fn is_tensor(signature: &Signature, name: &str) -> bool {
    signature.inputs.iter().any(|spec| spec.name == name)
}

/// The maximum number of characters of a name in a message.
const SHOWN: usize = 40;

/// Returns a name for a terminal.
fn escaped(name: &str) -> String {
    let start: String = name.chars().take(SHOWN).collect();
    start.escape_debug().to_string()
}

fn unreadable(reason: impl Display) -> ReadError {
    ReadError::new(reason).at("not a readable .npz file")
}
