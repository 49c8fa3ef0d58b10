//! Reasons why weights do not belong to a network.

use std::fmt;
use std::io;
use std::path::PathBuf;

use safetensors::SafeTensorError;
use thiserror::Error;

use super::foreign::Foreign;
use super::notes::{Handful, cut, quoted};

/// The most bytes of a header, by the format.
pub(super) const MAX_HEADER: usize = 100_000_000;

/// The most tensors; more are taken for a mistake. A graph has at most 10 000 layers, a norm
/// four tensors and a counter.
pub(super) const MAX_TENSORS: usize = 50_000;

/// The most files; more are taken for a mistake.
pub(super) const MAX_SHARDS: usize = 256;

/// The reason why weights do not belong to a network.
#[derive(Debug, Error)]
pub enum WeightsError {
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The file is of another kind.
    #[error("{0}")]
    Foreign(Foreign),
    /// The file should be safetensors but is incomplete.
    #[error("not a readable safetensors file: {0}")]
    Unreadable(HeaderError),
    /// The file should be an index of shards but is not.
    #[error("not a readable index of shards: {0}")]
    Index(IndexError),
    /// A file that an index names cannot be used.
    #[error("shard {}: {error}", quoted(.file))]
    Shard {
        /// The file's name in the index.
        file: String,
        /// The error in it.
        error: Box<WeightsError>,
    },
    /// A [`Naming`](super::Naming) does not fit the file.
    #[error("{0}")]
    Naming(NamingError),
    /// Tensors do not fit the network's parameters.
    #[error("does not fit the network: {0}")]
    Mismatch(Box<Mismatch>),
    /// The file was written to since it was opened.
    #[error("weights {} changed since they were read", .0.display())]
    Changed(PathBuf),
    /// The file cannot be written.
    #[error("cannot be written: {0}")]
    Unwritable(SafeTensorError),
}

/// The reason why a file of safetensors cannot be read: its header contradicts itself or the
/// file.
#[derive(Debug, Error)]
pub enum HeaderError {
    /// The file is too short for the length of a header.
    #[error("expected 8 bytes with the header's length, the file is shorter")]
    NoLength,
    /// The header claims to be longer than the format allows.
    #[error("expected a header of at most {MAX_HEADER} bytes, found {claimed}")]
    TooLong {
        /// Bytes that it claims to have.
        claimed: u64,
    },
    /// The file ends within its header.
    #[error("the file ends within its header of {length} bytes")]
    CutShort {
        /// Bytes of the header.
        length: usize,
    },
    /// The header is not the JSON that it should be.
    #[error("{}", in_header(.0))]
    Json(serde_json::Error),
    /// A tensor ends after the end of the file.
    #[error("tensor {}: ends at byte {end}, the file has {data}", quoted(.name))]
    PastTheEnd {
        /// The tensor.
        name: String,
        /// The byte at which it ends, counted from the end of the header.
        end: usize,
        /// Bytes of the file after the header.
        data: usize,
    },
    /// A tensor does not begin at the end of the previous one.
    #[error(
        "tensor {}: expected to begin at byte {expected}, the end of the one before, found {found}",
        quoted(.name)
    )]
    Gap {
        /// The tensor.
        name: String,
        /// The byte at which the previous tensor ends.
        expected: usize,
        /// The byte at which it begins.
        found: usize,
    },
    /// A tensor is of a type that the format does not have.
    #[error("tensor {}: unknown type {}", quoted(.name), quoted(.dtype))]
    Type {
        /// The tensor.
        name: String,
        /// Its type.
        dtype: String,
    },
    /// A tensor's shape does not come to a number of whole bytes.
    #[error("tensor {}: shape {shape:?} is too large or splits a byte", quoted(.name))]
    Size {
        /// The tensor.
        name: String,
        /// Its shape.
        shape: Vec<usize>,
    },
    /// A tensor has more or fewer bytes than its type and shape need.
    #[error(
        "tensor {}: its type and shape need {needed} bytes, its offsets are {found:?}",
        quoted(.name)
    )]
    Place {
        /// The tensor.
        name: String,
        /// Bytes that its type and shape need.
        needed: usize,
        /// Its first byte and the byte after its last.
        found: (usize, usize),
    },
    /// The file continues after its last tensor.
    #[error("the tensors end at byte {end}, the file has {data}")]
    Trailing {
        /// The byte at which the last tensor ends.
        end: usize,
        /// Bytes of the file after the header.
        data: usize,
    },
    /// A shard lacks a tensor.
    #[error("tensor {} is missing; the index lists it in this file", quoted(.name))]
    NotInShard {
        /// The tensor.
        name: String,
    },
}

fn in_header(error: &serde_json::Error) -> String {
    cut(&format!("in the header: {error}"))
}

/// The reason why an index of shards cannot be followed.
#[derive(Debug, Error)]
pub enum IndexError {
    /// It is not the JSON that it should be.
    #[error("{}", cut(&.0.to_string()))]
    Json(serde_json::Error),
    /// It names more tensors than a network has.
    #[error("expected at most {MAX_TENSORS} tensors")]
    TooManyTensors,
    /// It names more files than one network may have.
    #[error("expected at most {MAX_SHARDS} files, found {found}")]
    TooManyFiles {
        /// Files that it names.
        found: usize,
    },
    /// The index names a file outside of its own folder.
    #[error("expected files in the index's folder, found {}", quoted(.file))]
    NotBeside {
        /// The file's name.
        file: String,
    },
}

/// The reason why a [`Naming`](super::Naming) does not fit the names in a file.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum NamingError {
    /// No name has the prefix.
    #[error("prefix: no tensor's name begins with {}; the file has {there}", quoted(.prefix))]
    Prefix {
        /// The prefix.
        prefix: String,
        /// Names in the file.
        there: Handful,
    },
    /// Two tensors become one parameter.
    #[error("tensors {} and {} both become {}", quoted(.first), quoted(.second), quoted(.parameter))]
    Twice {
        /// One tensor.
        first: String,
        /// The other.
        second: String,
        /// The parameter that both become.
        parameter: String,
    },
    /// A renaming that no name needs.
    #[error("rename: no tensor is named {}", quoted(.name))]
    Rename {
        /// The name that no file has.
        name: String,
    },
    /// A pattern that no name matches.
    #[error("ignore: no tensor is named {}", quoted(.pattern))]
    Ignore {
        /// The pattern's text.
        pattern: String,
    },
}

/// All tensors and parameters that do not fit each other, by the reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mismatch {
    /// Parameters without a tensor in the file.
    pub missing: Handful,
    /// Tensors of another shape than their parameter.
    pub shapes: Handful,
    /// Tensors of a type that does not convert to float32.
    pub types: Handful,
    /// Tensors with values that are not finite, or variances below 0.
    pub values: Handful,
    /// Tensors that belong to no layer.
    pub unknown: Handful,
    /// A setting of the manifest that would make more of them fit.
    pub hint: Option<String>,
}

impl Mismatch {
    /// Returns an error unless everything fits.
    pub(super) fn result(self) -> Result<(), WeightsError> {
        let groups = [
            &self.missing,
            &self.shapes,
            &self.types,
            &self.values,
            &self.unknown,
        ];
        match groups.iter().all(|g| g.is_empty()) {
            true => Ok(()),
            false => Err(WeightsError::Mismatch(Box::new(self))),
        }
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = |group: &Handful, one: &str, several: &str| match group.count() {
            1 => format!("tensor {group} {one}"),
            n => format!("{n} tensors {several}: {group}"),
        };
        let told = |group: &Handful| group.separated("; ");
        let said = [
            (
                &self.missing,
                named(&self.missing, "is missing", "are missing"),
            ),
            (&self.shapes, told(&self.shapes)),
            (&self.types, told(&self.types)),
            (&self.values, told(&self.values)),
            (
                &self.unknown,
                named(&self.unknown, "belongs to no layer", "belong to no layer"),
            ),
        ];
        let said = said.into_iter().filter(|(group, _)| !group.is_empty());
        let said: Vec<String> = said.map(|(_, text)| text).collect();
        f.write_str(&said.join("; "))?;
        match &self.hint {
            Some(hint) => write!(f, " ({hint})"),
            None => Ok(()),
        }
    }
}
