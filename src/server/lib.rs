//! The server that `divisi serve` runs, for programs that embed it.
//!
//! A server begins with the choice of its models: [`ModelSelection`] names ensembles, ONNX files or
//! a Triton repository, [`TaskSelection`] names registered tasks. [`SelectedModels`] reads them and
//! finds their devices, and [`Server::start`] places them on the devices, accepts connections and
//! starts the built-in load. The [`Server`] holds a session, which a console shows or a
//! [`Hub`](divisi_session::remote::Hub) shares over a socket.
//!
//! ```no_run
//! use divisi_door::ServerOptions;
//! use divisi_server::{ModelSelection, SelectedModels, ServeOptions, Server, usual_addresses};
//!
//! # fn main() -> Result<(), divisi_server::ServeError> {
//! let models = SelectedModels::read(&ModelSelection::from_path("digits".as_ref()))?;
//! let options = ServeOptions {
//!     // HTTP, gRPC and metrics at the ports of `divisi serve`, for this machine alone.
//!     door: usual_addresses(ServerOptions::default()),
//!     ..ServeOptions::default()
//! };
//! let server = Server::start(models, options)?;
//! println!("{:?}", server.door.addresses());
//! std::thread::park();
//! # drop(server);
//! # Ok(())
//! # }
//! ```
//!
//! Error messages name the options of `divisi serve`.

#![forbid(unsafe_code)]
#![warn(missing_docs, unreachable_pub)]

mod board;
mod control;
mod devices;
mod door;
mod error;
mod files;
mod matrix_file;
mod models;
mod profiles;
mod samples;
mod server;
mod sources;
mod store;
mod watch;

pub use board::{StoredJobs, job_json, job_state};
pub use control::{FirstModels, ModelControl};
pub use devices::{DeviceChoice, FoundDevices};
pub use door::{OperatedDoor, usual_addresses};
pub use error::ServeError;
pub use files::{ensemble_files, repository_model, repository_models};
pub use matrix_file::{MatrixAndPrecisions, devices_in, matrix_in};
pub use models::{ModelSelection, SelectedModels, TaskSelection, demand, is_empty_folder};
pub use samples::{built_in_files, built_in_names};
pub use server::{ServeOptions, Server, StartLoad, TaskOptions};
pub use sources::FileSource;
pub use store::TaskStore;
