//! Built-in profiles, and profiles in files. A profile holds the numbers of the law, each with its
//! source.
//!
//! ```toml
//! name = "v100"
//! class = "gpu"            # its workers run concurrently; "cpu": one at a time
//! [memory]
//! value = "16GiB"
//! from = "assumed"         # or datasheet, paper, fitted, measured; the note names the measurements
//! note = "the paper does not give a size"
//! ```

use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use thiserror::Error;

use super::{DeviceClass, DeviceProfile, Law, Origin, OriginKind, ProfileError};
use crate::reading;
use crate::words::{self, parse_bytes};

const BUILT_IN: [(&str, &str); 9] = [
    ("v100", include_str!("profiles/v100.toml")),
    ("titan-rtx", include_str!("profiles/titan-rtx.toml")),
    ("l4", include_str!("profiles/l4.toml")),
    ("a10", include_str!("profiles/a10.toml")),
    ("a100", include_str!("profiles/a100.toml")),
    ("l40s", include_str!("profiles/l40s.toml")),
    ("h100", include_str!("profiles/h100.toml")),
    ("h200", include_str!("profiles/h200.toml")),
    ("cpu", include_str!("profiles/cpu.toml")),
];

/// Returns the names of the built-in profiles.
pub fn built_in_profiles() -> [&'static str; 9] {
    BUILT_IN.map(|(name, _)| name)
}

/// Returns the built-in profile called `name`, or the profile in the file of that name.
///
/// # Errors
/// The profile does not exist, its file cannot be read, or a field of it is wrong.
pub fn find_profile(name: &str) -> Result<Arc<DeviceProfile>, FindProfileError> {
    let built_in = BUILT_IN.iter().find(|(known, _)| *known == name);
    let parsed = match built_in {
        Some((_, text)) => DeviceProfile::parse(text),
        None => DeviceProfile::parse(&read(name)?),
    };
    parsed
        .map(Arc::new)
        .map_err(|error| FindProfileError::Invalid {
            name: name.to_owned(),
            error,
        })
}

fn read(name: &str) -> Result<String, FindProfileError> {
    let extension = Path::new(name).extension();
    if !extension.is_some_and(|e| e.eq_ignore_ascii_case("toml")) {
        return Err(FindProfileError::Unknown {
            name: name.to_owned(),
        });
    }
    reading::text(Path::new(name)).map_err(|e| FindProfileError::Unreadable {
        file: name.to_owned(),
        why: e.to_string(),
    })
}

/// The reason why no profile of a name is found.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum FindProfileError {
    /// No built-in profile and no file has the name.
    #[error("no profile `{name}`: expected {} or a .toml file", built_in_profiles().join(", "))]
    Unknown {
        /// The name.
        name: String,
    },
    /// The file cannot be read.
    #[error("{file}: {why}")]
    Unreadable {
        /// The file's name.
        file: String,
        /// The system's words.
        why: String,
    },
    /// The text is not a valid profile.
    #[error("{name}: {error}")]
    Invalid {
        /// The profile's name, or its file's.
        name: String,
        /// The error in the text.
        error: ProfileError,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProfileFile {
    name: String,
    class: DeviceClass,
    #[serde(default)]
    about: String,
    memory: Sourced<String>,
    worker_memory: Sourced<String>,
    units: Sourced<f64>,
    rate: Sourced<f64>,
    fuses: Sourced<bool>,
    activation_bandwidth: Sourced<f64>,
    weight_bandwidth: Sourced<f64>,
    grain: Sourced<f64>,
    launch: Sourced<f64>,
    copy_bandwidth: Sourced<f64>,
    copy_latency: Sourced<f64>,
    price: Option<Sourced<f64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sourced<T> {
    value: T,
    from: OriginKind,
    #[serde(default)]
    note: String,
}

impl DeviceProfile {
    /// Reads a profile from text.
    ///
    /// # Errors
    /// [`ProfileError`] names the line or the field that is wrong, and the values that it takes.
    pub fn parse(text: &str) -> Result<Self, ProfileError> {
        let file: ProfileFile = toml::from_str(text).map_err(|e| syntax(text, &e))?;
        let name = file.name.trim();
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.is_empty() || name.len() > 32 || !name.chars().all(plain) {
            return Err(ProfileError::Value {
                field: "name",
                expected: "1 to 32 letters, digits, `-`, `_` or `.`",
                found: format!("`{name}`"),
            });
        }
        let mut numbers = Numbers::default();
        let law = Law {
            units: numbers.whole("units", &file.units)?,
            rate: numbers.positive("rate", &file.rate)?,
            fuses: numbers.flag("fuses", &file.fuses)?,
            activation_bandwidth: numbers
                .positive("activation_bandwidth", &file.activation_bandwidth)?,
            weight_bandwidth: numbers.positive("weight_bandwidth", &file.weight_bandwidth)?,
            grain: numbers.seconds("grain", &file.grain)?,
            launch: numbers.seconds("launch", &file.launch)?,
            copy_bandwidth: numbers.positive("copy_bandwidth", &file.copy_bandwidth)?,
            copy_latency: numbers.seconds("copy_latency", &file.copy_latency)?,
        };
        let memory_bytes = numbers.bytes("memory", &file.memory, 1)?;
        let worker_bytes = numbers.bytes("worker_memory", &file.worker_memory, 0)?;
        if worker_bytes >= memory_bytes {
            return Err(ProfileError::Value {
                field: "worker_memory",
                expected: "less than memory",
                found: format!("`{}`", file.worker_memory.value),
            });
        }
        Ok(DeviceProfile {
            name: name.to_owned(),
            class: file.class,
            about: file.about,
            memory_bytes,
            worker_bytes,
            law,
            price: match &file.price {
                None => None,
                Some(price) => Some(numbers.within("price", price, 0.0, 1e9, "0 or more")?),
            },
            origins: numbers.origins,
        })
    }
}

fn syntax(text: &str, error: &toml::de::Error) -> ProfileError {
    let offset = error.span().map_or(0, |s| s.start).min(text.len());
    ProfileError::Syntax {
        line: 1 + text[..offset].matches('\n').count(),
        message: words::plain(error.message()),
    }
}

/// The most memory of a device in bytes (a pebibyte); more is taken for a mistake.
const MOST_MEMORY: u64 = 1 << 50;

/// Checks the numbers of a file and collects their origins.
#[derive(Default)]
struct Numbers {
    origins: Vec<Origin>,
}

impl Numbers {
    fn within(
        &mut self,
        field: &'static str,
        number: &Sourced<f64>,
        least: f64,
        most: f64,
        expected: &'static str,
    ) -> Result<f64, ProfileError> {
        let value = number.value;
        self.note(field, value.to_string(), number)?;
        if (least..=most).contains(&value) {
            return Ok(value);
        }
        Err(ProfileError::Value {
            field,
            expected,
            found: words::number(value),
        })
    }

    fn positive(&mut self, field: &'static str, n: &Sourced<f64>) -> Result<f64, ProfileError> {
        self.within(field, n, 1e6, 1e18, "a rate per second, 1e6 to 1e18")
    }

    fn seconds(&mut self, field: &'static str, n: &Sourced<f64>) -> Result<f64, ProfileError> {
        self.within(field, n, 0.0, 1.0, "seconds, 0 to 1")
    }

    fn whole(&mut self, field: &'static str, n: &Sourced<f64>) -> Result<u32, ProfileError> {
        let expected = "a whole number, 1 to 100000";
        let value = self.within(field, n, 1.0, 100_000.0, expected)?;
        match value.fract() == 0.0 {
            true => Ok(value as u32),
            false => Err(ProfileError::Value {
                field,
                expected,
                found: value.to_string(),
            }),
        }
    }

    fn flag(&mut self, field: &'static str, n: &Sourced<bool>) -> Result<bool, ProfileError> {
        self.note(field, n.value.to_string(), n)?;
        Ok(n.value)
    }

    fn bytes(
        &mut self,
        field: &'static str,
        size: &Sourced<String>,
        least: u64,
    ) -> Result<u64, ProfileError> {
        self.note(field, size.value.clone(), size)?;
        let text = size.value.trim();
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == ' ');
        let bytes = match digits.parse() {
            Ok(0) => Some(0),
            _ => parse_bytes(text).ok(),
        };
        let sane = bytes.filter(|&b| (least..=MOST_MEMORY).contains(&b));
        sane.ok_or(ProfileError::Value {
            field,
            expected: "a size such as 16GiB",
            found: format!("`{}`", size.value),
        })
    }

    fn note<T>(
        &mut self,
        field: &'static str,
        value: String,
        number: &Sourced<T>,
    ) -> Result<(), ProfileError> {
        if number.from.is_measurement() && number.note.trim().is_empty() {
            let from = number.from.name();
            return Err(ProfileError::NoNote { field, from });
        }
        self.origins.push(Origin {
            field,
            value,
            from: number.from,
            note: number.note.clone(),
        });
        Ok(())
    }
}
