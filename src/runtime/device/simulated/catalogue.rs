//! The profiles that come with the program, and those in files.

use std::path::Path;
use std::sync::Arc;

use super::profile::DeviceProfile;
use crate::reading;

const BUILT_IN: [(&str, &str); 4] = [
    ("v100", include_str!("../../../../assets/devices/v100.toml")),
    (
        "titan-rtx",
        include_str!("../../../../assets/devices/titan-rtx.toml"),
    ),
    ("h200", include_str!("../../../../assets/devices/h200.toml")),
    ("cpu", include_str!("../../../../assets/devices/cpu.toml")),
];

/// The built-in profiles' names.
pub fn built_in_profiles() -> [&'static str; 4] {
    BUILT_IN.map(|(name, _)| name)
}

/// The built-in profile called `name`, or the one in the file of that name.
///
/// # Errors
/// There is none, or it is wrong: the file, the field and what was expected.
pub fn find_profile(name: &str) -> Result<Arc<DeviceProfile>, String> {
    let (file, text) = match BUILT_IN.iter().find(|(n, _)| *n == name) {
        Some((_, text)) => (name.to_owned(), (*text).to_owned()),
        None => (name.to_owned(), read(name)?),
    };
    let profile = DeviceProfile::parse(&text).map_err(|e| format!("{file}: {e}"))?;
    Ok(Arc::new(profile))
}

fn read(name: &str) -> Result<String, String> {
    let there_are = built_in_profiles().join(", ");
    if !Path::new(name)
        .extension()
        .is_some_and(|e| e.eq_ignore_ascii_case("toml"))
    {
        return Err(format!(
            "no profile `{name}`: expected {there_are} or a .toml file"
        ));
    }
    reading::text(Path::new(name)).map_err(|e| format!("{name}: {e}"))
}
