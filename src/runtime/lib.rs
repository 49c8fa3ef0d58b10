//! Networks on devices: graphs and weights, what computes them, and the devices with their
//! memory. It knows neither members nor requests: what decides and serves lies above it.
//!
//! The only crate with `unsafe`, in kernels, in CUDA and where weights are mapped.

#![warn(unreachable_pub)]

pub mod compute;
pub mod device;
pub mod lock;
pub mod network;
pub mod reading;
pub mod words;
