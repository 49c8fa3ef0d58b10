//! The findings of the papers, seen again in virtual time.

use std::sync::Arc;
use std::time::Duration;

use divisi_engine::load::LoadPattern;
use divisi_engine::simulation::{Scenario, Simulation, SimulationReport, Workload};
use divisi_model::allocation::{Frame, Matrix};
use divisi_model::ensemble::{Ensemble, Files, PolicyKind};
use divisi_model::profile::Costs;
use divisi_model::trace::SpanKind;
use divisi_runtime::device::simulated::{DeviceJob, Executor, Kernel, Law, OpWork, find_profile};
use divisi_runtime::device::{DeviceIndex, Devices, MemberIndex};

/// A Titan RTX whose convolutions are called directly, as Ebird's experiments do it:
/// without a framework, a launch takes microseconds.
fn titan() -> Law {
    Law {
        launch: 5e-6,
        ..find_profile("titan-rtx").expect("a profile").law
    }
}

/// Time until all of `jobs` are done.
fn time_of(jobs: impl Iterator<Item = (u64, Vec<Kernel>)>) -> Duration {
    let law = titan();
    let mut device = Executor::new(law);
    for (id, (copy_in, kernels)) in jobs.enumerate() {
        let job = DeviceJob {
            id: id as u64,
            copy_in,
            kernels: kernels.into(),
            copy_out: 0,
        };
        device.submit(Duration::ZERO, job);
    }
    let mut end = Duration::ZERO;
    while let Some(at) = device.next_event() {
        end = at;
        device.advance(at);
    }
    end
}

/// Ebird, section VI.B: 256 samples of 50 equal convolutions in `batches` batches at
/// once, on 72 multiprocessors. The convolution is small, as theirs must have been: of 16
/// to 16 channels, 3 by 3, on 11 by 11 pixels, 0.56e6 FLOPs a sample.
fn fake_net(batches: usize) -> Duration {
    let convolution = OpWork {
        flops: 2.0 * 9.0 * 16.0 * 16.0 * 11.0 * 11.0,
        ..OpWork::default()
    };
    let kernel = titan().kernel(&convolution, 256 / batches);
    time_of((0..batches).map(|_| (0, vec![kernel; 50])))
}

#[test]
fn many_small_batches_cost_as_much_as_a_large_one_up_to_the_multiprocessors() {
    let whole = fake_net(1).as_secs_f64();
    for batches in [2, 4, 8, 16, 32, 64] {
        let ratio = fake_net(batches).as_secs_f64() / whole;
        assert!((0.99..1.05).contains(&ratio), "{batches} batches: {ratio}");
    }
    let ratios = [128, 256].map(|batches| fake_net(batches).as_secs_f64() / whole);
    assert!(ratios[0] > 1.05 && ratios[1] > ratios[0], "{ratios:?}");
}

#[test]
fn copying_in_pieces_costs_little_more_than_at_once() {
    // Ebird, section V.C: 256 pictures, 3.9 µs more for each at most, below 1 ms in all;
    // and at once they take what PCIe 3.0 x16 takes, 15.75 GB/s at best.
    let picture = 4 * 3 * 224 * 224;
    let pieces = |count: u64| time_of((0..count).map(move |_| (picture * 256 / count, vec![])));
    let whole = pieces(1);
    let best = Duration::from_secs_f64(256.0 * picture as f64 / 15.75e9);
    assert!((best..2 * best).contains(&whole), "{whole:?}");
    for count in [2, 16, 256] {
        let more = pieces(count).saturating_sub(whole);
        assert!(more < Duration::from_millis(1), "{count}: {more:?}");
    }
    assert!(pieces(256) > whole, "every transfer takes a moment");
}

/// Samples a second that `network` serves alone on a device, in batches of `rows`.
fn rate(network: &str, device: &str, rows: usize) -> f64 {
    let devices = Devices::simulated(&find_profile(device).expect("a profile"), 1);
    let costs = Costs::of_laws(&ensemble(&[network]), &devices);
    rows as f64
        / costs
            .alone(MemberIndex::new(0), DeviceIndex::new(0), rows)
            .latency
}

#[test]
fn the_v100_serves_networks_as_fast_as_the_first_paper_measured() {
    // Table I: IMN1 on 1 GPU (the two that the profile is fitted to), IMN4's slowest.
    // Table III: IMN4's slowest at its best batch size.
    let measured = [
        ("resnet152", 8, 106.0, 0.01),
        ("resnet152", 128, 136.0, 0.01),
        ("resnet101", 8, 160.0, 0.1),
        ("resnet101", 128, 211.0, 0.1),
    ];
    for (network, rows, paper, within) in measured {
        let ratio = rate(network, "v100", rows) / paper;
        assert!((ratio - 1.0).abs() < within, "{network} at {rows}: {ratio}");
    }
}

#[test]
fn a_lone_sample_waits_for_the_weights_of_a_large_layer() {
    // VGG's first linear layer, at the V100's published 900 GB/s: 0.46 ms, where its
    // FLOPs take 0.01.
    let work = OpWork {
        flops: 2.0 * 25_088.0 * 4096.0,
        weight_bytes: 4.0 * 25_088.0 * 4096.0,
        ..OpWork::default()
    };
    let law = find_profile("v100").expect("a profile").law;
    let read = 4.0 * 25_088.0 * 4096.0 / 900e9;
    let ratio = law.kernel(&work, 1).seconds / read;
    assert!((ratio - 1.0).abs() < 0.02, "{ratio}");
}

#[test]
fn no_other_member_is_slower_on_the_v100_than_the_slowest_in_the_first_paper() {
    let fast = |network: &str, least: f64| {
        let best = rate(network, "v100", 128);
        assert!(best > least, "{network}: {best}");
    };
    // Table III: 211 is the slowest of IMN4; ours may miss by a tenth.
    for network in ["resnet50", "densenet121", "vgg19"] {
        fast(network, 0.9 * 211.0);
    }
    // 136 is ResNet152, the slowest of IMN12.
    let others = [
        "resnet18",
        "resnet34",
        "resnext50-32x4d",
        "inception-v3",
        "xception",
        "vgg16",
        "mobilenet-v2",
    ];
    for network in others {
        fast(network, 136.0);
    }
}

#[test]
fn the_cpu_serves_what_the_gpus_had_no_room_for_as_fast_as_the_first_paper_measured() {
    // Table I, A1: IMN4 on 2 GPUs, VGG19 by the estimate of memory (what the profile is
    // fitted to); IMN12 on 5, MobileNet v2 by the same.
    for (network, paper, within) in [("vgg19", 13.0, 0.02), ("mobilenet-v2", 65.0, 0.1)] {
        let ratio = rate(network, "cpu", 8) / paper;
        assert!((ratio - 1.0).abs() < within, "{network}: {ratio}");
    }
}

fn ensemble(members: &[&str]) -> Arc<Ensemble> {
    let mut text = String::from(
        "name = \"pair\"\nclasses = 1000\nbatch_sizes = [64]\n[input]\nshape = [3, 224, 224]\n",
    );
    for member in members {
        text +=
            &format!("[[members]]\nname = \"{member}\"\nnetwork = {{ builder = \"{member}\" }}\n");
    }
    let text: &'static [u8] = text.into_bytes().leak();
    let files = Files::Embedded {
        name: "pair",
        files: vec![("ensemble.toml", text)].leak(),
    };
    Arc::new(Ensemble::read(&files).expect("valid"))
}

/// Serves `members` together on one H200 at `rate`.
fn together(members: &[&str], rate: f64) -> SimulationReport {
    let ensemble = ensemble(members);
    let devices = Devices::simulated(&find_profile("h200").expect("a profile"), 1);
    let rows = vec![vec![64; members.len()]];
    let scene = Scenario {
        matrix: Matrix::from_rows(Frame::from_ensemble(&ensemble, &devices), &rows).expect("valid"),
        costs: Arc::new(Costs::of_laws(&ensemble, &devices)),
        policy: PolicyKind::NoWait,
        demand: ensemble.into(),
        devices,
    };
    let workload = Workload::Pattern {
        pattern: LoadPattern::poisson(rate),
        samples: 2000,
        seed: 3,
    };
    let simulation = Simulation::new(&scene).expect("known costs");
    simulation.with_spans().run(workload).expect("runs")
}

/// Mean seconds from a batch's oldest sample's arrival to its answer, of one member.
fn latency_of(report: &SimulationReport, member: MemberIndex) -> f64 {
    let of = |kind: SpanKind| {
        let spans = report.spans.iter();
        let spans = spans.filter(move |s| s.member == member && s.kind == kind);
        spans.map(|s| (s.end - s.start).as_secs_f64()).sum::<f64>()
    };
    let batches = report.spans.iter();
    let batches = batches.filter(|s| s.member == member && s.kind == SpanKind::Compute);
    (of(SpanKind::Wait) + of(SpanKind::Compute)) / batches.count() as f64
}

#[test]
fn a_small_network_suffers_beside_a_large_one_at_high_load_only() {
    // INFaaS, figure 1: Inception-ResNet v2 beside MobileNet v1.
    let (large, small) = ("inception-resnet-v2", "mobilenet-v1");
    let slower = |rate: f64| {
        let both = together(&[large, small], rate);
        let small_alone = latency_of(&together(&[small], rate), MemberIndex::new(0));
        let large_alone = latency_of(&together(&[large], rate), MemberIndex::new(0));
        let small = latency_of(&both, MemberIndex::new(1)) / small_alone;
        let large = latency_of(&both, MemberIndex::new(0)) / large_alone;
        (small, large)
    };
    let (small_low, large_low) = slower(20.0);
    let (small_high, large_high) = slower(2000.0);
    assert!(
        small_low < 1.1 && large_low < 1.01,
        "low load: {small_low} and {large_low}"
    );
    assert!(small_high > 2.0, "high load: {small_high}");
    assert!(large_high < 1.3, "the large one at high load: {large_high}");
}
