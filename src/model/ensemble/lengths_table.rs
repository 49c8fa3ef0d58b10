//! The manifest table of the lengths of samples.

use serde::Deserialize;

/// The buckets to which lengths are padded, or the largest length.
#[derive(Debug, Deserialize)]
#[serde(
    untagged,
    deny_unknown_fields,
    expecting = "expected a list of lengths, or { most = 256 } with an optional `step`"
)]
pub(super) enum LengthsTable {
    Buckets(Vec<usize>),
    #[serde(rename_all = "kebab-case")]
    UpTo {
        most: usize,
        step: Option<usize>,
    },
}
