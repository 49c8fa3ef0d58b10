//! Precisions that devices do not multiply: how kernels do instead, and what is said of it.

use divisi_model::ensemble::{MemberPrecision, PrecisionRemark};
use divisi_runtime::compute::gpu::Precision;
use divisi_runtime::compute::{CpuKernels, CpuPrecision, Family, FamilySummary, ProductMethod};
use divisi_runtime::device::gpu::{FoundGpus, GpuInfo};
use divisi_runtime::device::{Devices, Host};

const HOST: fn() -> Host = || Host {
    cores: vec![0],
    memory_bytes: 1 << 30,
};

fn named(name: &str) -> Devices {
    Devices::from_names(&[name.to_owned()], &HOST()).expect("there")
}

/// A core and a GPU.
fn mixed() -> Devices {
    let gpu = GpuInfo {
        index: 0,
        name: "GPU".into(),
        memory_bytes: 1 << 30,
        free_bytes: 1 << 30,
        capability: (9, 0),
        multiprocessors: 1,
        driver: (12, 0),
    };
    let found = FoundGpus {
        usable: vec![gpu],
        unusable: Vec::new(),
    };
    Devices::default_with(&HOST(), &found)
}

fn said(name: &str, devices: &Devices) -> Vec<String> {
    let precision: MemberPrecision = name.parse().expect("a precision");
    let all = PrecisionRemark::for_members([precision, precision], devices, Precision::Tf32);
    all.iter().map(ToString::to_string).collect()
}

fn products(family: Family, precision: CpuPrecision) -> ProductMethod {
    CpuKernels { family, precision }.products()
}

#[test]
fn families_multiply_what_they_have_instructions_for() {
    use ProductMethod::{In16Bits, Native, OneByOne, Widened};
    let cases = [
        (Family::Plain, CpuPrecision::F32, Native),
        (Family::Plain, CpuPrecision::Bf16, Widened),
        (Family::Plain, CpuPrecision::Int8, OneByOne),
        (Family::Avx2, CpuPrecision::Bf16, Widened),
        (Family::Avx2, CpuPrecision::Int8, In16Bits),
        (Family::Avx2Vnni, CpuPrecision::Int8, Native),
        (Family::Neon, CpuPrecision::Int8, In16Bits),
        (Family::NeonDot, CpuPrecision::Int8, Native),
    ];
    for (family, precision, expected) in cases.into_iter().filter(|c| c.0.is_available()) {
        assert_eq!(
            products(family, precision),
            expected,
            "{family} {precision}"
        );
    }
    let native = products(Family::best(), CpuPrecision::Bf16).is_native();
    assert_eq!(native, CpuPrecision::native() == CpuPrecision::Bf16);
}

#[test]
fn a_family_is_told_in_words() {
    let words = |family| FamilySummary::for_family(family).to_string();
    assert_eq!(
        words(Family::Plain),
        "plain arrays: int8 multiplied one by one, bf16 widened to float32 while loading"
    );
    if Family::Avx2.is_available() {
        assert_eq!(
            words(Family::Avx2),
            "AVX2: int8 multiplied in 16 bits, bf16 widened to float32 while loading"
        );
    }
    if Family::Avx512.is_available() {
        let found = FamilySummary::for_family(Family::Avx512);
        assert_eq!(found.instructions.contains("BF16"), found.bf16.is_native());
        assert_eq!(found.instructions.contains("VNNI"), found.int8.is_native());
    }
}

#[test]
fn numbers_that_devices_do_not_have_are_told() {
    let none: [&str; 0] = [];
    let on_cores = "GPUs only; processors compute in f32";
    for name in ["f16", "tf32"] {
        assert_eq!(said(name, &named("cpu:0")), [format!("{name}: {on_cores}")]);
    }
    for name in ["f32", "auto"] {
        assert_eq!(said(name, &named("cpu:0")), none, "{name}");
        assert_eq!(said(name, &mixed()), none, "{name}");
    }
    let of_gpus = "int8: processors only; GPUs compute in tf32";
    assert!(said("int8", &mixed()).iter().any(|text| text == of_gpus));
    for name in ["int8", "bf16", "auto", "f16"] {
        let said = said(name, &named("sim:v100"));
        let same = "simulated devices have the same times and memory in every precision";
        assert_eq!(said, [format!("{name}: {same}")]);
    }
    assert_eq!(said("f32", &named("sim:v100")), none);
}

#[test]
fn kernels_without_instructions_are_named() {
    for (name, cores) in [("bf16", CpuPrecision::Bf16), ("int8", CpuPrecision::Int8)] {
        let found = said(name, &named("cpu:0"));
        let family = Family::best();
        assert_eq!(found.is_empty(), products(family, cores).is_native());
        let start = format!("{name}: this processor's kernels ({family}) have no instructions");
        assert!(
            found.iter().all(|text| text.starts_with(&start)),
            "{found:?}"
        );
    }
}
