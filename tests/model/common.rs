//! Values that several tests begin with.

pub use crate::devices::*;
pub use crate::sample::*;
