//! Memory of large requests, given back to the system once they are over.
//!
//! An allocator keeps what was freed for a moment, in case that more is wanted, and looks again only when a
//! thread frees more or ends. After the last of several large requests nobody does, and their gigabytes
//! would stay with the program.

use std::hint::black_box;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tokio::sync::Notify;

/// Bytes from which on a request is large.
const LARGE: usize = 1 << 20;

/// The times between a large request and the looks of the allocator.
const PAUSES: [Duration; 4] = [
    Duration::from_millis(300),
    Duration::from_millis(700),
    Duration::from_secs(2),
    Duration::from_secs(4),
];

/// Is told of requests, and has the allocator look again after large ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct MemorySettler(Arc<Notify>);

impl MemorySettler {
    /// Notes that a request and its answer of so many bytes were in memory.
    pub(crate) fn passes(&self, bytes: usize) {
        if bytes >= LARGE {
            self.0.notify_one();
        }
    }

    /// Waits for large requests, without end.
    pub(crate) async fn settle(self) {
        loop {
            self.0.notified().await;
            for pause in PAUSES {
                tokio::time::sleep(pause).await;
                // Without a thread memory stays for the time being.
                drop(thread::Builder::new().name("memory".into()).spawn(look));
            }
        }
    }
}

/// Takes memory as a thread of its own: with the end of this the allocator looks what it can give back.
fn look() {
    black_box(vec![0_u8; 64]);
}
