//! ResNet50's profiles in INFaaS's published code: loading time, and latency as slope and intercept.

use divisi_modelless::variants::DeviceSharing;

use super::beds::{CPU, GPU, INFERENTIA, PaperVariant};

/// Money a gigabyte of memory and second (§6.2).
const CPU_GB: f64 = 0.031;
const INFERENTIA_GB: f64 = 0.190;
const GPU_GB: f64 = 0.498;

/// Made up: the memory of the TensorRT variant of batch 8, in gigabytes. Only ratios count.
const GPU_8_MEMORY: f64 = 1.5;
/// Fitted: so that two CPU instances, which 4 queries a second take with the slack, cost a 21.6th
/// of that; and the GPU variant of batch 1 21.3 times as much as they.
const CPU_MEMORY: f64 = GPU_8_MEMORY * GPU_GB / (21.6 * 2.0 * CPU_GB);
const GPU_1_MEMORY: f64 = GPU_8_MEMORY * 21.3 / 21.6;
/// Made up: as much as the CPU variant.
const INFERENTIA_MEMORY: f64 = CPU_MEMORY;

/// TensorFlow on 4 of 8 cores.
pub const CPU_TF: PaperVariant = PaperVariant {
    device: CPU,
    batch: 1,
    slope_ms: 186.35,
    intercept_ms: 57.81,
    loading_ms: 1589.3,
    memory_gb: CPU_MEMORY,
    thousandths: 500,
    sharing: DeviceSharing::Space,
    lanes: 1,
    cost: CPU_GB * CPU_MEMORY,
    accuracy: 0.749,
};

/// TensorRT for batches of 8.
pub const GPU_TRT_8: PaperVariant = PaperVariant {
    device: GPU,
    batch: 8,
    slope_ms: 1.1902,
    intercept_ms: 2.7069,
    loading_ms: 1146.4,
    memory_gb: GPU_8_MEMORY,
    thousandths: 250,
    cost: GPU_GB * GPU_8_MEMORY,
    ..CPU_TF
};

/// TensorRT for single queries: the same line at a batch of 1.
pub const GPU_TRT_1: PaperVariant = PaperVariant {
    batch: 1,
    memory_gb: GPU_1_MEMORY,
    cost: GPU_GB * GPU_1_MEMORY,
    ..GPU_TRT_8
};

/// One of the four cores of an accelerator.
pub const INFERENTIA_1: PaperVariant = PaperVariant {
    device: INFERENTIA,
    batch: 1,
    slope_ms: 22.0,
    intercept_ms: 0.0,
    loading_ms: 3554.8,
    memory_gb: INFERENTIA_MEMORY,
    thousandths: 250,
    cost: INFERENTIA_GB * INFERENTIA_MEMORY,
    ..CPU_TF
};
