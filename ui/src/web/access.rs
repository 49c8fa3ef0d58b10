//! The rights of a page: decided by its key, or by the lack of keys.

use std::sync::Arc;

use divisi_door::keys::{KeyRole, Keys};

/// The name of a viewer without a key.
const NAMELESS: &str = "browser";

/// The rights of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PageRights {
    /// The holder of the key.
    pub name: String,
    /// Whether it may change things.
    pub edits: bool,
}

/// Returns the rights of a page with this key, or the reason why it has none. Without keys, every
/// page has all rights; the address is then of this machine alone.
///
/// # Errors
/// The key is missing or unknown.
pub(super) fn rights(keys: Option<&Arc<Keys>>, key: Option<&str>) -> Result<PageRights, String> {
    let Some(keys) = keys else {
        return Ok(PageRights {
            name: NAMELESS.to_owned(),
            edits: true,
        });
    };
    let key = key.filter(|key| !key.is_empty()).ok_or("expected a key")?;
    let header = format!("Bearer {key}");
    let check = |role| keys.check(Some(header.as_bytes()), role);
    let edits = check(KeyRole::Control).is_ok();
    let holder = check(KeyRole::Read).map_err(|_| "unknown key")?;
    Ok(PageRights {
        name: holder.to_string(),
        edits,
    })
}
