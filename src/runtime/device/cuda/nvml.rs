//! How a GPU is doing, by the management library (NVML).
//!
//! The library is opened when it is first asked for; where it is missing, or does not know
//! the GPU, nothing is known. It finds a GPU by its place on the bus: it numbers them
//! otherwise than the driver does, and knows nothing of `CUDA_VISIBLE_DEVICES`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

use nvml_wrapper::Nvml;
use nvml_wrapper::enum_wrappers::device::TemperatureSensor;
use nvml_wrapper::enums::device::UsedGpuMemory;
use nvml_wrapper::struct_wrappers::device::ProcessInfo;

use crate::device::gpu::{Gauges, Sampler, others_bytes};
use crate::lock::lock;

/// One a GPU that anybody asked for: a GPU opened again is asked by the same thread.
static SAMPLERS: Mutex<Option<HashMap<String, Arc<Sampler>>>> = Mutex::new(None);

static LIBRARY: OnceLock<Option<Nvml>> = OnceLock::new();

/// How the GPU at `bus_id` (`0000:3b:00.0`) is doing: read in a thread of its own, at most
/// once a second.
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

/// None where there is no library, or it does not know the GPU.
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

/// Memory of other processes, those that draw among them.
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
