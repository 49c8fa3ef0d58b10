//! The program and machine that measured profiles.

use divisi_engine::search::processor;
use divisi_runtime::compute::kernels_in_use;
use serde::{Deserialize, Serialize};

/// The program and machine that measured profiles.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProfileOrigin {
    /// The version of the program.
    pub program: String,
    /// Whether it was built without optimisation.
    pub is_debug: bool,
    /// The name of the processor.
    pub processor: String,
    /// The revision and the family of the kernels.
    pub kernels: String,
}

impl ProfileOrigin {
    /// Returns this program on this machine.
    pub fn here() -> Self {
        ProfileOrigin {
            program: env!("CARGO_PKG_VERSION").to_owned(),
            is_debug: cfg!(debug_assertions),
            processor: processor().to_owned(),
            kernels: kernels_in_use(),
        }
    }

    /// Returns the program's name, version and kind of build.
    pub fn build(&self) -> String {
        let kind = if self.is_debug { ", unoptimised" } else { "" };
        format!("divisi {}{kind}", self.program)
    }
}
