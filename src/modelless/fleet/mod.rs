//! Fleets in virtual time: queries arrive, are answered by instances on devices, and a policy
//! changes which there are. The same scenario ends the same to the byte.
//!
//! Batches take their profile's mean latency. Instances that share a device's time run their
//! batches one after another on it, in the order in which queries arrived, so that a short batch
//! waits behind a long one: that alone is what interference is here.

mod batches;
mod clock;
mod dispatch;
mod group;
mod loads;
mod report;
mod run;
mod scenario;
mod slow_loop;
mod workers;

pub use loads::{QueryArrival, RateShape, RateShapeError, poisson, zipf_shares};
pub use report::{FleetRecord, QueryRecord, TickRecord};
pub use run::simulate;
pub use scenario::{FleetJob, FleetScenario, WorkerKind};
pub use workers::{WorkerScaling, WorkerStep};
