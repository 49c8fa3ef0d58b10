//! Tasks that are served: from what was registered to the answer of a query.

#![allow(clippy::expect_used, clippy::panic, reason = "tests")]

mod common;
mod disturbed_devices;
mod job_kills;
mod jobs;
mod load;
mod overload;
mod probation;
mod profiles;
mod registrations;
mod routing;
mod scaling;
mod served;
#[path = "../support/wait.rs"]
#[allow(dead_code, reason = "not all of it is needed here")]
mod wait;
