//! The built-in load in words.

use std::time::Duration;

use divisi::session::LoadView;

use super::format;

/// Later than this is worth saying.
const BEHIND: Duration = Duration::from_millis(100);

/// `poisson:800`, and how far it is behind where it cannot send as fast as it should;
/// none where nothing is sent.
pub fn words(load: &LoadView) -> Option<String> {
    let pattern = load.pattern.as_ref()?;
    Some(match load.behind {
        late if late >= BEHIND => format!("{pattern}, {} behind", format::duration(late)),
        _ => pattern.to_string(),
    })
}
