//! The manifest's batching policy.

use std::num::NonZeroU32;

use super::source::ManifestSource;
use crate::ensemble::batch_sizes::BatchSizes;
use crate::ensemble::error::EnsembleError;
use crate::ensemble::manifest::{Manifest, Policy};
use crate::ensemble::policy::{DEFAULT_WAIT, PolicyKind, Wait};
use crate::words;

pub(super) fn policy(
    page: &ManifestSource<'_>,
    manifest: &Manifest,
    sizes: &BatchSizes,
) -> Result<PolicyKind, EnsembleError> {
    let Some(spanned) = &manifest.policy else {
        return Ok(PolicyKind::NoWait);
    };
    let wrong = |why: String| page.wrong(spanned.span().start, why);
    let table = spanned.get_ref();
    let wait = wait(table).map_err(wrong)?;
    let named = PolicyKind::named(&table.kind, wait);
    let kind = named.map_err(|why| wrong(format!("policy.kind: {why}")))?;
    let kind = with_max_inf(kind, table).map_err(wrong)?;
    kind.check(sizes)
        .map_err(|why| wrong(format!("policy.kind: {why}")))?;
    Ok(kind)
}

fn wait(table: &Policy) -> Result<Wait, String> {
    match table.wait_ms {
        None => Ok(DEFAULT_WAIT),
        Some(ms) => Wait::of_millis(ms).map_err(|_| {
            let found = words::number(ms);
            format!("policy.wait_ms: expected 0 to 60000, found {found}")
        }),
    }
}

fn with_max_inf(kind: PolicyKind, table: &Policy) -> Result<PolicyKind, String> {
    let Some(found) = table.max_inf else {
        return Ok(kind);
    };
    let number = u32::try_from(found).ok().and_then(NonZeroU32::new);
    match (kind, number) {
        (PolicyKind::Elastic { .. }, Some(_)) => Ok(PolicyKind::Elastic { max_inf: number }),
        (PolicyKind::Elastic { .. }, None) => Err(format!(
            "policy.max_inf: expected a number of samples above 0, found {found}"
        )),
        _ => Err(format!("policy.max_inf: `{}` has none", kind.name())),
    }
}
