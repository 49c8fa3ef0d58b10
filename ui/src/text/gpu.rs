//! How a GPU is doing, as its driver says, in words.

use divisi::device::gpu::Gauges;
use divisi::session::GpuView;

use super::format;

/// Busy, temperature, power; what is not known is left out.
pub(crate) fn pulse(gauges: &Gauges) -> Vec<String> {
    let busy = gauges
        .busy
        .map(|b| format!("driver {}", format::percent(b)));
    let warm = gauges.temperature.map(|t| format!("{t} °C"));
    let power = gauges.power.map(|w| format!("{w:.0} W"));
    [busy, warm, power].into_iter().flatten().collect()
}

/// Memory that other programs use.
pub(crate) fn others(gpu: &GpuView) -> Option<String> {
    let bytes = gpu.others()?;
    Some(format!("others {}", format::bytes(bytes).trim()))
}

/// Returns the memory in use as the driver counts it, in all and by this process, or `None` if
/// neither is known.
pub(crate) fn memory(gpu: &GpuView) -> Option<String> {
    let here = gpu
        .used
        .map(|b| format!("{} here", format::bytes(b).trim()));
    let all = gpu.gauges.memory_used;
    let all = all.map(|b| format!("in use {}", format::bytes(b).trim()));
    match (all, here) {
        (Some(all), Some(here)) => Some(format!("{all}, {here}")),
        (all, here) => all.or(here),
    }
}

/// All of it, for one line.
pub(crate) fn words(gpu: &GpuView) -> Vec<String> {
    let (major, minor) = gpu.capability;
    let mut words: Vec<String> = others(gpu).into_iter().collect();
    words.extend(pulse(&gpu.gauges).into_iter().map(|w| w.replace("  ", " ")));
    words.extend(memory(gpu));
    words.push(gpu.model.clone());
    words.push(format!("compute {major}.{minor}"));
    words
}
