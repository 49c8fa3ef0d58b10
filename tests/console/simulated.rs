//! A session on simulated devices: IMN4 on V100s, elastic.

use std::sync::Arc;
use std::time::Duration;

use divisi_model::allocation::{Cell, Frame, Matrix};
use divisi_model::ensemble::{BatchSizes, PolicyKind};
use divisi_model::trace::{Span, SpanKind};
use divisi_runtime::device::{DeviceIndex, MemberIndex};
use divisi_session::{DeviceView, EntryView, Health, Proposal, Snapshot};

use crate::fake::{Bench, device, member};

const MEMBERS: [&str; 4] = ["resnet50", "resnet101", "densenet121", "resnet152"];

/// A console on four V100s, with what their lanes did lately.
pub fn bench(width: u16, height: u16) -> Bench {
    let mut bench = Bench::new(width, height);
    *bench.desk.spans.lock().unwrap() = spans();
    bench.show(v100s);
    bench
}

/// `count` V100s, named as people name them.
fn devices(count: usize) -> Vec<DeviceView> {
    let view = |d| DeviceView {
        kind: "simulated".into(),
        faults_on_demand: true,
        memory_bytes: 16 << 30,
        side_by_side: true,
        alive: 5,
        ..device(&format!("sim:v100:{d}"), 0.62, 3200)
    };
    (0..count).map(view).collect()
}

/// Each member on a device of its own.
pub fn v100s(shown: &mut Snapshot) {
    let rows = [[16, 0, 0, 0], [0, 8, 0, 0], [0, 0, 8, 0], [0, 0, 0, 16]];
    serve(shown, devices(4), &MEMBERS, &rows.map(Vec::from));
    shown.ensemble = "imn4".into();
}

/// 16 devices with `members` of the longest names.
pub fn crowd(shown: &mut Snapshot, members: usize) {
    crowd_on(shown, 16, members);
}

/// The same on fewer devices.
pub fn crowd_on(shown: &mut Snapshot, count: usize, members: usize) {
    let names: Vec<String> = (0..members).map(|m| format!("resnet{}", 101 + m)).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let size = |d: usize, m: usize| {
        if m % count == d || (m + 3) % count == d {
            8
        } else {
            0
        }
    };
    let rows: Vec<Vec<i64>> = (0..count)
        .map(|d| (0..members).map(|m| size(d, m)).collect())
        .collect();
    serve(shown, devices(count), &names, &rows);
}

fn serve(shown: &mut Snapshot, devices: Vec<DeviceView>, members: &[&str], rows: &[Vec<i64>]) {
    let frame = Arc::new(Frame {
        devices: devices.iter().map(|d| d.name.clone()).collect(),
        members: members.iter().map(|m| (*m).to_owned()).collect(),
        batch_sizes: BatchSizes::default(),
    });
    shown.matrix = Matrix::from_rows(frame, rows).unwrap();
    shown.simulated = true;
    shown.policy = PolicyKind::Elastic { max_inf: None };
    shown.members = members.iter().map(|m| member(m, 2, 61.0)).collect();
    let works = |cell: Cell| shown.matrix.get(cell).is_some();
    let entry = |cell| EntryView {
        load: if works(cell) { 0.62 } else { 0.0 },
        fill: 0.9,
        batches: 420,
        ..EntryView::default()
    };
    shown.entries = shown.matrix.cells().map(entry).collect();
    shown.devices = devices;
    shown.proposal = None;
}

/// The first device is gone and what it served runs on the second.
pub fn lost(shown: &mut Snapshot) {
    let rows = [[0, 0, 0, 0], [8, 8, 0, 0], [0, 0, 8, 0], [0, 0, 0, 16]];
    let frame = Arc::clone(shown.matrix.frame());
    shown.matrix = Matrix::from_rows(frame, &rows.map(Vec::from)).unwrap();
    shown.devices[0].lost = true;
    shown.devices[0].busy = 0.0;
    shown.health = Health::Degraded("sim:v100:0 gone".into());
}

/// The last device is slow; its worker would do better on the second.
pub fn interfered(shown: &mut Snapshot) {
    let cell = Cell {
        device: DeviceIndex::new(3),
        member: MemberIndex::new(3),
    };
    shown.devices[3].slowdown = 2.5;
    shown.entries[15].interfered = Some(2.5);
    let rows = [[16, 0, 0, 0], [0, 8, 0, 16], [0, 0, 8, 0], [0, 0, 0, 0]];
    let frame = Arc::clone(shown.matrix.frame());
    shown.proposal = Some(Proposal {
        cell,
        slowdown: 2.5,
        matrix: Matrix::from_rows(frame, &rows.map(Vec::from)).unwrap(),
    });
}

/// Lanes of the first two devices, side by side, and their copies.
fn spans() -> Vec<Span> {
    let mut spans = Vec::new();
    // Lane, its size, milliseconds it computes, and where in a round it starts.
    let lanes = [
        (0, 1, 9, 0),
        (1, 1, 9, 14),
        (2, 2, 14, 4),
        (3, 4, 24, 30),
        (4, 8, 41, 50),
    ];
    for device in [0, 1] {
        for round in 0..10 {
            let there = lanes.into_iter().take(5 - device);
            for (lane, samples, ms, start) in there {
                let at = 41_000 + round * 100 + start + 7 * device as u64;
                let mut step = |kind, from: u64, to: u64| {
                    spans.push(Span {
                        device: DeviceIndex::new(device),
                        member: MemberIndex::new(device),
                        batch_size: if device == 0 { 16 } else { 8 },
                        lane,
                        kind,
                        start: Duration::from_micros(from),
                        end: Duration::from_micros(to),
                        samples,
                        batch: None,
                        request: 0,
                        requests: 1,
                        of_step: None,
                    });
                };
                let (from, to) = (at * 1000, (at + ms) * 1000);
                step(SpanKind::CopyAhead, from - 3000, from - 2900);
                step(SpanKind::Wait, from - 2000, from);
                step(SpanKind::Compute, from, to);
                step(SpanKind::CopyOut, to, to + 400);
                step(SpanKind::Send, to + 400, to + 900);
            }
        }
    }
    spans
}
