//! The tables of a store, and the encoding of records.

use redb::TableDefinition;

use super::Kept;
use super::error::StoreError;

/// The version of the tables and records. Every change of either increments it. Version 2 added
/// promised accuracies, the digest of labelled rows, the names of classes and the condition of
/// profiles, and the variants and the end of jobs.
pub(super) const VERSION: u32 = 2;

/// The key of the version in its table.
pub(super) const VERSION_KEY: &str = "version";

/// The key of the number of the last job, so that the number of a removed job is not used again.
pub(super) const LAST_JOB: &str = "last job";

/// Numbers about the store itself.
pub(super) const FORMAT: TableDefinition<'_, &str, u32> = TableDefinition::new("divisi format");

/// Ensembles by task and name.
pub(super) const MODELS: TableDefinition<'_, (&str, &str), &[u8]> = TableDefinition::new("models");

/// Variants by task, ensemble and number.
pub(super) const VARIANTS: TableDefinition<'_, (&str, &str, u32), &[u8]> =
    TableDefinition::new("variants");

/// Jobs by number.
pub(super) const JOBS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("jobs");

/// Returns a record as bytes.
pub(super) fn encoded<T: Kept>(record: &T) -> Result<Vec<u8>, StoreError> {
    postcard::to_stdvec(record).map_err(|why| StoreError::Record {
        kind: T::NAME,
        why: why.to_string(),
    })
}

/// Reads a record, which must use all of its bytes.
pub(super) fn decoded<T: Kept>(bytes: &[u8]) -> Result<T, StoreError> {
    let damaged = |why: String| StoreError::Record { kind: T::NAME, why };
    match postcard::take_from_bytes(bytes) {
        Ok((record, [])) => Ok(record),
        Ok((_, rest)) => Err(damaged(format!("{} extra bytes", rest.len()))),
        Err(why) => Err(damaged(why.to_string())),
    }
}
