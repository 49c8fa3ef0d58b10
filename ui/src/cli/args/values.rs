//! Values that are written on the command line.

use std::num::NonZeroU32;
use std::str::FromStr;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use divisi::compute::Family;
use divisi::compute::gpu::Precision;
use divisi::device::parse_bytes;
use divisi::network::Shape;

/// A device's bound on the samples it has alive.
#[derive(Clone, Debug)]
pub struct MaxInf {
    pub device: String,
    pub samples: NonZeroU32,
}

impl FromStr for MaxInf {
    type Err = String;

    /// `sim:v100:0=64`
    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.rsplit_once('=');
        let parsed = parts.and_then(|(device, samples)| {
            Some(MaxInf {
                device: device.to_owned(),
                samples: samples.parse().ok()?,
            })
        });
        parsed
            .ok_or_else(|| format!("expected DEVICE=SAMPLES with SAMPLES above 0, found `{text}`"))
    }
}

pub(super) fn parse_millis(text: &str) -> Result<Duration, String> {
    let millis = text.parse::<f64>().ok();
    let millis = millis.filter(|ms| (0.001..=3_600_000.0).contains(ms));
    let millis = millis.map(|ms| Duration::from_secs_f64(ms / 1e3));
    millis.ok_or_else(|| format!("expected milliseconds, 0.001 to 3600000, found `{text}`"))
}

/// A size, or none at all.
pub(super) fn parse_spare(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let number = text[..text.len() - unit.len()].parse::<f64>();
    if number == Ok(0.0) && parse_bytes(&format!("1{unit}")).is_ok() {
        return Ok(0);
    }
    parse_bytes(text)
}

pub(super) fn parse_rate(text: &str) -> Result<f64, String> {
    let rate = text
        .parse::<f64>()
        .ok()
        .filter(|r| (1e-3..=1e7).contains(r));
    rate.ok_or_else(|| format!("expected samples a second, 0.001 to 10000000, found `{text}`"))
}

pub(super) fn at_least_one(text: &str) -> Result<usize, String> {
    text.parse()
        .ok()
        .filter(|n| (1..=1 << 30).contains(n))
        .ok_or_else(|| {
            format!(
                "expected a whole number from 1 to {}, found `{text}`",
                1 << 30
            )
        })
}

pub(super) fn parse_seconds(text: &str) -> Result<Duration, String> {
    let number = text.strip_suffix('s').unwrap_or(text).trim().parse::<f64>();
    let seconds = number.ok().filter(|s| (0.1..=86_400.0).contains(s));
    let seconds = seconds.map(Duration::from_secs_f64);
    seconds.ok_or_else(|| format!("expected seconds, 0.1 to 86400, found `{text}`"))
}

/// `3,224,224` or `64`.
pub(super) fn parse_shape(text: &str) -> Result<Shape, String> {
    let dims: Option<Vec<usize>> = text.split(',').map(|d| d.trim().parse().ok()).collect();
    let dims = dims.ok_or_else(|| {
        format!("expected channels,height,width or features, as whole numbers, found `{text}`")
    })?;
    Shape::try_from(dims)
}

/// A precision; completions know the names.
pub(super) fn parse_precision() -> impl TypedValueParser<Value = Precision> {
    let names = Precision::ALL.map(Precision::name);
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Precision>())
}

/// Kernels that this processor can run.
pub(super) fn parse_family(text: &str) -> Result<Family, String> {
    let known = Family::ALL.map(|(_, name)| name).join(", ");
    match Family::named(text) {
        Some(family) if family.is_available() => Ok(family),
        Some(_) => Err(format!("this processor cannot run the kernels `{text}`")),
        None => Err(format!("expected one of {known}, found `{text}`")),
    }
}
