//! Divisi serves ensembles of deep neural networks on one machine.
//!
//! The engine: it has no screen and prints nothing. `ARCHITECTURE.md` describes
//! the layers; a module may only use those below it.

pub mod compute;
pub mod ensemble;
pub mod network;
