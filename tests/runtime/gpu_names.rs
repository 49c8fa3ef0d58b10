//! GPUs as named and by default, beside partitions and simulated devices.

use std::cell::RefCell;

use divisi_runtime::device::gpu::{FoundGpus, GpuError, GpuInfo};
use divisi_runtime::device::{DeviceError, DeviceIndex, Devices, Host, Partitioning};

use crate::devices::h100;

fn host() -> Host {
    Host {
        cores: vec![0, 1],
        memory_bytes: 1 << 30,
    }
}

/// Two GPUs that can be used, the first and the last of four.
fn four() -> FoundGpus {
    FoundGpus {
        usable: vec![h100(0, 64 << 30), h100(3, 32 << 30)],
        unusable: vec![
            (1, GpuError::Busy("exclusive, used by process 7".into())),
            (
                2,
                GpuError::TooOld {
                    index: 2,
                    found: (6, 1),
                    expected: (7, 0),
                },
            ),
        ],
    }
}

fn named(list: &str, found: Result<FoundGpus, GpuError>) -> Result<Devices, DeviceError> {
    Devices::named_with(&[list.to_owned()], &host(), |_| found.clone())
}

#[test]
fn gpus_stand_beside_others_in_the_order_they_are_named() {
    for (list, expected) in [
        ("cuda:0", vec!["cuda:0"]),
        ("cuda", vec!["cuda:0", "cuda:3"]),
        ("cuda:3-3,cpu:1", vec!["cuda:3", "cpu:1"]),
        (
            "cpu:0,cuda:3,sim:v100",
            vec!["cpu:0", "cuda:3", "sim:v100:0"],
        ),
    ] {
        assert_eq!(named(list, Ok(four())).expect(list).names(), expected);
    }
}

#[test]
fn each_gpu_has_its_own_memory() {
    let devices = named("cpu:0,cuda,cpu:1", Ok(four())).expect("devices");
    let memory = |d: usize| devices.memory_bytes(DeviceIndex::new(d));
    assert_eq!(
        [0, 1, 2, 3].map(memory),
        [1 << 30, 64 << 30, 32 << 30, 1 << 30]
    );
    let space = |d: usize| devices.get(DeviceIndex::new(d)).space;
    assert_eq!(space(0), space(3));
    assert_eq!(devices.spaces().len(), 3);
    assert!(devices.has_gpu() && !devices.is_simulated());
    let kind = |d: usize| &devices.get(DeviceIndex::new(d)).kind;
    assert!(kind(1).is_accelerator() && kind(1).is_concurrent());
    assert!(kind(1).is_like(kind(2)) && kind(0).is_like(kind(3)));
    assert!(!kind(0).is_like(kind(1)), "one thread each, and yet");
}

#[test]
fn what_cannot_be_used_says_why() {
    let old = GpuError::OldDriver {
        found: (11, 4),
        expected: (12, 0),
    };
    for (list, found, expected) in [
        (
            "cuda:0",
            Err(GpuError::NotBuilt),
            "device `cuda:0`: this build has no support for NVIDIA GPUs: build it with `--features cuda`",
        ),
        (
            "cuda",
            Err(GpuError::NoDriver("libcuda.so.1 is not there".into())),
            "device `cuda`: no NVIDIA driver: libcuda.so.1 is not there",
        ),
        (
            "cuda:1",
            Err(old),
            "device `cuda:1`: the NVIDIA driver supports CUDA 11.4, expected 12.0 or newer: update the driver",
        ),
        (
            "cuda:4",
            Ok(four()),
            "device `cuda:4`: GPU 4 does not exist; expected 0 to 3",
        ),
        (
            "cuda:0-1",
            Ok(four()),
            "device `cuda:0-1`: the GPU is in use: exclusive, used by process 7",
        ),
        (
            "cuda:2",
            Ok(four()),
            "device `cuda:2`: GPU 2 has compute capability 6.1, expected 7.0 or newer",
        ),
        (
            "cuda",
            Ok(FoundGpus::default()),
            "device `cuda`: GPU 0 does not exist; no GPU was found",
        ),
        ("cuda,cuda:3", Ok(four()), "device `cuda:3` is named twice"),
    ] {
        let error = named(list, found).expect_err(list);
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn nonsense_is_no_gpu() {
    for list in [
        "cuda:",
        "cuda:x",
        "cuda:1-0",
        "cuda:-1",
        "cuda:0-99999",
        "cuda0",
        "gpu:0",
    ] {
        let error = named(list, Ok(four())).expect_err(list);
        assert!(matches!(error, DeviceError::Syntax(_)), "{list}: {error}");
    }
}

#[test]
fn no_gpu_is_touched_that_is_not_named() {
    let asked = RefCell::new(Vec::new());
    let look = |number| {
        asked.borrow_mut().push(number);
        Ok(four())
    };
    let touched = |list: &str| {
        asked.borrow_mut().clear();
        Devices::named_with(&[list.to_owned()], &host(), look).expect(list);
        asked.borrow().clone()
    };
    assert_eq!(touched("cpu:0,sim:v100"), []);
    assert_eq!(touched("cuda:0,cpu:0,cuda:3"), [Some(0), Some(3)]);
    assert_eq!(touched("cuda"), [None]);
}

#[test]
fn by_default_gpus_that_can_be_used_stand_before_partitions() {
    let names = Devices::default_with(&host(), &four()).names();
    assert_eq!(names, ["cuda:0", "cuda:3", "cpu:0", "cpu:1"]);
    let alone = Devices::default_with(&host(), &FoundGpus::default());
    assert_eq!(alone, Devices::default_of(&host()));
}

#[test]
fn gpus_are_alike_where_their_models_are() {
    let (one, other) = (h100(0, 1), h100(5, 2));
    assert!(one.is_like(&other), "neither number nor free memory counts");
    let smaller = GpuInfo {
        multiprocessors: 114,
        ..one.clone()
    };
    assert!(!one.is_like(&smaller));
}

#[test]
fn a_gpu_that_cannot_be_used_is_a_notice_by_default() {
    let of = |found| Devices::discover(&host(), found, &Partitioning::PerCore);
    let (devices, notices) = of(Ok(four()));
    assert_eq!(devices.count(), 4);
    assert_eq!(
        notices,
        [
            "cuda:1 is not used: the GPU is in use: exclusive, used by process 7",
            "cuda:2 is not used: GPU 2 has compute capability 6.1, expected 7.0 or newer",
        ]
    );
    for silent in [GpuError::NotBuilt, GpuError::NoDriver("none".into())] {
        assert_eq!(of(Err(silent)), (Devices::default_of(&host()), Vec::new()));
    }
    let (_, notices) = of(Err(GpuError::Other("odd".into())));
    assert_eq!(notices, ["GPUs are not used: GPU: odd"]);
}
