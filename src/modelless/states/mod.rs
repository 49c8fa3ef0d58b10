//! The state of a variant and of each of its instances: whether it runs, is overloaded, or suffers
//! interference; and the devices that other programs slow down.
//!
//! INFaaS has the four states (§3.2, figure 4); its code keeps one flag for the last two. Here they
//! are separate, as they need different actions: more instances, or another device.

mod device;
mod instances;
mod state;
mod thresholds;
mod watch;

pub use device::{DeviceObservation, DeviceWatch};
pub use instances::{InstanceState, InstanceWatches};
pub use state::VariantState;
pub use thresholds::StateThresholds;
pub use watch::{StateChange, VariantObservation, VariantWatch};
