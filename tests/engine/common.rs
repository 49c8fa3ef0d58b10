//! Ensembles, engines and other values that several tests begin with.

pub use crate::devices::*;
pub use crate::engines::*;
pub use crate::sample::*;
