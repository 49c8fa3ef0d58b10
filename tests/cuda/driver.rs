//! The driver behind the traits of `device::gpu`.

use std::sync::Arc;
use std::time::Instant;

use divisi_runtime::device::gpu::{DeviceSlice, GpuError, find_gpus, open};

use crate::bench::{beside_others, gpu, upload};

#[test]
fn gpus_are_found_and_opened_once() {
    let _others = beside_others();
    let found = find_gpus().expect("a driver");
    assert!(!found.usable.is_empty(), "{found:?}");
    let info = &found.usable[0];
    assert!(info.free_bytes > 0 && info.free_bytes <= info.memory_bytes);
    let (first, second) = (gpu(), gpu());
    assert!(Arc::ptr_eq(&first, &second));
    let beyond = open(4096).expect_err("there are fewer");
    assert!(
        matches!(beyond, GpuError::Absent { index: 4096, .. }),
        "{beyond}"
    );
}

#[test]
fn what_is_copied_in_comes_out() {
    let _others = beside_others();
    let gpu = gpu();
    let values: Vec<f32> = (0..1000).map(|i| i as f32).collect();
    let memory = upload(&gpu, &values);
    let block = gpu.pinned(500).expect("pinned memory");
    let stream = gpu.stream().expect("stream");
    let part = memory.part(4 * 250, 4 * 500);
    stream
        .copy_out(&part, &block.slice(0, 500))
        .expect("queued");
    stream.record().expect("event").wait().expect("done");
    assert_eq!(block.values(), &values[250..750]);
}

#[test]
fn a_copy_of_another_length_is_refused() {
    let _others = beside_others();
    let gpu = gpu();
    let memory = DeviceSlice::whole(gpu.allocate(64).expect("memory"));
    let block = gpu.pinned(8).expect("pinned memory");
    let stream = gpu.stream().expect("stream");
    let refused = stream.copy_in(&block.slice(0, 8), &memory);
    assert!(matches!(refused, Err(GpuError::Other(_))), "{refused:?}");
}

#[test]
fn events_happen_in_order_on_the_hosts_clock() {
    let _others = beside_others();
    let gpu = gpu();
    let (copies, other) = (gpu.stream().expect("stream"), gpu.stream().expect("stream"));
    let memory = DeviceSlice::whole(gpu.allocate(4 << 20).expect("memory"));
    let block = gpu.pinned(1 << 20).expect("pinned memory");
    let start = Instant::now();
    let first = copies.record().expect("event");
    copies
        .copy_in(&block.slice(0, 1 << 20), &memory)
        .expect("queued");
    let second = copies.record().expect("event");
    other.wait(second.as_ref()).expect("ordered");
    let third = other.record().expect("event");
    third.wait().expect("done");
    let times = [&first, &second, &third].map(|e| e.happened().expect("a time"));
    assert!(times.is_sorted(), "{times:?}");
    // The base's own error is some tens of microseconds.
    let slack = std::time::Duration::from_millis(2);
    assert!(times[0] + slack >= start && times[2] <= Instant::now() + slack);
}

#[test]
fn memory_comes_back_when_its_last_holder_drops_it() {
    let _others = beside_others();
    let gpu = gpu();
    // Other tests allocate at the same time, less than this in all.
    let large = (gpu.usage().expect("usage").free / 2).min(3 << 30) as usize;
    let before = gpu.usage().expect("usage").used;
    let memory = gpu.allocate(large).expect("memory");
    assert!(
        gpu.usage().expect("usage").used
            >= before.saturating_sub(large as u64 / 2) + large as u64 / 2
    );
    drop(memory);
    gpu.stream().expect("stream").synchronize().expect("done");
    let again = gpu.allocate(large).expect("it was given back");
    drop(again);
}

#[test]
fn more_than_there_is_is_refused_with_the_size() {
    let _others = beside_others();
    let gpu = gpu();
    let beyond = gpu.info().memory_bytes as usize * 4;
    let refused = gpu.allocate(beyond).expect_err("too much");
    assert_eq!(refused, GpuError::OutOfMemory(beyond as u64));
}
