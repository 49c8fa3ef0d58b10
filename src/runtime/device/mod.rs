//! Devices: CPU partitions, GPUs and simulated devices, their memory spaces, and the ledger
//! that books memory in them.

#[cfg(feature = "cuda")]
#[allow(unsafe_code, reason = "the driver's interface")]
pub mod cuda;
#[allow(
    clippy::module_inception,
    reason = "the type and its room have one name"
)]
mod device;
mod devices;
mod error;
pub mod gpu;
mod host;
mod ledger;
mod named;
pub mod simulated;
mod size;

pub use device::{Device, DeviceKind, MemorySpace, SpaceId};
pub use devices::Devices;
pub use error::DeviceError;
pub use host::{Host, pin_current_thread, thread_pool, yield_to_all_others};
pub use ledger::{Booking, Ledger, NoRoom};
pub use size::{SizeError, format_bytes, parse_bytes};
