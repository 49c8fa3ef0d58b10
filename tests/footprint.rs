//! The ledger books as much for a network as the network takes.

#![allow(unsafe_code, reason = "an allocator that counts")]
#![allow(
    clippy::expect_used,
    reason = "tests, benchmarks and examples stop at the first surprise"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use divisi_runtime::compute::{
    CpuPredictor, Lowered, Predictor, footprint, host_rows, mapped_bytes,
};
use divisi_runtime::device::ThreadTeam;
use divisi_runtime::network::builders::{Builder, Published};
use divisi_runtime::network::{Conv2d, Graph, GraphBuilder, NodeId, Op, Pool, Shape, Weights};
use divisi_runtime::onnx::OnnxModel;

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
    let network = Builder::Published(Published::from_name(name).expect(name));
    network.build(Shape::image(3, side, side), 100).expect(name)
}

fn close(what: &str, planned: u64, found: f64) {
    let ratio = found / planned as f64;
    let within = (0.95..=1.05).contains(&ratio);
    assert!(within, "{what}: {found} bytes where {planned} were planned");
}

/// A message of a protocol buffer, written field by field.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(mut self, mut value: u64) -> Self {
        while value > 0x7f {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
        self
    }

    fn number(self, tag: u64, value: usize) -> Self {
        self.varint(tag << 3).varint(value as u64)
    }

    fn bytes(self, tag: u64, bytes: impl AsRef<[u8]>) -> Self {
        let bytes = bytes.as_ref();
        let mut to = self.varint(tag << 3 | 2).varint(bytes.len() as u64);
        to.0.extend_from_slice(bytes);
        to
    }
}

impl AsRef<[u8]> for Message {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

fn tensor(name: &str, data_type: usize, dims: &[usize], raw: &[u8]) -> Message {
    let dims = dims.iter();
    let shaped = dims.fold(Message::default(), |made, dim| made.number(1, *dim));
    shaped.number(2, data_type).bytes(8, name).bytes(9, raw)
}

fn node(kind: &str, inputs: &[&str], output: &str, more: Option<Message>) -> Message {
    let inputs = inputs.iter();
    let made = inputs.fold(Message::default(), |made, input| made.bytes(1, input));
    let made = made.bytes(2, output).bytes(3, output).bytes(4, kind);
    more.into_iter()
        .fold(made, |made, more| made.bytes(5, more))
}

/// An input or output of floats.
fn value(name: &str, dims: &[usize]) -> Message {
    let each = dims.iter().map(|dim| Message::default().number(1, *dim));
    let shape = each.fold(Message::default(), |made, dim| made.bytes(1, dim));
    let of = Message::default().number(1, 1).bytes(2, shape);
    let of = Message::default().bytes(1, of);
    Message::default().bytes(1, name).bytes(2, of)
}

const FLOAT: usize = 1;
const INT8: usize = 3;

/// The channels of a quantised file's layers.
const CHANNELS: usize = 512;

/// A file of several convolutions of integers, by pairs of nodes as quantisers write them.
fn quantised() -> Vec<u8> {
    let scale = tensor("scale", FLOAT, &[], &0.05f32.to_le_bytes());
    let small: Vec<u8> = 0.001f32.to_le_bytes().repeat(CHANNELS);
    let mut graph = Message::default()
        .bytes(5, scale)
        .bytes(5, tensor("zero", INT8, &[], &[0]))
        .bytes(5, tensor("scales", FLOAT, &[CHANNELS], &small));
    let mut from = "x".to_owned();
    for layer in 0..6 {
        let named = |name: &str| format!("{name}{layer}");
        let [q, d, w, f, y] = ["q", "d", "w", "f", "y"].map(named);
        let integer = |n: usize| ((n * 7919 + layer) % 255) as u8;
        let integers = (0..CHANNELS * CHANNELS).map(|n| integer(n).wrapping_sub(127));
        let integers: Vec<u8> = integers.collect();
        let axis = Message::default()
            .bytes(1, "axis")
            .number(3, 0)
            .number(20, 2);
        graph = graph
            .bytes(5, tensor(&w, INT8, &[CHANNELS, CHANNELS, 1, 1], &integers))
            .bytes(
                1,
                node("QuantizeLinear", &[&from, "scale", "zero"], &q, None),
            )
            .bytes(
                1,
                node("DequantizeLinear", &[&q, "scale", "zero"], &d, None),
            )
            .bytes(1, node("DequantizeLinear", &[&w, "scales"], &f, Some(axis)))
            .bytes(1, node("Conv", &[&d, &f], &y, None));
        from = y;
    }
    let dims = [1, CHANNELS, 2, 2];
    let graph = graph
        .bytes(11, value("x", &dims))
        .bytes(12, value(&from, &dims));
    let set = Message::default().bytes(1, "").number(2, 17);
    let model = Message::default().number(1, 8).bytes(7, graph);
    model.bytes(8, set).0
}

/// A quantised file is never there as floats: its weights are its bytes, laid out anew.
fn quantised_files_take_what_is_booked_for_their_bytes() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("quantised.onnx");
    std::fs::write(&path, quantised()).expect("written");
    let made = || OnnxModel::open(&path).and_then(|model| model.network(None));
    let (network, _, most) = watched(|| made().expect("a network"));
    let bytes = network.graph.parameter_count() as f64;
    assert!(
        most < bytes / 4.0,
        "{most} bytes to read weights of {bytes}"
    );
    let lower = || Lowered::new(&network.graph, &network.weights).expect("lowers");
    let (_lowered, kept, most) = watched(lower);
    let planned = footprint(&network.graph, 1, 1).weight_bytes;
    assert!(
        (planned as f64) < 1.1 * bytes,
        "{planned} bytes are planned"
    );
    close("weights of a quantised file", planned, kept);
    let decoded = most - kept;
    assert!(
        decoded < bytes / 2.0,
        "{decoded} bytes while they are laid out"
    );
}

// One test alone, since the allocator counts for the whole process.
#[test]
fn networks_take_the_memory_that_is_booked_for_them() {
    quantised_files_take_what_is_booked_for_their_bytes();
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
            let pool = ThreadTeam::start(threads, || {});
            let pool = (threads > 1).then(|| Arc::new(pool.expect("pool")));
            let (_answer, kept, most) = watched(|| run(&lowered, batch, pool));
            let what = format!("{name}, batches of {batch} on {threads} threads");
            close(&what, planned, kept);
            close(&format!("{what}, at most"), planned, most);
        }
    }
}

/// A worker's predictor and tensors, once every batch size was run.
fn run(lowered: &Arc<Lowered>, batch: usize, pool: Option<Arc<ThreadTeam>>) -> impl Sized + use<> {
    let input = host_rows(batch, lowered.inputs()).expect("input");
    let output = host_rows(batch, lowered.outputs()).expect("output");
    let mut predictor = CpuPredictor::new(Arc::clone(lowered), batch, pool).expect("predictor");
    for samples in 1..=batch {
        predictor.predict(samples, &input, &output).expect("runs");
    }
    (predictor, input, output)
}
