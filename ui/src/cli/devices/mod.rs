//! `divisi devices`: what this machine has, and the profiles of simulated devices with
//! where their numbers come from.

mod machine;

use std::sync::Arc;

use anyhow::{Result, anyhow, bail};
use divisi::device::gpu::find_gpus;
use divisi::device::simulated::{DeviceProfile, built_in_profiles, find_profile};
use divisi::device::{Devices, Host, format_bytes};
use serde::Serialize;

use super::args::{DevicesArgs, OutputFormat};
use super::report::{print, print_json};
use machine::{GpuRow, MachineReport};

#[derive(Serialize)]
struct DevicesReport {
    machine: MachineReport,
    profiles: Vec<Arc<DeviceProfile>>,
}

pub fn run(args: &DevicesArgs) -> Result<()> {
    match args.name.as_deref() {
        None => all(args.format),
        Some(name) if name.starts_with("cuda") => gpus(name, args.format),
        Some(name) if name.starts_with("cpu:") => {
            bail!("a partition has nothing to tell; `divisi devices` lists cores and memory")
        }
        Some(name) => profile(&find(name)?, args.format),
    }
}

fn all(format: OutputFormat) -> Result<()> {
    let machine = MachineReport::look(&Host::discover(), find_gpus());
    let profiles = built_in_profiles().into_iter().map(find);
    let profiles: Vec<Arc<DeviceProfile>> = profiles.collect::<Result<_>>()?;
    if format == OutputFormat::Json {
        return print_json(&DevicesReport { machine, profiles });
    }
    let lines: Vec<String> = profiles.iter().map(|p| line(p)).collect();
    print(&format!("{}\n\n{}", machine.text(), lines.join("\n")))
}

/// The GPUs that `name` stands for.
fn gpus(name: &str, format: OutputFormat) -> Result<()> {
    let devices = Devices::named(&[name.to_owned()], &Host::discover())?;
    let infos = devices.iter().filter_map(|d| d.kind.gpu());
    let rows: Vec<GpuRow> = infos.map(|info| GpuRow::usable((**info).clone())).collect();
    if format == OutputFormat::Json {
        return print_json(&rows);
    }
    let lines: Vec<String> = rows.iter().map(GpuRow::line).collect();
    print(&lines.join("\n"))
}

fn profile(profile: &Arc<DeviceProfile>, format: OutputFormat) -> Result<()> {
    match format {
        OutputFormat::Json => print_json(&[profile]),
        OutputFormat::Text => print(&whole(profile)),
    }
}

fn find(name: &str) -> Result<Arc<DeviceProfile>> {
    find_profile(bare(name)).map_err(|why| anyhow!("{why}"))
}

/// A profile's name as it is without the prefix that makes a device of it.
pub fn bare(name: &str) -> &str {
    name.strip_prefix("sim:").unwrap_or(name)
}

fn line(profile: &DeviceProfile) -> String {
    let memory = format_bytes(profile.memory_bytes);
    format!("sim:{:<10} {memory:>8}  {}", profile.name, profile.about)
}

fn whole(profile: &DeviceProfile) -> String {
    let mut text = format!("sim:{} · {}\n", profile.name, profile.about);
    for origin in &profile.origins {
        let from = origin.from.name();
        text += &format!(
            "\n{:<21} {:>12}  {from:<10} {}",
            origin.field, origin.value, origin.note
        );
    }
    text
}
