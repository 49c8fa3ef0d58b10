//! Parses the words of a line into values.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use divisi_model::catalogue::NamedMix;
use divisi_model::ensemble::{BatchSize, MemberPrecision, MemberPrecisionError, PolicyKind};
use divisi_runtime::device::{DeviceIndex, MemberIndex};
use divisi_session::{LoadPattern, SearchOrder, Slowdown, Snapshot, Target};

use crate::config::time;

/// A value that is parsed from one word.
pub(super) trait Argument: Sized {
    /// Parses the word. Names refer to the shown snapshot.
    ///
    /// # Errors
    /// A message with the expected and the found value.
    fn read(word: &str, shown: &Snapshot) -> Result<Self, String>;
}

fn among(names: &[String], name: &str, kind: &str) -> Result<usize, String> {
    let found = names.iter().position(|n| n == name);
    let wrong = || format!("no {kind} `{name}`: expected one of {}", names.join(", "));
    found.ok_or_else(wrong)
}

/// A device, by its row in the matrix.
pub(super) struct NamedDevice(pub DeviceIndex);

impl Argument for NamedDevice {
    fn read(word: &str, shown: &Snapshot) -> Result<Self, String> {
        let devices = &shown.matrix.frame().devices;
        let found = among(devices, word, "device")?;
        Ok(NamedDevice(DeviceIndex::new(found)))
    }
}

/// A member, by its column in the matrix.
pub(super) struct NamedMember(pub MemberIndex);

impl Argument for NamedMember {
    fn read(word: &str, shown: &Snapshot) -> Result<Self, String> {
        let members = &shown.matrix.frame().members;
        let found = among(members, word, "member")?;
        Ok(NamedMember(MemberIndex::new(found)))
    }
}

/// The name of a served model.
pub(super) struct ServedModelName(pub String);

impl Argument for ServedModelName {
    fn read(word: &str, shown: &Snapshot) -> Result<Self, String> {
        let names = shown.models.iter().map(|model| model.name.clone());
        let mut names: Vec<String> = names.collect();
        // A model has an entry for each of its versions.
        names.sort();
        names.dedup();
        let found = among(&names, word, "model")?;
        Ok(ServedModelName(names[found].clone()))
    }
}

/// The name of a model that may be loaded.
pub(super) struct LoadableModelName(pub String);

impl Argument for LoadableModelName {
    fn read(word: &str, shown: &Snapshot) -> Result<Self, String> {
        // The folder of a model may be new since the models were read, so the loader checks the
        // name.
        if shown.can_load {
            return Ok(LoadableModelName(word.to_owned()));
        }
        let ServedModelName(name) = ServedModelName::read(word, shown)?;
        Ok(LoadableModelName(name))
    }
}

/// An entry of the matrix: a batch size, or 0 for no worker.
pub(super) struct WrittenEntry(pub Option<BatchSize>);

impl Argument for WrittenEntry {
    fn read(word: &str, shown: &Snapshot) -> Result<Self, String> {
        let allowed = &shown.matrix.frame().batch_sizes;
        let size = |n| BatchSize::new(n).filter(|size| allowed.contains(*size));
        let entry = match word.parse::<u32>() {
            Ok(0) => Some(None),
            number => number.ok().and_then(size).map(Some),
        };
        let wrong = || {
            let sizes: Vec<String> = allowed.iter().map(|s| s.to_string()).collect();
            format!("expected a size of 0, {}, found `{word}`", sizes.join(", "))
        };
        entry.map(WrittenEntry).ok_or_else(wrong)
    }
}

/// The precision of a member, by its name.
pub(super) struct NamedPrecision(pub MemberPrecision);

impl Argument for NamedPrecision {
    fn read(word: &str, _: &Snapshot) -> Result<Self, String> {
        let parsed = word.parse().map(NamedPrecision);
        parsed.map_err(|wrong: MemberPrecisionError| wrong.to_string())
    }
}

/// A load, or `none`.
pub(super) struct WishedLoad(pub Option<LoadPattern>);

impl Argument for WishedLoad {
    fn read(word: &str, _: &Snapshot) -> Result<Self, String> {
        match word {
            "none" => Ok(WishedLoad(None)),
            pattern => {
                let pattern = pattern.parse::<LoadPattern>();
                pattern
                    .map(|p| WishedLoad(Some(p)))
                    .map_err(|e| e.to_string())
            }
        }
    }
}

/// Traffic shares of models, or `seen`.
pub(super) struct WishedMix(pub Option<NamedMix>);

impl Argument for WishedMix {
    fn read(word: &str, _: &Snapshot) -> Result<Self, String> {
        match word {
            "seen" => Ok(WishedMix(None)),
            shares => {
                let mix = shares.parse::<NamedMix>();
                mix.map(|mix| WishedMix(Some(mix)))
                    .map_err(|e| e.to_string())
            }
        }
    }
}

impl Argument for PolicyKind {
    fn read(word: &str, _: &Snapshot) -> Result<Self, String> {
        word.parse::<PolicyKind>().map_err(|e| e.to_string())
    }
}

/// `on` or `off`.
pub(super) struct OnOff(pub bool);

impl Argument for OnOff {
    fn read(word: &str, _: &Snapshot) -> Result<Self, String> {
        match word {
            "on" => Ok(OnOff(true)),
            "off" => Ok(OnOff(false)),
            other => Err(format!("expected on or off, found `{other}`")),
        }
    }
}

impl Argument for Slowdown {
    fn read(word: &str, _: &Snapshot) -> Result<Self, String> {
        let times = word.parse().ok().and_then(|f| Slowdown::new(f).ok());
        times.ok_or_else(|| format!("expected a factor from 0.1 to 100, found `{word}`"))
    }
}

/// A limit of samples in execution, or `none`.
pub(super) struct SampleBound(pub Option<NonZeroU32>);

impl Argument for SampleBound {
    fn read(word: &str, _: &Snapshot) -> Result<Self, String> {
        let wrong = |_| format!("expected a number above 0 or none, found `{word}`");
        match word {
            "none" => Ok(SampleBound(None)),
            number => number.parse().map(|n| SampleBound(Some(n))).map_err(wrong),
        }
    }
}

/// A file to record to, or `off`.
pub(super) struct RecordTo(pub Option<PathBuf>);

impl Argument for RecordTo {
    fn read(word: &str, _: &Snapshot) -> Result<Self, String> {
        let path = (word != "off").then(|| PathBuf::from(word));
        Ok(RecordTo(path))
    }
}

/// Parses a search: the quick one, or the given algorithm and evaluator. `again` at the end ignores
/// kept results.
///
/// # Errors
/// A name is unknown, or the algorithm does not support the evaluator.
pub(super) fn search(words: &[&str]) -> Result<SearchOrder, String> {
    let (words, again) = match words {
        [words @ .., "again"] => (words, true),
        [_, _, wrong] => return Err(format!("expected `again`, found `{wrong}`")),
        words => (words, false),
    };
    let mut order = SearchOrder {
        again,
        ..SearchOrder::quick()
    };
    if let Some(algorithm) = words.first() {
        order.algorithm = algorithm.parse()?;
    }
    if let Some(evaluator) = words.get(1) {
        order.evaluator = evaluator.parse()?;
        order.bounds = SearchOrder::default().bounds;
    }
    order.check().map_err(|e| e.to_string())?;
    Ok(order)
}

/// Parses a service objective: a time and a percentage of requests, or `none`.
///
/// # Errors
/// A message with the expected and the found value.
pub(super) fn target(words: &[&str]) -> Result<Option<Target>, String> {
    let latency = match words {
        ["none"] => return Ok(None),
        [latency, ..] => time(latency)?,
        [] => Duration::ZERO,
    };
    let percent = words.get(1).map_or("99", |p| p.trim_end_matches('%'));
    let share = percent
        .parse::<f64>()
        .ok()
        .filter(|p| (0.0..=100.0).contains(p));
    let wrong = || format!("expected 0 to 100 percent, found `{percent}`");
    let share = share.ok_or_else(wrong)? / 100.0;
    let target = Target { latency, share };
    target.check().map_err(|e| e.to_string())?;
    Ok(Some(target))
}
