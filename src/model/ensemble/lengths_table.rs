//! The lengths of samples as a manifest writes them.

use serde::Deserialize;

/// The buckets that lengths are padded to, or the largest length.
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
