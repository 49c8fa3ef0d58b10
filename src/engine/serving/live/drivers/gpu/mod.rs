//! A GPU in the live engine, by the traits of `device::gpu` and `compute::gpu` alone.
//!
//! One dispatcher thread asks the host what to do; one copier notes what was copied ahead;
//! a thread a lane runs batches. Nobody holds the core's lock while waiting for the GPU.
//!
//! From the bottom up: buffers and the cache of samples; [`worker`], the lanes of one worker;
//! [`context`], a GPU that is open; [`slot`], its place among the devices; [`serving`], both
//! with the host; copies; the dispatcher, lanes and their making, which hand batches to each
//! other; and [`driver`], all of it behind the trait.
//!
//! - Lanes of one worker share its program. The factory keeps programs by `Weak`, so weights are on
//!   a GPU once and go with the last worker. A change of policy remakes lanes when the first batch
//!   for the new ones comes; those of the old policy are idle by then.
//! - A batch is one queue of work on its lane's stream: copies in of what is not in the cache, the
//!   network over samples where they lie, answers out.
//! - Places in the cache are taken and given back under the core's lock, in the order it decided.
//!   Memory is freed outside of it, after the last copy or batch that holds it. Where there is no
//!   room for a part, the core is told that it is there, and lanes copy its samples themselves.
//! - The host's pool is page-locked by the first GPU that can, for all. What cannot be locked is
//!   copied once more.
//! - Spans are made from events. A device's busy time is the union of its lanes' computing times,
//!   so it never exceeds the time.
//! - A driver that says that the GPU is lost empties it at once: batches go back to the queues, and
//!   a listener is told, who must have it evacuated; until then the door stays open. Other errors
//!   fail the batch, as a panic on a partition does.
//! - Threads that a GPU holds cannot be taken back. Whoever waits for them does so within bounds,
//!   and an engine stops without those that hang.

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
