//! Simulates fleets in virtual time: queries arrive, instances on devices answer them, and a policy
//! changes the instances. A scenario always has exactly the same result.
//!
//! Batches take the mean latency of their profile. Instances that share a device's time run their
//! batches one after another in the order of query arrival, so that a short batch waits behind a
//! long one. Other programs slow down devices as the scenario states.

mod batches;
mod clock;
mod dispatch;
mod group;
mod report;
mod run;
mod scenario;
mod slow_loop;
mod workers;

pub use report::{FleetRecord, QueryRecord, TickRecord};
pub use run::{simulate, simulate_with};
pub use scenario::{DeviceDisturbance, FleetJob, FleetScenario, QueryArrival, WorkerKind};
pub use workers::{WorkerScaling, WorkerStep};
