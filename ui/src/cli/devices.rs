//! `divisi devices`: this machine's devices, and the profiles of simulated devices with the sources
//! of their numbers. Measures profiles of this machine's devices.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Result, anyhow, bail};
use divisi_runtime::compute::{Family, FamilySummary};
use divisi_runtime::device::gpu::{self, FoundGpus, Gauges, GpuError, GpuInfo, find_gpus};
use divisi_runtime::device::simulated::{DeviceProfile, built_in_profiles, find_profile};
use divisi_runtime::device::{Devices, Host, NamedKind, Partitioning, format_bytes};
use divisi_runtime::words::counted;
use serde::Serialize;

use super::device_profile::{ProfileArgs, write_profile};
use super::reporting::{Report, ReportOptions};
use super::tables::lines;
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
    let options = &args.report;
    if let Some(device) = args.profile.profile.as_deref() {
        let written = write_profile(device, &args.profile, options.force)?;
        return options.write(&[written]);
    }
    let Some(name) = args.name.as_deref() else {
        return options.write(&all()?);
    };
    match NamedKind::from_name(name) {
        Some(NamedKind::Gpu) => options.write(&gpus(name)?),
        Some(NamedKind::Partition(_)) => {
            bail!("no report for one CPU partition; `divisi devices` lists cores and memory")
        }
        Some(NamedKind::Simulated(_)) | None => options.write(&[find(name)?]),
    }
}

fn all() -> Result<DevicesReport> {
    let profiles = built_in_profiles().into_iter().map(find);
    Ok(DevicesReport {
        machine: MachineReport::collect(&Host::discover(), find_gpus()),
        profiles: profiles.collect::<Result<_>>()?,
    })
}

/// Returns the GPUs named by `name`.
fn gpus(name: &str) -> Result<Vec<GpuRow>> {
    let devices = Devices::from_names(&[name.to_owned()], &Host::discover())?;
    let infos = devices.iter().filter_map(|d| d.kind.gpu());
    let rows = infos.map(|info| GpuRow::usable((**info).clone()));
    Ok(rows.collect())
}

impl Report for DevicesReport {
    fn text(&self) -> String {
        let profiles = self.profiles.iter().map(|profile| Some(line(profile)));
        format!("{}\n\n{}", self.machine.text(), lines(profiles))
    }
}

impl Report for Vec<GpuRow> {
    fn text(&self) -> String {
        lines(self.iter().map(|row| Some(row.line())))
    }
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

impl Report for [Arc<DeviceProfile>; 1] {
    fn text(&self) -> String {
        let [profile] = self;
        let remark = profile.remark().map(|remark| format!("{remark}\n"));
        let origins = profile.origins.iter().map(|origin| {
            let (field, value, from) = (origin.field, &origin.value, origin.from.name());
            format!("\n{field:<21} {value:>12}  {from:<10} {}", origin.note)
        });
        let mut text = format!("sim:{} · {}\n", profile.name, profile.about);
        text.extend(remark.into_iter().chain(origins));
        text
    }
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
    fn text(&self) -> String {
        let (cores, memory) = (
            counted(self.cores.len(), "core"),
            format_bytes(self.memory_bytes),
        );
        let kernels = &self.kernels;
        let (default, reason) = (self.default.join(", "), &self.default_reason);
        let host = [
            format!("{:14} {memory:>8}  {cores}", "cpu"),
            format!("{:14} {:>8}  {kernels}", "cpu kernels", kernels.family),
        ];
        let gpus = self.gpus.iter().map(GpuRow::line);
        let none = self.no_gpus.as_ref().map(|why| format!("no GPU: {why}"));
        let default = format!("default: {default} ({reason})");
        lines(
            host.into_iter()
                .chain(gpus)
                .chain(none)
                .chain([default])
                .map(Some),
        )
    }
}

/// Returns the GPUs in the order of their indices.
fn rows(found: FoundGpus) -> Vec<GpuRow> {
    let usable = found.usable.into_iter();
    let usable = usable.map(|info| (info.index, GpuRow::usable(info)));
    let unusable = found.unusable.into_iter();
    let unusable = unusable.map(|(index, why)| (index, GpuRow::unusable(index, &why)));
    let rows: BTreeMap<usize, GpuRow> = usable.chain(unusable).collect();
    rows.into_values().collect()
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
