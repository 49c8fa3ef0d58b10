//! The numbers that members are computed in: what a manifest asks for, and what serves.

use std::sync::Arc;

use divisi_engine::serving::Request;
use divisi_model::allocation::{Cell, Footprints};
use divisi_model::ensemble::{BatchSize, Ensemble, Files, Member, MemberPrecision, label_of};
use divisi_runtime::compute::CpuPrecision;
use divisi_runtime::compute::gpu::Precision;
use divisi_runtime::device::{DeviceIndex, MemberIndex};

use crate::common::{digits, networks, start, two_devices};
use crate::folder::Folder;

fn of_cores(cores: CpuPrecision, gpus: Option<Precision>) -> MemberPrecision {
    MemberPrecision {
        cores,
        gpus,
        is_auto: false,
    }
}

/// Reads an ensemble of two members, the second of which may have a precision of its own.
fn read(of_all: &str, own: &str) -> Result<Ensemble, String> {
    let folder = Folder::new();
    let line = |name: &str| match name {
        "" => String::new(),
        name => format!("precision = \"{name}\"\n"),
    };
    let member = |name: &str| {
        let network = r#"network = { builder = "perceptron", hidden = [3] }"#;
        format!("[[members]]\nname = \"{name}\"\n{network}\n")
    };
    let head = "name = \"two\"\nclasses = 2\n";
    let (a, b) = (member("a"), member("b"));
    let text = format!(
        "{head}{}[input]\nshape = [4]\n{a}{b}{}",
        line(of_all),
        line(own)
    );
    folder.write("ensemble.toml", text.as_bytes());
    Ensemble::read(&Files::from_path(folder.path())).map_err(|why| why.to_string())
}

#[test]
fn a_member_is_computed_in_its_own_numbers_else_in_those_of_all() {
    use CpuPrecision::{Bf16, F32, Int8};
    let cases = [
        ("", "", of_cores(F32, None), of_cores(F32, None)),
        ("", "int8", of_cores(F32, None), of_cores(Int8, None)),
        ("int8", "", of_cores(Int8, None), of_cores(Int8, None)),
        (
            "int8",
            "f32",
            of_cores(Int8, None),
            of_cores(F32, Some(Precision::F32)),
        ),
        (
            "bf16",
            "int8",
            of_cores(Bf16, Some(Precision::Bf16)),
            of_cores(Int8, Some(Precision::Bf16)),
        ),
    ];
    for (of_all, own, first, second) in cases {
        let ensemble = read(of_all, own).expect("valid");
        let found = [0, 1].map(|member| ensemble.members[member].precision);
        assert_eq!(
            found,
            [first, second],
            "`{of_all}` of all, `{own}` of its own"
        );
    }
}

#[test]
fn a_name_of_no_numbers_is_refused_with_its_place() {
    for (of_all, own, field) in [("int4", "", "precision"), ("", "INT8", "members.precision")] {
        let why = read(of_all, own).expect_err("no such numbers");
        let expected = format!("{field}: expected f32, tf32, bf16, f16, int8 or auto");
        assert!(
            why.contains("ensemble.toml") && why.contains(&expected),
            "{why}"
        );
    }
}

#[test]
fn a_command_line_has_all_members_computed_in_other_numbers() {
    let mut ensemble = read("bf16", "int8").expect("valid");
    ensemble.compute_in(of_cores(CpuPrecision::F32, Some(Precision::F32)));
    assert_eq!(ensemble.precision, Precision::F32);
    let float = |member: &Arc<Member>| member.precision.if_set(Precision::F32).is_none();
    assert!(ensemble.members.iter().all(float));
}

/// The digits with all members in int8.
fn quantized() -> Arc<Ensemble> {
    let mut ensemble = Ensemble::clone(&digits());
    ensemble.compute_in("int8".parse().expect("a precision"));
    Arc::new(ensemble)
}

fn answers(ensemble: &Arc<Ensemble>) -> Vec<Vec<f32>> {
    let engine = start(ensemble, networks(ensemble));
    let samples = ensemble.calibration.as_deref().expect("digits");
    let rows = samples.rows(0, 256);
    let answer = engine
        .predict(Request::new(&rows))
        .expect("taken")
        .expect("answered");
    answer.rows().map(<[f32]>::to_vec).collect()
}

#[test]
fn members_in_int8_serve_nearly_the_answers_of_float32() {
    let [exact, found] = [&digits(), &quantized()].map(answers);
    assert_ne!(exact, found, "something is computed in 8 bits");
    let same = exact
        .iter()
        .zip(&found)
        .filter(|(a, b)| label_of(a) == label_of(b));
    let same = same.count();
    assert!(same >= exact.len() - 2, "{same} of {} answers", exact.len());
}

#[test]
fn the_ledger_books_the_memory_of_the_numbers_asked_for() {
    let devices = two_devices();
    let bytes = |ensemble: &Ensemble, member| {
        let cell = Cell {
            device: DeviceIndex::new(0),
            member,
        };
        let size = BatchSize::new(8).expect("a size");
        Footprints::plan(ensemble, &devices).bytes(cell, size)
    };
    let (float, int8) = (digits(), quantized());
    let sums = [&float, &int8].map(|ensemble| {
        let all = MemberIndex::enumerate(&ensemble.members);
        all.map(|(member, _)| bytes(ensemble, member)).sum::<u64>()
    });
    assert_ne!(sums[0], sums[1], "each has its own plan");
    let [a, b] = [&float, &int8].map(|ensemble| Arc::clone(&ensemble.members[0]));
    assert!(!a.has_network_of(&b), "they share no lowered network");
}
