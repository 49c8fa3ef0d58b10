//! The ledger books as much for a network as the network takes.

#![allow(unsafe_code, reason = "an allocator that counts")]
#![allow(
    clippy::expect_used,
    reason = "tests, benchmarks and examples stop at the first surprise"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use divisi::compute::{CpuPredictor, Lowered, Predictor, footprint, host_rows, mapped_bytes};
use divisi::network::builders::{Builder, Published};
use divisi::network::{Conv2d, Graph, GraphBuilder, NodeId, Op, Pool, Shape, Weights};

/// Bytes that are allocated now, and the most since [`watched`] began.
static LIVE: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

struct Counting;

fn took(bytes: usize) {
    let now = LIVE.fetch_add(bytes, Relaxed) + bytes;
    MOST.fetch_max(now + mapped_bytes(), Relaxed);
}

// SAFETY: everything is handed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        took(layout.size());
        // SAFETY: handed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        took(layout.size());
        // SAFETY: handed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: handed on.
        unsafe { System.dealloc(start, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Returns the value that `make` returns, the bytes that it keeps, and the most that it held.
fn watched<T>(make: impl FnOnce() -> T) -> (T, f64, f64) {
    let now = || LIVE.load(Relaxed) + mapped_bytes();
    let before = now();
    MOST.store(before, Relaxed);
    let made = make();
    MOST.fetch_max(now(), Relaxed);
    let more = |bytes: usize| bytes as f64 - before as f64;
    (made, more(now()), more(MOST.load(Relaxed)))
}

/// Images so large that they go through the first layers a few at a time.
fn large_images() -> Graph {
    let mut b = GraphBuilder::new(Shape::image(3, 110, 110));
    let conv = |channels| Op::Conv2d(Conv2d::new(channels, 3).same().biased());
    let x = b.add("conv1", conv(48), &[NodeId::INPUT]).expect("conv1");
    let x = b
        .add("pool", Op::MaxPool(Pool::new(2, 2)), &[x])
        .expect("pool");
    let x = b.add("conv2", conv(96), &[x]).expect("conv2");
    let x = b.add("conv3", conv(256), &[x]).expect("conv3");
    b.add("mean", Op::GlobalAvgPool, &[x]).expect("mean");
    b.build().expect("graph")
}

fn published(name: &str, side: usize) -> Graph {
    let network = Builder::Published(Published::named(name).expect(name));
    network.build(Shape::image(3, side, side), 100).expect(name)
}

fn close(what: &str, planned: u64, found: f64) {
    let ratio = found / planned as f64;
    let within = (0.95..=1.05).contains(&ratio);
    assert!(within, "{what}: {found} bytes where {planned} were planned");
}

// One test alone, since the allocator counts for the whole process.
#[test]
fn networks_take_the_memory_that_is_booked_for_them() {
    let networks = [
        ("large images", large_images()),
        ("resnet18", published("resnet18", 64)),
        ("mobilenet-v2", published("mobilenet-v2", 96)),
        ("densenet121", published("densenet121", 64)),
    ];
    for (name, graph) in networks {
        let weights = Weights::synthetic(&graph, 1);
        let _made = weights.iter().count();
        let (lowered, kept, most) = watched(|| Lowered::new(&graph, &weights).expect("lowers"));
        let planned = footprint(&graph, 1, 1).weight_bytes;
        close(&format!("weights of {name}"), planned, kept);
        close(
            &format!("weights of {name} while they are laid out"),
            planned,
            most,
        );
        let lowered = Arc::new(lowered);
        for (batch, threads) in [(1, 1), (4, 1), (1, 2), (9, 3)] {
            let planned = footprint(&graph, batch, threads).activation_bytes;
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            let pool = (threads > 1).then(|| Arc::new(pool.expect("pool")));
            let (_answer, kept, most) = watched(|| run(&lowered, batch, pool));
            let what = format!("{name}, batches of {batch} on {threads} threads");
            close(&what, planned, kept);
            close(&format!("{what}, at most"), planned, most);
        }
    }
}

/// A worker's predictor and tensors, once every batch size was run.
fn run(
    lowered: &Arc<Lowered>,
    batch: usize,
    pool: Option<Arc<rayon::ThreadPool>>,
) -> impl Sized + use<> {
    let input = host_rows(batch, lowered.inputs()).expect("input");
    let output = host_rows(batch, lowered.outputs()).expect("output");
    let mut predictor = CpuPredictor::new(Arc::clone(lowered), batch, pool).expect("predictor");
    for samples in 1..=batch {
        predictor.predict(samples, &input, &output).expect("runs");
    }
    (predictor, input, output)
}
