//! The names of precisions: read, written, told apart, and what `auto` becomes.

use divisi_model::ensemble::MemberPrecision;
use divisi_runtime::compute::CpuPrecision;
use divisi_runtime::compute::gpu::Precision;
use divisi_runtime::device::gpu::{FoundGpus, GpuInfo};
use divisi_runtime::device::{Devices, Host};

use crate::common::two_devices;

fn read(name: &str) -> MemberPrecision {
    name.parse().expect("a precision")
}

#[test]
fn a_precision_is_written_as_it_is_read() {
    for name in [
        "f32",
        "tf32",
        "bf16",
        "f16",
        "int8",
        "auto",
        "int8/f32",
        "int8/bf16",
        "f32/bf16",
        "bf16/f32",
        "bf16/tf32",
    ] {
        assert_eq!(read(name).to_text(), name);
        let kept = serde_json::to_string(&read(name)).expect("written");
        assert_eq!(
            serde_json::from_str::<MemberPrecision>(&kept).ok(),
            Some(read(name))
        );
    }
    for pair in ["f32/f32", "f32/tf32", "bf16/bf16", "f32/f16"] {
        let (_, gpus) = pair.split_once('/').expect("a pair");
        assert_eq!(read(pair).to_text(), gpus, "one name says both");
    }
    for wrong in [
        "",
        "int4",
        "int8/",
        "/f32",
        "f16/f32",
        "auto/f32",
        "int8/f32/f32",
        "INT8",
    ] {
        assert!(wrong.parse::<MemberPrecision>().is_err(), "{wrong}");
    }
}

#[test]
fn auto_is_what_processors_multiply_natively_and_says_so() {
    let auto = read("auto");
    let native = CpuPrecision::native();
    assert_eq!((auto.cores, auto.gpus), (native, None));
    assert_eq!(auto.to_string(), format!("auto ({native})"));
    assert_eq!(
        auto.on_devices(&two_devices(), Precision::F32),
        auto.to_string()
    );
    // What became of it elsewhere is nothing here.
    let from_elsewhere = MemberPrecision {
        cores: CpuPrecision::Int8,
        ..auto
    };
    assert_eq!(from_elsewhere.resolved(Precision::Tf32), auto);
    assert!(auto.if_set(Precision::F32).is_some(), "it was asked for");
}

#[test]
fn auto_is_what_each_gpu_multiplies_natively() {
    let gpu = |capability| GpuInfo {
        index: 0,
        name: "GPU".into(),
        memory_bytes: 1 << 30,
        free_bytes: 1 << 30,
        capability,
        multiprocessors: 1,
        driver: (12, 0),
    };
    let cases = [
        ((7, 5), Precision::F32),
        ((8, 0), Precision::Bf16),
        ((9, 0), Precision::Bf16),
    ];
    for (capability, expected) in cases {
        let gpu = gpu(capability);
        assert_eq!(read("auto").on_gpu(&gpu, Precision::Tf32), expected);
        assert_eq!(read("int8").on_gpu(&gpu, Precision::Tf32), Precision::Tf32);
    }
    let host = Host {
        cores: vec![0],
        memory_bytes: 1 << 30,
    };
    let devices = Devices::default_with(
        &host,
        &FoundGpus {
            usable: vec![gpu((7, 5))],
            unusable: Vec::new(),
        },
    );
    let native = CpuPrecision::native();
    let said = read("auto").on_devices(&devices, Precision::F32);
    match native {
        CpuPrecision::F32 => assert_eq!(said, "auto (f32)"),
        other => assert_eq!(said, format!("auto (f32 on cuda:0, {other} on cpu:0)")),
    }
}

#[test]
fn names_follow_each_other_by_turns() {
    let turn = |with_gpus: bool| {
        let mut names = vec![read("f32")];
        while names.len() < 8 {
            let last = names[names.len() - 1].resolved(Precision::F32);
            names.push(last.next(with_gpus));
        }
        let names: Vec<String> = names.iter().map(|p| p.to_text()).collect();
        names.join(" ")
    };
    assert_eq!(turn(false), "f32 bf16 int8 auto f32 bf16 int8 auto");
    assert_eq!(turn(true), "f32 tf32 bf16 f16 int8 auto f32 tf32");
}

#[test]
fn gpus_keep_their_numbers_where_nothing_is_said_of_them() {
    let running = read("tf32");
    assert_eq!(read("int8").replacing(running), read("int8/tf32"));
    assert_eq!(read("f32").replacing(running), read("f32"));
    assert_eq!(read("int8").replacing(read("auto")).gpus, None);
    assert_eq!(read("auto").replacing(running), read("auto"));
    let told = read("int8/f32").distinct_names(read("int8/tf32"));
    assert_eq!(told, ("int8/f32".into(), "int8/tf32".into()));
}
