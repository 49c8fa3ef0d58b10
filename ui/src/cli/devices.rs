//! `divisi devices`: this machine's devices, and the profiles of simulated devices with the sources
//! of their numbers. Measures profiles of this machine's devices.

use std::sync::Arc;

use anyhow::{Result, anyhow, bail};
use divisi_runtime::compute::{Family, FamilySummary};
use divisi_runtime::device::gpu::{self, FoundGpus, Gauges, GpuError, GpuInfo, find_gpus};
use divisi_runtime::device::simulated::{DeviceProfile, built_in_profiles, find_profile};
use divisi_runtime::device::{Devices, Host, NamedKind, Partitioning, format_bytes};
use serde::Serialize;

use super::device_profile::{ProfileArgs, write_profile};
use super::reporting::ReportOptions;
use crate::text::status::gpu_gauges;

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct DevicesArgs {
    /// One GPU (cuda:0), profile or .toml file, with or without `sim:` (default: this machine and
    /// all profiles)
    #[arg(value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    profile: ProfileArgs,
    #[command(flatten)]
    report: ReportOptions,
}

#[derive(Serialize)]
struct DevicesReport {
    machine: MachineReport,
    profiles: Vec<Arc<DeviceProfile>>,
}

pub(crate) fn run(args: &DevicesArgs) -> Result<()> {
    if let Some(device) = args.profile.profile.as_deref() {
        let written = write_profile(device, &args.profile, args.report.force)?;
        return profile(&written, &args.report);
    }
    let Some(name) = args.name.as_deref() else {
        return all(&args.report);
    };
    match NamedKind::from_name(name) {
        Some(NamedKind::Gpu) => gpus(name, &args.report),
        Some(NamedKind::Partition(_)) => {
            bail!("no report for one CPU partition; `divisi devices` lists cores and memory")
        }
        Some(NamedKind::Simulated(_)) | None => profile(&find(name)?, &args.report),
    }
}

fn all(options: &ReportOptions) -> Result<()> {
    let machine = MachineReport::collect(&Host::discover(), find_gpus());
    let profiles = built_in_profiles().into_iter().map(find);
    let profiles: Vec<Arc<DeviceProfile>> = profiles.collect::<Result<_>>()?;
    let lines: Vec<String> = profiles.iter().map(|p| line(p)).collect();
    let text = format!("{}\n\n{}", machine.text(), lines.join("\n"));
    options.write(&DevicesReport { machine, profiles }, &text)
}

/// Reports the GPUs named by `name`.
fn gpus(name: &str, options: &ReportOptions) -> Result<()> {
    let devices = Devices::from_names(&[name.to_owned()], &Host::discover())?;
    let infos = devices.iter().filter_map(|d| d.kind.gpu());
    let rows: Vec<GpuRow> = infos.map(|info| GpuRow::usable((**info).clone())).collect();
    let lines: Vec<String> = rows.iter().map(GpuRow::line).collect();
    options.write(&rows, &lines.join("\n"))
}

fn profile(profile: &Arc<DeviceProfile>, options: &ReportOptions) -> Result<()> {
    options.write(&[profile], &whole(profile))
}

fn find(name: &str) -> Result<Arc<DeviceProfile>> {
    find_profile(bare(name)).map_err(|why| anyhow!("{why}"))
}

/// Returns the name of a profile without the prefix `sim:`.
pub(crate) fn bare(name: &str) -> &str {
    match NamedKind::from_name(name) {
        Some(NamedKind::Simulated(profile)) => profile,
        _ => name,
    }
}

fn line(profile: &DeviceProfile) -> String {
    let memory = format_bytes(profile.memory_bytes);
    let remark = profile.remark().map(|remark| format!("; {remark}"));
    let (name, about) = (&profile.name, &profile.about);
    format!(
        "sim:{name:<10} {memory:>8}  {about}{}",
        remark.unwrap_or_default()
    )
}

fn whole(profile: &DeviceProfile) -> String {
    let mut text = format!("sim:{} · {}\n", profile.name, profile.about);
    text += &profile
        .remark()
        .map_or(String::new(), |remark| format!("{remark}\n"));
    for origin in &profile.origins {
        let from = origin.from.name();
        text += &format!(
            "\n{:<21} {:>12}  {from:<10} {}",
            origin.field, origin.value, origin.note
        );
    }
    text
}

/// The cores, the memory and the GPUs of this machine.
#[derive(Debug, Serialize)]
pub(crate) struct MachineReport {
    cores: Vec<usize>,
    /// Host memory available to serving, in bytes.
    memory_bytes: u64,
    /// The kernels in use, and their low-precision multiplications.
    kernels: FamilySummary,
    gpus: Vec<GpuRow>,
    /// The reason why no GPU was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    no_gpus: Option<String>,
    /// The default devices.
    default: Vec<String>,
    /// The reason for them.
    default_reason: String,
}

/// A GPU in a report.
#[derive(Debug, Serialize)]
pub(crate) struct GpuRow {
    name: String,
    #[serde(flatten)]
    info: Option<GpuInfo>,
    #[serde(flatten)]
    gauges: Gauges,
    /// The reason why it cannot be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

impl MachineReport {
    /// Collects the report. GPUs are opened to read their gauges.
    pub(crate) fn collect(host: &Host, found: Result<FoundGpus, GpuError>) -> Self {
        let partitioning = Partitioning::for_host(host);
        let (default, _) = Devices::discover(host, found.clone(), &partitioning);
        let (found, no_gpus) = match found {
            Ok(found) => (found, None),
            Err(why) => (FoundGpus::default(), Some(why.to_string())),
        };
        MachineReport {
            cores: host.cores.clone(),
            memory_bytes: host.memory_bytes,
            kernels: FamilySummary::for_family(Family::best()),
            gpus: rows(found),
            no_gpus,
            default: default.names(),
            default_reason: partitioning.to_string(),
        }
    }

    /// Returns the report as lines.
    pub(crate) fn text(&self) -> String {
        let cores = self.cores.len();
        let s = if cores == 1 { "" } else { "s" };
        let memory = format_bytes(self.memory_bytes);
        let mut lines = vec![format!("{:14} {memory:>8}  {cores} core{s}", "cpu")];
        let kernels = &self.kernels;
        lines.push(format!(
            "{:14} {:>8}  {kernels}",
            "cpu kernels", kernels.family
        ));
        lines.extend(self.gpus.iter().map(GpuRow::line));
        lines.extend(self.no_gpus.as_ref().map(|why| format!("no GPU: {why}")));
        let (default, reason) = (self.default.join(", "), &self.default_reason);
        lines.push(format!("default: {default} ({reason})"));
        lines.join("\n")
    }
}

/// Returns the GPUs in the order of their indices.
fn rows(found: FoundGpus) -> Vec<GpuRow> {
    let usable = found.usable.into_iter();
    let usable = usable.map(|info| (info.index, GpuRow::usable(info)));
    let unusable = found.unusable.into_iter();
    let unusable = unusable.map(|(index, why)| (index, GpuRow::unusable(index, &why)));
    let mut rows: Vec<(usize, GpuRow)> = usable.chain(unusable).collect();
    rows.sort_by_key(|(index, _)| *index);
    rows.into_iter().map(|(_, row)| row).collect()
}

impl GpuRow {
    /// Returns the row of a usable GPU. It has a problem if it cannot be opened now.
    pub(crate) fn usable(info: GpuInfo) -> Self {
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

    /// Returns the row as a line.
    pub(crate) fn line(&self) -> String {
        let free = self.info.as_ref().map(|i| format_bytes(i.free_bytes));
        let free = free.unwrap_or_default();
        let mut said: Vec<String> = self.info.iter().flat_map(facts).collect();
        said.extend(gpu_gauges(&self.gauges));
        said.extend(self.problem.clone());
        format!("{:14} {free:>8}  {}", self.name, said.join(" · "))
    }
}

/// The properties of a GPU.
fn facts(info: &GpuInfo) -> Vec<String> {
    vec![
        info.name.clone(),
        format!("{} total", format_bytes(info.memory_bytes)),
        format!("compute {}.{}", info.capability.0, info.capability.1),
        format!("{} multiprocessors", info.multiprocessors),
        format!("CUDA {}.{}", info.driver.0, info.driver.1),
    ]
}
