//! Places in the repository.

use std::path::{Path, PathBuf};

/// Returns the folder that holds `Cargo.lock`, the sample ensembles and the tests.
pub fn root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut above = package.ancestors();
    let root = above.find(|folder| folder.join("Cargo.lock").is_file());
    root.expect("a package of the workspace").to_owned()
}
