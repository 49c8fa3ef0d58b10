//! A GPU in the live engine, by the traits of `device::gpu` and `compute::gpu` alone.
//!
//! One dispatcher thread asks the host what to do; one copier notes what was copied ahead;
//! a thread a lane runs batches. Nobody holds the core's lock while waiting for the GPU.
//!
//! From the bottom up: buffers and the cache of samples; [`worker`], the lanes of one worker;
//! [`context`], a GPU that is open; [`slot`], its place among the devices; [`serving`], both
//! with the host; copies; the dispatcher, lanes and their making, which hand batches to each
//! other; and [`driver`], all of it behind the trait.

mod buffers;
mod cache;
mod context;
mod copies;
mod dispatch;
mod driver;
mod lane;
mod making;
mod serving;
mod slot;
mod worker;

pub use buffers::GpuRunner;
pub(super) use slot::GpuSlot;
