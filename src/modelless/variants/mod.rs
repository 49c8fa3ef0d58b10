//! The ways to answer a task: the members, precision, kind of device and batch size, with the
//! profile and accuracy of each.

mod answering;
mod catalog;
mod device_kind;
mod indices;
mod latency;
mod profile;
mod variant;

pub use answering::AnsweringMembers;
pub use catalog::{CatalogError, TaskVariants, VariantCatalog};
pub use device_kind::{DeviceKindIndex, PricedDevice};
pub use indices::{ModelIndex, TaskIndex, VariantIndex};
pub use latency::{LatencyCurve, LatencyPoint, VariantProfileError};
pub use profile::{DeviceSharing, VariantProfile};
pub use variant::{Variant, VariantPrecision};
