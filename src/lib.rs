//! Divisi serves ensembles of deep neural networks on one machine.
//!
//! The engine: it has no screen and prints nothing. `ARCHITECTURE.md` describes
//! the layers; a module may only use those below it.

pub mod allocation;
pub mod compute;
pub mod device;
pub mod ensemble;
pub mod load;
mod lock;
pub mod metrics;
pub mod network;
pub mod profile;
pub mod ranged;
pub mod search;
pub mod serving;
pub mod session;
pub mod simulation;
pub mod trace;
