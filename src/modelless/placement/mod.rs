//! The instances on devices, and the room for more.

mod hosted;

pub use hosted::{DeviceSlot, HostedInstances, InstanceChange, PlacementError};
