//! Profiles of devices: their files, the marks of profiles that were not measured, and the law that
//! is fitted to measured batches.

use std::sync::Arc;

use divisi_engine::search::{MeasuredBatch, fit_law};
use divisi_runtime::compute::work;
use divisi_runtime::device::Devices;
use divisi_runtime::device::simulated::{
    DeviceProfile, Law, OpWork, built_in_profiles, find_profile,
};
use divisi_runtime::network::Graph;

use crate::common::{digits, two_devices, v100s};

#[test]
fn a_profile_is_written_as_it_is_read() {
    for name in built_in_profiles() {
        let profile = find_profile(name).expect("built in");
        let again = DeviceProfile::parse(&profile.to_text()).expect("a profile");
        assert_eq!(again.law, profile.law, "{name}");
        assert_eq!(again.memory_bytes, profile.memory_bytes, "{name}");
        assert_eq!(again.origins.len(), profile.origins.len(), "{name}");
    }
}

#[test]
fn profiles_from_published_figures_are_marked() {
    for name in ["l4", "a10", "a100", "h100", "l40s", "h200"] {
        let profile = find_profile(name).expect("built in");
        let remark = profile.remark().expect("a remark");
        assert_eq!(remark, "derived from published figures, not measured");
        assert!(profile.price.is_some(), "{name}");
    }
    for name in ["v100", "titan-rtx", "cpu"] {
        let profile = find_profile(name).expect("built in");
        assert_eq!(profile.remark(), None, "{name}");
    }
}

#[test]
fn a_measured_number_needs_a_note() {
    let text = find_profile("v100").expect("built in").to_text();
    let measured = text.replacen(
        "from = \"datasheet\"\nnote = \"",
        "from = \"measured\"\nnote = \"\" # \"",
        1,
    );
    let error = DeviceProfile::parse(&measured).expect_err("no note");
    let says = "units.note is missing: a measured number needs a note on its measurements";
    assert_eq!(error.to_string(), says);
}

/// Batches as a device of this law would run them.
fn batches(law: &Law, graphs: &[&Graph]) -> Vec<MeasuredBatch> {
    let one = |graph: &&Graph, rows: usize| {
        let work: Arc<[OpWork]> = work(graph).into();
        let seconds = |op: &OpWork| law.kernel(op, rows).seconds + law.launch;
        MeasuredBatch {
            rows,
            sample_bytes: 0,
            answer_bytes: 0,
            seconds: work.iter().map(seconds).sum(),
            work,
        }
    };
    let sizes = [1, 8, 64];
    graphs
        .iter()
        .flat_map(|g| sizes.map(|rows| one(g, rows)))
        .collect()
}

#[test]
fn a_law_is_found_again_from_its_batches() {
    let law = Law {
        units: 2,
        rate: 8e10,
        fuses: true,
        activation_bandwidth: 6e9,
        weight_bandwidth: 1.5e10,
        grain: 0.0,
        launch: 7e-7,
        copy_bandwidth: 1e15,
        copy_latency: 0.0,
    };
    let digits = digits();
    let graphs: Vec<&Graph> = digits.members.iter().map(|m| m.graph.as_ref()).collect();
    let start = Law {
        rate: 1e12,
        activation_bandwidth: 1e11,
        weight_bandwidth: 1e11,
        launch: 1e-5,
        ..law
    };
    let (found, error) = fit_law(start, &batches(&law, &graphs));
    assert!(error < 0.02, "{error} with {found:?}");
    let near = |a: f64, b: f64| (a / b - 1.0).abs() < 0.1;
    assert!(
        near(found.rate, law.rate) && near(found.launch, law.launch),
        "{found:?}"
    );
}

#[test]
fn joined_devices_are_numbered_again_and_share_no_core() {
    let joined = Devices::joined([&v100s(2), &two_devices(), &v100s(1)]).expect("different");
    let names = ["sim:v100:0", "sim:v100:1", "cpu:0", "cpu:1", "sim:v100:2"];
    assert_eq!(joined.names(), names);
    let error = Devices::joined([&two_devices(), &two_devices()]).expect_err("the same cores");
    assert!(error.to_string().contains("both use core 0"), "{error}");
}
