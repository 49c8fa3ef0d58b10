//! `divisi devices --profile`: measures a device of this machine and writes a profile, with which it
//! can be simulated.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use divisi_engine::search::{FittedLaw, measure_law, processor};
use divisi_model::ensemble::{Ensemble, Files};
use divisi_runtime::device::host::HostWatch;
use divisi_runtime::device::simulated::{DeviceClass, DeviceProfile, Law, Origin, OriginKind};
use divisi_runtime::device::{Computation, Device, DeviceKind, Devices, Host};

use super::args::parse_price;
use super::output::{OutputFile, note};
use super::search;

/// The options of a profile to write.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ProfileArgs {
    /// Measure this device (cpu:0, cpu:0-3, cuda:0) and write its profile to --out
    #[arg(long, value_name = "DEVICE", requires = "out", conflicts_with = "name")]
    pub profile: Option<String>,
    /// File of the measured profile, such as my_gpu.toml
    #[arg(long, value_name = "FILE", requires = "profile")]
    out: Option<PathBuf>,
    /// Price of the measured device per hour (default: unknown)
    #[arg(long, value_name = "PRICE", requires = "profile", value_parser = parse_price)]
    price: Option<f64>,
}

/// Small networks, whose operations take less time than their start.
const SMALL: &[u8] = include_bytes!("probes/small.toml");

/// Networks for images of the usual size: large and small operations, and many of them. The
/// perceptron reads weights and computes little.
const IMAGES: &[u8] = include_bytes!("probes/images.toml");

const PROBES: [Files; 2] = [
    Files::Embedded {
        name: "small",
        files: &[("ensemble.toml", SMALL)],
    },
    Files::Embedded {
        name: "images",
        files: &[("ensemble.toml", IMAGES)],
    },
];

/// Measures the device called `name` and writes its profile. Returns the profile.
pub(crate) fn write_profile(
    name: &str,
    args: &ProfileArgs,
    force: bool,
) -> Result<Arc<DeviceProfile>> {
    let path = args
        .out
        .as_deref()
        .context("--profile requires --out FILE")?;
    let output = OutputFile::new(path, force)?;
    let devices = one_device(name)?;
    let (at, device) = devices.enumerate().next().context("--profile: no device")?;
    let host = HostWatch::start();
    let law = measured(&devices, starting_law(&device.kind))?;
    let disturbed = disturbed_by(&host, device);
    let profile = DeviceProfile::from_origins(
        &profile_name(path),
        class(&device.kind),
        &format!("{}{disturbed}", about(device)),
        &origins(device, devices.memory_bytes(at), &law, args.price),
    )?;
    output.write(&profile.to_text())?;
    Ok(Arc::new(profile))
}

/// Returns the cores of a partition, or `None` for a GPU, which any core feeds.
fn cores_of(device: &Device) -> Option<&[usize]> {
    match device.kind.computation() {
        Computation::Kernels(cores) => Some(cores),
        _ => None,
    }
}

/// Returns the disturbances of the measurement of a device as a part of its description, empty if
/// there was none, after a note for the user.
fn disturbed_by(host: &HostWatch, device: &Device) -> String {
    let load = host.end();
    let causes = load.map_or_else(Vec::new, |load| load.disturbances(cores_of(device)));
    if causes.is_empty() {
        return String::new();
    }
    let causes: Vec<String> = causes.iter().map(ToString::to_string).collect();
    let causes = causes.join(", ");
    note(&format!(
        "divisi: {causes}: the device is faster than its profile; measure again on a quiet machine"
    ));
    format!(", while {causes}")
}

fn one_device(name: &str) -> Result<Devices> {
    let devices = Devices::from_names(&[name.to_owned()], &Host::discover());
    let devices = devices.map_err(|why| anyhow!("--profile: {why}"))?;
    if devices.count() != 1 || devices.is_simulated() {
        bail!(
            "--profile {name}: expected one device of this machine, such as cpu:0 or cuda:0, \
             found {}",
            devices.names().join(", ")
        );
    }
    Ok(devices)
}

/// Measures in its own thread and shows the progress.
fn measured(devices: &Devices, start: Law) -> Result<FittedLaw> {
    let probes = PROBES.map(|files| Ensemble::read(&files).map(Arc::new));
    let probes = probes.into_iter().collect::<Result<Vec<_>, _>>()?;
    let control = search::control();
    let far = |_| {
        let (known, needed) = control.progress().profiles;
        format!("measuring network {} of {needed}", (known + 1).min(needed))
    };
    let work = || measure_law(&probes, devices, start, &control);
    Ok(search::watched("measuring", work, far)?)
}

/// Returns the name of a profile in `file`.
fn profile_name(file: &Path) -> String {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let plain = |c: char| match c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') {
        true => c,
        false => '-',
    };
    let name: String = stem.chars().map(plain).take(32).collect();
    match name.is_empty() {
        true => "device".into(),
        false => name,
    }
}

fn class(kind: &DeviceKind) -> DeviceClass {
    match kind.is_concurrent() {
        true => DeviceClass::Gpu,
        false => DeviceClass::Cpu,
    }
}

fn about(device: &Device) -> String {
    let hardware = match device.kind.gpu() {
        Some(info) => info.name.clone(),
        None => {
            let processor = processor();
            let model = processor.rsplit(": ").next().unwrap_or_default();
            match device.kind.threads() {
                1 => format!("one core of {model}"),
                cores => format!("{cores} cores of {model}"),
            }
        }
    };
    format!(
        "{hardware}, measured by divisi devices --profile {}",
        device.name
    )
}

/// Returns the parts of the law that are not measured, with a first guess of the others.
fn starting_law(kind: &DeviceKind) -> Law {
    let gpu = kind.gpu();
    let units = gpu.map_or(kind.threads(), |info| info.multiprocessors as usize);
    Law {
        units: u32::try_from(units).unwrap_or(u32::MAX).max(1),
        rate: if gpu.is_some() {
            1e13
        } else {
            5e10 * units as f64
        },
        fuses: true,
        activation_bandwidth: if gpu.is_some() { 5e11 } else { 1e10 },
        weight_bandwidth: if gpu.is_some() { 1e12 } else { 1e10 },
        // A partition runs one operation at a time on all of its cores.
        grain: if gpu.is_some() { 10e-6 } else { 0.0 },
        launch: 2e-6,
        // A partition reads samples in place.
        copy_bandwidth: if gpu.is_some() { 25e9 } else { 1e15 },
        copy_latency: if gpu.is_some() { 8e-6 } else { 0.0 },
    }
}

/// Returns the numbers of a profile with their origins.
fn origins(device: &Device, memory: u64, found: &FittedLaw, price: Option<f64>) -> Vec<Origin> {
    let memory = format!("{}MiB", memory >> 20);
    let serving = "memory that serving may use";
    let mut all = vec![
        origin("memory", memory, OriginKind::Measured, serving),
        assumed("worker_memory", "0MiB".into(), "workers share the process"),
    ];
    all.extend(fitted(found));
    all.extend(not_fitted(device, &found.law));
    all.extend(price.map(|p| assumed("price", p.to_string(), "given with --price, per hour")));
    all
}

/// Returns the numbers of a law that were fitted.
fn fitted(found: &FittedLaw) -> [Origin; 4] {
    let note = format!(
        "fitted to {} batches of {} networks; median error {:.0} %",
        found.batches,
        found.networks,
        100.0 * found.error
    );
    let law = &found.law;
    let numbers = [
        ("rate", law.rate),
        ("activation_bandwidth", law.activation_bandwidth),
        ("weight_bandwidth", law.weight_bandwidth),
        ("launch", law.launch),
    ];
    numbers.map(|(field, value)| origin(field, number(value), OriginKind::Measured, &note))
}

/// Returns the other numbers of a law.
fn not_fitted(device: &Device, law: &Law) -> [Origin; 5] {
    let (units, copies) = match device.kind.gpu() {
        Some(_) => ("multiprocessors, by the driver", "PCIe 4.0 x16"),
        None => (
            "cores of the partition",
            "a partition reads samples in place",
        ),
    };
    let grain = "seconds below which an operation leaves units free";
    [
        origin("units", law.units.to_string(), OriginKind::Measured, units),
        assumed("fuses", law.fuses.to_string(), "Divisi fuses networks"),
        assumed("grain", number(law.grain), grain),
        assumed("copy_bandwidth", number(law.copy_bandwidth), copies),
        assumed("copy_latency", number(law.copy_latency), copies),
    ]
}

/// Returns a number with four digits.
fn number(value: f64) -> String {
    format!("{value:.3e}")
}

fn assumed(field: &'static str, value: String, note: &str) -> Origin {
    origin(field, value, OriginKind::Assumed, note)
}

fn origin(field: &'static str, value: String, from: OriginKind, note: &str) -> Origin {
    Origin {
        field,
        value,
        from,
        note: note.to_owned(),
    }
}
