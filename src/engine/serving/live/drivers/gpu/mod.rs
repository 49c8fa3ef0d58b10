//! GPUs in the live engine, through the traits of `device::gpu` and `compute::gpu` only.
//!
//! One dispatcher thread asks the host for work, one copier thread records finished copies, and one
//! thread per lane runs batches. No thread holds the core's lock while it waits for the GPU.
//!
//! From the bottom up: buffers and the cache of samples; [`worker`], the lanes of one worker;
//! [`context`], an open GPU; [`slot`], its slot among the devices; [`serving`], both with the host;
//! copies; the dispatcher, lanes and their creation, which pass batches to each other; and
//! [`driver`], which implements the trait.
//!
//! - Lanes of one worker share its program. The factory keeps programs by `Weak`, so weights are on
//!   a GPU once and are freed with the last worker. After a change of policy, the first batch for
//!   the new lanes creates them; the old lanes are idle by then.
//! - A batch is one sequence of work on its lane's stream: copies of samples that are not in the
//!   cache, the network over samples in place, copies of answers to the host.
//! - Places in the cache are taken and freed under the core's lock, in the order of its decisions.
//!   Memory is freed without the lock, after the last copy or batch that uses it. Without room for
//!   a part, the core treats it as copied, and lanes copy its samples themselves.
//! - The first GPU that can page-locks the host's pool for all. Memory that cannot be locked is
//!   copied once more.
//! - Spans are measured by events. A device's busy time is the union of its lanes' computing times,
//!   so it never exceeds the elapsed time.
//! - When a driver reports a lost GPU, it is emptied at once: batches return to the queues, and the
//!   listener has to evacuate it. Until then the door stays open. Other errors fail the batch, like
//!   a panic on a partition.
//! - Threads that a GPU blocks cannot be cancelled. They are awaited only for a limited time, and
//!   an engine stops without those that hang.

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
