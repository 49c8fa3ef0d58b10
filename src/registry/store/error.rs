//! Errors of a store.

use std::fmt::Display;
use std::io;

use divisi_runtime::reading::ReadError;
use thiserror::Error;

/// An error while opening, reading or writing a store. The file keeps its previous contents.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The file is not a Divisi store.
    #[error("expected a store of registered tasks, found another file")]
    Foreign,
    /// The file's bytes are corrupt.
    #[error("the store is damaged: {0}")]
    Damaged(String),
    /// A record cannot be read or written.
    #[error("the store is damaged: cannot read {kind}: {why}")]
    Record {
        /// The kind of record.
        kind: &'static str,
        /// The reason.
        why: String,
    },
    /// Another version of the program wrote the file.
    #[error(
        "expected a store of version {expected}, found version {found}; {}",
        remedy(*.found, *.expected)
    )]
    Version {
        /// The version that this program reads.
        expected: u32,
        /// The version of the file.
        found: u32,
    },
    /// Another program has the store open.
    #[error("the store is in use by another program; try again when that program has finished")]
    InUse,
    /// The disk is full.
    #[error("the disk is full: nothing was written and the store is unchanged")]
    Full,
    /// The file cannot be read or written.
    #[error(transparent)]
    File(#[from] io::Error),
    /// A task or an ensemble of it is not in the store, or an ensemble does not belong to its task.
    #[error("{why}")]
    Task {
        /// The stable code.
        code: &'static str,
        /// The reason.
        why: ReadError,
    },
}

/// Returns what to do about a store of another version.
fn remedy(found: u32, expected: u32) -> &'static str {
    match found < expected {
        true => "move the file away and register its tasks again",
        false => "a newer Divisi wrote it; update this one",
    }
}

impl StoreError {
    /// Returns the stable code of the failure.
    pub const fn code(&self) -> &'static str {
        match self {
            StoreError::Foreign => "store_foreign",
            StoreError::Damaged(_) | StoreError::Record { .. } => "store_damaged",
            StoreError::Version { .. } => "store_version",
            StoreError::InUse => "store_in_use",
            StoreError::Full => "store_full",
            StoreError::File(_) => "store_file",
            StoreError::Task { code, .. } => code,
        }
    }

    /// Creates the error of a task with its stable code.
    pub(super) fn of_task(code: &'static str, why: impl Display) -> Self {
        let why = ReadError::new(why);
        StoreError::Task { code, why }
    }

    /// Converts a database error by its cause.
    fn of_database(failed: redb::Error) -> Self {
        match failed {
            redb::Error::Io(why) => StoreError::of_file(why),
            redb::Error::DatabaseAlreadyOpen => StoreError::InUse,
            other => StoreError::Damaged(other.to_string()),
        }
    }

    /// Converts a file error by its cause.
    pub(super) fn of_file(why: io::Error) -> Self {
        use io::ErrorKind::{FileTooLarge, InvalidData, QuotaExceeded, StorageFull};
        match why.kind() {
            InvalidData => StoreError::Foreign,
            StorageFull | QuotaExceeded | FileTooLarge => StoreError::Full,
            _ => StoreError::File(why),
        }
    }
}

/// Converts the database's errors. The database has one error type for each kind of operation.
macro_rules! of_database {
    ($($error:ty),*) => {
        $(impl From<$error> for StoreError {
            fn from(failed: $error) -> Self {
                StoreError::of_database(failed.into())
            }
        })*
    };
}

of_database!(
    redb::DatabaseError,
    redb::TransactionError,
    redb::TableError,
    redb::StorageError,
    redb::CommitError
);
