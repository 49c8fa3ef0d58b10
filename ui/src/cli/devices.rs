//! `divisi devices`: the profiles of simulated devices, and where their numbers come from.

use std::sync::Arc;

use anyhow::{Result, anyhow};
use divisi::device::format_bytes;
use divisi::device::simulated::{DeviceProfile, built_in_profiles, find_profile};

use super::args::{DevicesArgs, Format};
use super::report::{print, print_json};

pub fn run(args: &DevicesArgs) -> Result<()> {
    let profiles = match &args.name {
        Some(name) => vec![find(name)?],
        None => built_in_profiles()
            .into_iter()
            .map(find)
            .collect::<Result<_>>()?,
    };
    match args.format {
        Format::Json => print_json(&profiles),
        Format::Text => {
            let texts: Vec<String> = match args.name {
                Some(_) => profiles.iter().map(|p| whole(p)).collect(),
                None => profiles.iter().map(|p| line(p)).collect(),
            };
            print(&texts.join("\n"))
        }
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
