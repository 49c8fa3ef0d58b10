//! The gauges of GPUs, from the management library (NVML).
//!
//! The library is opened at the first use. If it is missing or does not know a GPU, the GPU's
//! gauges are unknown. A GPU is found by its bus address, because the library numbers GPUs in
//! another order than the driver and ignores `CUDA_VISIBLE_DEVICES`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

use nvml_wrapper::Nvml;
use nvml_wrapper::enum_wrappers::device::TemperatureSensor;
use nvml_wrapper::enums::device::UsedGpuMemory;
use nvml_wrapper::struct_wrappers::device::ProcessInfo;

use crate::device::gpu::{Gauges, Sampler, others_bytes};
use crate::lock::lock;

/// The samplers of all GPUs opened so far. A GPU that is opened again keeps its thread.
static SAMPLERS: Mutex<Option<HashMap<String, Arc<Sampler>>>> = Mutex::new(None);

static LIBRARY: OnceLock<Option<Nvml>> = OnceLock::new();

/// Returns the gauges of the GPU at `bus_id` (`0000:3b:00.0`), read in a thread of its own at
/// most once a second.
pub(super) fn gauges(bus_id: &str) -> Gauges {
    sampler(bus_id).latest()
}

fn sampler(bus_id: &str) -> Arc<Sampler> {
    let mut samplers = lock(&SAMPLERS);
    let samplers = samplers.get_or_insert_default();
    let known = samplers.entry(bus_id.to_owned());
    let sampler = known.or_insert_with(|| {
        let bus_id = bus_id.to_owned();
        Arc::new(Sampler::new(move || read(&bus_id).unwrap_or_default()))
    });
    Arc::clone(sampler)
}

/// Reads the gauges, or returns `None` if the library is missing or does not know the GPU.
fn read(bus_id: &str) -> Option<Gauges> {
    let library = LIBRARY.get_or_init(|| Nvml::init().ok()).as_ref()?;
    let gpu = library.device_by_pci_bus_id(bus_id).ok()?;
    let rates = gpu.utilization_rates().ok();
    Some(Gauges {
        busy: rates.map(|r| f64::from(r.gpu) / 100.0),
        temperature: gpu.temperature(TemperatureSensor::Gpu).ok(),
        power: gpu.power_usage().ok().map(|mw| f64::from(mw) / 1e3),
        memory_used: gpu.memory_info().ok().map(|m| m.used),
        others_bytes: others(&gpu),
    })
}

/// Returns the memory of other processes, including those that use graphics.
fn others(gpu: &nvml_wrapper::Device<'_>) -> Option<u64> {
    let mut processes = gpu.running_compute_processes().ok()?;
    processes.extend(gpu.running_graphics_processes().unwrap_or_default());
    let told: Vec<(u32, Option<u64>)> = processes.iter().map(told).collect();
    others_bytes(&told, std::process::id())
}

fn told(process: &ProcessInfo) -> (u32, Option<u64>) {
    let bytes = match process.used_gpu_memory {
        UsedGpuMemory::Used(bytes) => Some(bytes),
        UsedGpuMemory::Unavailable => None,
    };
    (process.pid, bytes)
}
