//! Which instances lie on which devices, and what fits there.

mod hosted;

pub use hosted::{DeviceSlot, HostedInstances, InstanceChange, PlacementError};
