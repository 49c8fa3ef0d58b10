//! The Open Inference Protocol over HTTP and gRPC, with Triton's extensions.
//!
//! This crate translates: it accesses models only through
//! [`ModelService`](divisi_inference::service::ModelService). [`InferenceServer`] accepts
//! connections, `http` and `grpc` read requests and write answers, and `gateway` passes a request
//! from one of them to its model and back.

#![forbid(unsafe_code)]
#![warn(missing_docs, unreachable_pub)]

mod background;
mod cache;
pub mod callers;
pub mod calls;
pub mod client;
mod clock;
mod describe;
mod gateway;
pub mod grpc;
mod http;
pub mod keys;
pub mod limits;
mod metrics;
mod net;
pub mod notices;
mod options;
mod packing;
mod regions;
mod server;
pub mod tls;
mod watched;

pub use cache::CacheMachine;
pub use clock::{ClockHand, ConnectionClock};
pub use net::{BodyPace, ConnectionNumber, ConnectionTable, EnteredConnection};
pub use options::ServerOptions;
pub use server::{Addresses, InferenceServer, ServerActivity, StartError};

/// The messages and services of the published interface files.
#[allow(
    missing_docs,
    clippy::all,
    unreachable_pub,
    reason = "made from the files"
)]
pub mod proto {
    /// The messages of inference and of model configurations.
    pub mod inference {
        tonic::include_proto!("inference");
    }

    /// The messages of gRPC's health checks.
    pub mod health {
        tonic::include_proto!("grpc.health.v1");
    }
}
