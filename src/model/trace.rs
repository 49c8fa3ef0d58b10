//! Spans: the times of each worker's steps, in a bounded ring, and as a Chrome trace, which
//! Perfetto, Chrome and Speedscope read.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use divisi_runtime::device::{DeviceIndex, MemberIndex};
use divisi_runtime::lock::Leaf;
use divisi_runtime::named::named;

named! {
    /// The kind of step in a span.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    pub enum SpanKind {
        /// The wait of the batch's oldest sample in the queue.
        Wait = "wait",
        /// The copy of samples from the pool to the worker.
        CopyIn = "copy in",
        /// The copy of samples to the device's memory before a lane takes them.
        CopyAhead = "copy ahead",
        /// The computation.
        Compute = "compute",
        /// The copy of answers from the device's memory.
        CopyOut = "copy out",
        /// The folding of answers by the accumulator.
        Send = "send",
    }
}

/// One step of one batch. Times are measured from the engine's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// The device.
    pub device: DeviceIndex,
    /// The member.
    pub member: MemberIndex,
    /// The worker's batch size.
    pub batch_size: usize,
    /// The worker's lane, counted from its smallest.
    pub lane: usize,
    /// The step.
    pub kind: SpanKind,
    /// Its start.
    pub start: Duration,
    /// Its end.
    pub end: Duration,
    /// The number of samples in the batch.
    pub samples: usize,
    /// The number of the batch since the engine's start, or `None` for a copy ahead.
    pub batch: Option<u64>,
    /// The number, since the engine's start, of the request of its first sample.
    pub request: u64,
    /// The number of requests with samples in it.
    pub requests: u32,
    /// The pipeline step of its first sample, or `None` for a copy ahead.
    pub of_step: Option<StepPlace>,
}

/// The place of a step among all served steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepPlace {
    /// The entry of the catalogue.
    pub entry: u16,
    /// The number of the step in execution order.
    pub step: u16,
}

/// A bounded ring of spans, written by one device's thread and emptied by a reader. It keeps the
/// newest spans and counts the spans that were lost before they were read.
///
/// The lock is held for one push or one swap, so neither side waits for the other's work. A console
/// that reads slowly loses old spans and gets the number of lost spans.
#[derive(Debug)]
pub struct SpanRing {
    inner: Leaf<RingState>,
    bound: usize,
}

/// The spans, guarded by the lock.
#[derive(Debug, Default)]
struct RingState {
    spans: Vec<Span>,
    /// The index of the oldest span once the ring is full.
    head: usize,
    dropped: u64,
}

impl SpanRing {
    /// Creates a ring of at most `bound` spans (at least one).
    pub fn new(bound: usize) -> Self {
        SpanRing {
            inner: Leaf::default(),
            bound: bound.max(1),
        }
    }

    /// Adds spans. Replaces the oldest spans if the ring is full.
    pub fn push(&self, spans: &[Span]) {
        let mut inner = self.inner.lock();
        for &span in spans {
            if inner.spans.len() < self.bound {
                inner.spans.push(span);
            } else {
                let head = inner.head;
                inner.spans[head] = span;
                inner.head = (head + 1) % self.bound;
                inner.dropped += 1;
            }
        }
    }

    /// Moves all spans to `into`, oldest first. Returns the number lost since the start.
    pub fn drain(&self, into: &mut Vec<Span>) -> u64 {
        let (spans, head, dropped) = {
            let mut inner = self.inner.lock();
            let spans = std::mem::take(&mut inner.spans);
            (spans, std::mem::take(&mut inner.head), inner.dropped)
        };
        into.extend_from_slice(&spans[head..]);
        into.extend_from_slice(&spans[..head]);
        dropped
    }
}

/// The names of the devices and members for the numbers in spans.
#[derive(Clone, Debug, Default)]
pub struct TraceNames<'a> {
    /// The devices' names.
    pub devices: Vec<&'a str>,
    /// The members' names.
    pub members: Vec<&'a str>,
}

/// The maximum number of lanes of one member on a device. Each lane is a thread of the trace.
const LANES: usize = 64;

/// Returns the trace in the JSON object format, with times in microseconds since the engine's
/// start.
///
/// Each device is a process and each lane is a thread. Waits and copies ahead overlap each other,
/// which slices of a thread must not, so they are asynchronous events.
pub fn chrome(spans: impl IntoIterator<Item = Span>, names: &TraceNames<'_>) -> Vec<u8> {
    let mut file = TraceWriter::new();
    let mut lanes = BTreeSet::new();
    for (number, span) in spans.into_iter().enumerate() {
        lanes.insert((span.device, span.member, span.lane));
        match span.kind {
            SpanKind::Wait | SpanKind::CopyAhead => {
                for begins in [true, false] {
                    file.add(&overlapping(&span, number, begins));
                }
            }
            _ => file.add(&slice(&span)),
        }
    }
    name(&mut file, &lanes, names);
    file.finish()
}

/// Writes events one by one.
struct TraceWriter {
    bytes: Vec<u8>,
    empty: bool,
}

impl TraceWriter {
    fn new() -> Self {
        TraceWriter {
            bytes: b"{\"displayTimeUnit\":\"ms\",\"traceEvents\":[".to_vec(),
            empty: true,
        }
    }

    fn add(&mut self, event: &TraceEvent<'_>) {
        let before = self.bytes.len();
        if !std::mem::take(&mut self.empty) {
            self.bytes.push(b',');
        }
        self.bytes.push(b'\n');
        // Writing plain values to memory cannot fail. An event is written completely or not at all.
        if serde_json::to_writer(&mut self.bytes, event).is_err() {
            self.bytes.truncate(before);
        }
    }

    fn finish(mut self) -> Vec<u8> {
        self.bytes.extend_from_slice(b"\n]}\n");
        self.bytes
    }
}

/// One event of the trace, without the fields that its kind does not have.
#[derive(Serialize)]
struct TraceEvent<'a> {
    ph: &'static str,
    name: &'a str,
    pid: usize,
    tid: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    cat: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ts: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<TraceArgs>,
}

/// The arguments of an event.
#[derive(Serialize)]
#[serde(untagged)]
enum TraceArgs {
    Batch {
        batch: Option<u64>,
        samples: usize,
        batch_size: usize,
        request: u64,
        requests: u32,
    },
    Name {
        name: String,
    },
}

fn slice(span: &Span) -> TraceEvent<'static> {
    TraceEvent {
        ph: "X",
        name: span.kind.name(),
        pid: span.device.get(),
        tid: thread(span.member, span.lane),
        cat: None,
        id: None,
        ts: Some(micros(span.start)),
        dur: Some(micros(span.end.saturating_sub(span.start))),
        args: Some(args(span)),
    }
}

fn overlapping(span: &Span, id: usize, begins: bool) -> TraceEvent<'static> {
    let (ph, at) = match begins {
        true => ("b", span.start),
        false => ("e", span.end),
    };
    TraceEvent {
        ph,
        name: span.kind.name(),
        pid: span.device.get(),
        tid: thread(span.member, span.lane),
        cat: Some(span.kind.name()),
        id: Some(id),
        ts: Some(micros(at)),
        dur: None,
        args: begins.then(|| args(span)),
    }
}

fn args(span: &Span) -> TraceArgs {
    TraceArgs::Batch {
        batch: span.batch,
        samples: span.samples,
        batch_size: span.batch_size,
        request: span.request,
        requests: span.requests,
    }
}

/// Writes the names of processes and threads.
fn name(
    file: &mut TraceWriter,
    lanes: &BTreeSet<(DeviceIndex, MemberIndex, usize)>,
    names: &TraceNames<'_>,
) {
    let devices: BTreeSet<DeviceIndex> = lanes.iter().map(|l| l.0).collect();
    for device in devices {
        let known = names.devices.get(device.get()).map(ToString::to_string);
        let name = known.unwrap_or_else(|| format!("device {device}"));
        file.add(&called("process_name", device.get(), 0, name));
    }
    for (device, member, lane) in lanes {
        let known = names.members.get(member.get()).map(ToString::to_string);
        let member_name = known.unwrap_or_else(|| format!("member {member}"));
        let name = format!("{member_name} lane {lane}");
        file.add(&called(
            "thread_name",
            device.get(),
            thread(*member, *lane),
            name,
        ));
    }
}

fn called(what: &'static str, pid: usize, tid: usize, name: String) -> TraceEvent<'static> {
    TraceEvent {
        ph: "M",
        name: what,
        pid,
        tid,
        cat: None,
        id: None,
        ts: None,
        dur: None,
        args: Some(TraceArgs::Name { name }),
    }
}

/// Returns the number of a lane's thread, from 1, because viewers give thread 0 another meaning.
fn thread(member: MemberIndex, lane: usize) -> usize {
    member.get() * LANES + lane.min(LANES - 1) + 1
}

fn micros(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e3
}
