//! What this machine has to compute on: cores, memory, GPUs; or why no GPU.

use divisi::device::gpu::{self, Found, Gauges, GpuError, GpuInfo};
use divisi::device::{Devices, Host, format_bytes};
use serde::Serialize;

/// All of it.
#[derive(Debug, Serialize)]
pub struct MachineReport {
    cores: Vec<usize>,
    /// Bytes of the host's memory that serving may book.
    memory_bytes: u64,
    gpus: Vec<GpuRow>,
    /// Why there are no GPUs to be found.
    #[serde(skip_serializing_if = "Option::is_none")]
    no_gpus: Option<String>,
    /// What is computed on where no devices are named.
    default: Vec<String>,
}

/// One GPU.
#[derive(Debug, Serialize)]
pub struct GpuRow {
    name: String,
    #[serde(flatten)]
    info: Option<GpuInfo>,
    #[serde(flatten)]
    gauges: Gauges,
    /// Why it cannot be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

impl MachineReport {
    /// Looks around; GPUs are opened to ask how they are doing.
    pub fn look(host: &Host, found: Result<Found, GpuError>) -> Self {
        let (default, _) = Devices::of_machine(host, found.clone());
        let (found, no_gpus) = match found {
            Ok(found) => (found, None),
            Err(why) => (Found::default(), Some(why.to_string())),
        };
        MachineReport {
            cores: host.cores.clone(),
            memory_bytes: host.memory_bytes,
            gpus: rows(found),
            no_gpus,
            default: default.names(),
        }
    }

    /// As lines.
    pub fn text(&self) -> String {
        let cores = self.cores.len();
        let s = if cores == 1 { "" } else { "s" };
        let memory = format_bytes(self.memory_bytes);
        let mut lines = vec![format!("{:14} {memory:>8}  {cores} core{s}", "cpu")];
        lines.extend(self.gpus.iter().map(GpuRow::line));
        lines.extend(self.no_gpus.as_ref().map(|why| format!("no GPU: {why}")));
        lines.push(format!("by default: {}", self.default.join(", ")));
        lines.join("\n")
    }
}

/// GPUs in the order of their numbers.
fn rows(found: Found) -> Vec<GpuRow> {
    let usable = found.usable.into_iter();
    let usable = usable.map(|info| (info.index, GpuRow::usable(info)));
    let unusable = found.unusable.into_iter();
    let unusable = unusable.map(|(index, why)| (index, GpuRow::unusable(index, &why)));
    let mut rows: Vec<(usize, GpuRow)> = usable.chain(unusable).collect();
    rows.sort_by_key(|(index, _)| *index);
    rows.into_iter().map(|(_, row)| row).collect()
}

impl GpuRow {
    /// One that can be used, unless it cannot be opened just now.
    pub fn usable(info: GpuInfo) -> Self {
        let opened = gpu::open(info.index);
        GpuRow {
            name: format!("cuda:{}", info.index),
            info: Some(info),
            gauges: opened.as_ref().map(|g| g.gauges()).unwrap_or_default(),
            problem: opened.err().map(|why| why.to_string()),
        }
    }

    fn unusable(index: usize, why: &GpuError) -> Self {
        GpuRow {
            name: format!("cuda:{index}"),
            info: None,
            gauges: Gauges::default(),
            problem: Some(why.to_string()),
        }
    }

    /// As a line.
    pub fn line(&self) -> String {
        let free = self.info.as_ref().map(|i| format_bytes(i.free_bytes));
        let free = free.unwrap_or_default();
        let mut said: Vec<String> = self.info.iter().flat_map(facts).collect();
        said.extend(doing(&self.gauges));
        said.extend(self.problem.clone());
        format!("{:14} {free:>8}  {}", self.name, said.join(" · "))
    }
}

/// What it is.
fn facts(info: &GpuInfo) -> Vec<String> {
    vec![
        info.name.clone(),
        format!("{} in all", format_bytes(info.memory_bytes)),
        format!("compute {}.{}", info.capability.0, info.capability.1),
        format!("{} multiprocessors", info.multiprocessors),
        format!("CUDA {}.{}", info.driver.0, info.driver.1),
    ]
}

/// How it is doing.
fn doing(gauges: &Gauges) -> Vec<String> {
    let busy = gauges.busy.map(|b| format!("{:.0} % busy", b * 100.0));
    let warm = gauges.temperature.map(|t| format!("{t} °C"));
    let power = gauges.power.map(|w| format!("{w:.0} W"));
    let others = gauges.others_bytes.filter(|b| *b > 0);
    let others = others.map(|b| format!("others use {}", format_bytes(b)));
    [busy, warm, power, others].into_iter().flatten().collect()
}
