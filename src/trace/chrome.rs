//! Spans as a Chrome trace, which Perfetto, Chrome and Speedscope read.
//!
//! A process is a device and a thread a lane. Waiting and copies ahead overlap each
//! other, which slices of a thread must not: they are asynchronous events.

use std::collections::BTreeSet;

use serde::Serialize;

use super::{Span, SpanKind};

/// The names of the devices and members that spans number.
#[derive(Clone, Debug, Default)]
pub struct TraceNames<'a> {
    /// The devices' names.
    pub devices: Vec<&'a str>,
    /// The members' names.
    pub members: Vec<&'a str>,
}

/// The most lanes of one member on a device, each a thread of the trace.
const LANES: usize = 64;

/// Returns the trace in the JSON object format, times in microseconds since the engine's
/// start.
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
        // Writing plain values to memory does not fail; an event is whole or not there.
        if serde_json::to_writer(&mut self.bytes, event).is_err() {
            self.bytes.truncate(before);
        }
    }

    fn finish(mut self) -> Vec<u8> {
        self.bytes.extend_from_slice(b"\n]}\n");
        self.bytes
    }
}

/// One event of the trace; fields that its kind does not have are left out.
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
        pid: span.device,
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
        pid: span.device,
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
fn name(file: &mut TraceWriter, lanes: &BTreeSet<(usize, usize, usize)>, names: &TraceNames<'_>) {
    let devices: BTreeSet<usize> = lanes.iter().map(|l| l.0).collect();
    for device in devices {
        let known = names.devices.get(device).map(ToString::to_string);
        let name = known.unwrap_or_else(|| format!("device {device}"));
        file.add(&called("process_name", device, 0, name));
    }
    for (device, member, lane) in lanes {
        let known = names.members.get(*member).map(ToString::to_string);
        let member_name = known.unwrap_or_else(|| format!("member {member}"));
        let name = format!("{member_name} lane {lane}");
        file.add(&called(
            "thread_name",
            *device,
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

/// Returns the number of a lane's thread, from 1: viewers give thread 0 another meaning.
fn thread(member: usize, lane: usize) -> usize {
    member * LANES + lane.min(LANES - 1) + 1
}

fn micros(time: std::time::Duration) -> f64 {
    time.as_nanos() as f64 / 1e3
}
