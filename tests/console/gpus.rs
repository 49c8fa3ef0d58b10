//! NVIDIA GPUs on the screen and in lines, beside partitions; none is there.

use divisi_console::config::Config;
use divisi_console::linear::LineDesk;
use divisi_runtime::compute::gpu::Precision;
use divisi_runtime::device::DeviceIndex;
use divisi_runtime::device::gpu::Gauges;
use divisi_session::{Command, DeviceView, GpuView, Health, Snapshot};

use crate::fake::{Bench, FakeSession, device};

/// Returns the gauges of a GPU that works hard.
fn gauges(others: u64) -> Gauges {
    Gauges {
        busy: Some(0.97),
        temperature: Some(64),
        power: Some(412.3),
        memory_used: Some((13 << 30) + others),
        others_bytes: Some(others),
    }
}

fn gpu(gauges: Gauges) -> GpuView {
    GpuView {
        model: "NVIDIA H100 80GB HBM3".into(),
        capability: (9, 0),
        memory_bytes: 80 << 30,
        gauges,
        used: Some(12 << 30),
    }
}

/// The first device is a GPU instead of a partition.
fn on_gpu(shown: &mut Snapshot, gauges: Gauges) {
    let mut frame = (**shown.matrix.frame()).clone();
    frame.devices[0] = "cuda:0".into();
    let rows = shown.matrix.rows();
    let rows: Vec<Vec<i64>> = rows
        .iter()
        .map(|row| row.iter().map(|&n| n as i64).collect())
        .collect();
    shown.matrix = divisi_model::allocation::Matrix::from_rows(frame.into(), &rows).unwrap();
    shown.precision = Some(Precision::Bf16);
    for member in &mut shown.members {
        member.precision = "f32/bf16".parse().unwrap();
    }
    shown.devices[0] = DeviceView {
        kind: "cuda".into(),
        memory_bytes: 76 << 30,
        side_by_side: true,
        alive: 48,
        gpu: Some(gpu(gauges)),
        ..device("cuda:0", 0.93, 11_800)
    };
}

/// It disappeared.
fn gone(shown: &mut Snapshot) {
    on_gpu(shown, gauges(0));
    let view = &mut shown.devices[0];
    (view.lost, view.busy) = (true, 0.0);
    view.loss = Some("the GPU is lost: an error of its memory (ECC)".into());
    shown.health = Health::Degraded("cuda:0 gone".into());
}

fn bench(width: u16, height: u16, change: impl FnOnce(&mut Snapshot)) -> Bench {
    let mut bench = Bench::new(width, height);
    bench.show(change);
    bench
}

#[test]
fn a_gpu_shows_what_its_driver_says_where_there_is_room() {
    let busy = |s: &mut Snapshot| on_gpu(s, gauges(0));
    screen!("gpu_80x24", bench(80, 24, busy));
    screen!("gpu_160x50", bench(160, 50, busy));
    let mut expanded = bench(80, 24, busy);
    expanded.keys("1z");
    screen!("gpu_expanded", expanded);
}

#[test]
fn memory_of_others_is_shown_where_there_is_any() {
    let beside = |s: &mut Snapshot| on_gpu(s, gauges(3 << 30));
    let text = bench(160, 50, beside).text();
    assert!(text.contains("others 3.0 GiB"), "{text}");
    let alone = |s: &mut Snapshot| on_gpu(s, gauges(0));
    assert!(!bench(160, 50, alone).text().contains("others"));
}

#[test]
fn what_a_driver_does_not_say_is_left_out() {
    let mute = |s: &mut Snapshot| on_gpu(s, Gauges::default());
    let text = bench(160, 50, mute).text();
    assert!(
        !text.contains("°C") && text.contains("12 GiB here"),
        "{text}"
    );
}

#[test]
fn a_lost_gpu_says_why() {
    for (name, width, height) in [("gpu_lost_80x24", 80, 24), ("gpu_lost_160x50", 160, 50)] {
        screen!(name, bench(width, height, gone));
    }
}

#[test]
fn a_gpu_that_works_is_not_lost_by_wish_and_a_lost_one_may_come_back() {
    let mut there = bench(120, 40, |s| on_gpu(s, gauges(0)));
    there.keys("D");
    let text = there.text();
    assert!(text.contains("cuda:0 is part of this machine"), "{text}");
    assert!(there.sent().is_empty());
    let mut lost = bench(120, 40, gone);
    lost.keys("R");
    assert_eq!(lost.sent(), [Command::RegainDevice(DeviceIndex::new(0))]);
}

/// Returns the lines of `status` in linear mode.
fn said(shown: Snapshot) -> String {
    let bench = Bench::new(80, 24);
    *bench.desk.shown.lock().unwrap() = shown;
    let mut desk = LineDesk::new(false, Config::default().terms);
    let mut session = FakeSession::at(bench.desk.clone());
    desk.line("status", &mut session).lines.join("\n")
}

#[test]
fn lines_say_the_same() {
    let status = |change: fn(&mut Snapshot)| {
        let mut shown = crate::fake::snapshot();
        change(&mut shown);
        said(shown)
    };
    let text = status(|s| on_gpu(s, gauges(3 << 30)));
    for said in [
        "GPUs compute in bf16",
        "cuda:0: others 3.0 GiB, driver 97%, 64 °C, 412 W, in use 16 GiB, 12 GiB here, NVIDIA H100 80GB HBM3, compute 9.0",
    ] {
        assert!(text.contains(said), "{text}");
    }
    let text = status(gone);
    assert!(
        text.contains("cuda:0: lost (the GPU is lost: an error"),
        "{text}"
    );
}
