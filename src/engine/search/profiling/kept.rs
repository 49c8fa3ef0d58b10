//! Kept profiles: their files, a list of them, and their removal.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use divisi_model::profile::BatchTimes;
use divisi_model::wall_clock::unix_seconds;
use divisi_runtime::compute::kernels_in_use;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::condition::ProfileCondition;
use crate::search::cache::Cache;
use crate::search::checked::{read_checked, write_checked};

/// The prefixes of the files of kept batch times and worker profiles. They contain the version of
/// the form: files of other versions are measured again.
pub(super) const BATCHES: &str = "profile-2";
pub(super) const WORKERS: &str = "worker-2";
/// The prefixes of all versions.
const ALL: [&str; 2] = ["profile-", "worker-"];

/// The origin of a kept profile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProfileAbout {
    /// The name of the member.
    pub member: String,
    /// The precision of its computation.
    pub precision: String,
    /// The kind of device and the number of devices that were busy at once.
    pub device: String,
    /// The revision and the family of the kernels.
    pub kernels: String,
    /// The time of the measurement, in seconds since 1970.
    pub measured_at: u64,
    /// The condition of the host.
    pub condition: ProfileCondition,
}

/// A measurement in its file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct KeptMeasurement<T> {
    pub(super) about: ProfileAbout,
    pub(super) measured: T,
}

/// The kept batch times of a member.
#[derive(Clone, Debug, PartialEq)]
pub struct KeptProfile {
    /// The origin.
    pub about: ProfileAbout,
    /// The seconds of batches by number of samples, ascending.
    pub times: Vec<(usize, f64)>,
    /// Its file.
    path: PathBuf,
}

impl ProfileAbout {
    /// Returns the seconds since the measurement.
    pub fn age(&self) -> u64 {
        unix_seconds().saturating_sub(self.measured_at)
    }

    /// Returns whether this program has other kernels, so that it does not use the profile.
    pub fn is_stale(&self) -> bool {
        self.kernels != kernels_in_use()
    }
}

impl<T: Serialize + DeserializeOwned> KeptMeasurement<T> {
    pub(super) fn read(path: &Path) -> Option<Self> {
        read_checked(path)
    }

    /// Writes the profile. A profile that cannot be kept is only measured again next time.
    pub(super) fn write(&self, path: &Path) {
        let _ = write_checked(path, self);
    }
}

impl Cache {
    /// Returns the kept profiles, ordered by member, precision and device. Damaged files and those
    /// of other versions are left out.
    pub fn profiles(&self) -> Vec<KeptProfile> {
        let files = self.profile_files(&[BATCHES]).unwrap_or_default();
        let kept = files.into_iter().filter_map(|path| {
            let kept: KeptMeasurement<BatchTimes> = KeptMeasurement::read(&path)?;
            Some(KeptProfile {
                about: kept.about,
                times: kept.measured.into(),
                path,
            })
        });
        let mut kept: Vec<KeptProfile> = kept.collect();
        kept.sort_by(|a, b| a.key().cmp(&b.key()));
        kept
    }

    /// Marks profiles as doubtful, so that they are measured again on a quiet host.
    pub fn doubt_profiles(&self, is_doubtful: impl Fn(&ProfileAbout) -> bool) {
        for path in self.profile_files(&[BATCHES, WORKERS]).unwrap_or_default() {
            let kept: Option<KeptMeasurement<serde_json::Value>> = KeptMeasurement::read(&path);
            if let Some(mut kept) = kept.filter(|kept| is_doubtful(&kept.about)) {
                kept.about.condition = ProfileCondition::Doubtful;
                kept.write(&path);
            }
        }
    }

    /// Removes profiles, so that they are measured again when they are needed.
    ///
    /// # Errors
    /// A file cannot be removed.
    pub fn clear_profiles(&self, profiles: &[KeptProfile]) -> io::Result<()> {
        for profile in profiles {
            let key = profile.path.file_name().and_then(|name| name.to_str());
            let key = key.and_then(|name| name.strip_prefix(BATCHES));
            remove(&profile.path)?;
            if let Some(key) = key {
                remove(&self.folder().join(format!("{WORKERS}{key}")))?;
            }
        }
        Ok(())
    }

    /// Removes the files of all profiles, also damaged ones and those of other versions.
    ///
    /// # Errors
    /// The folder cannot be read, or a file cannot be removed.
    pub fn clear_all_profiles(&self) -> io::Result<()> {
        let files = self.profile_files(&ALL)?;
        files.iter().try_for_each(|path| remove(path))
    }

    fn profile_files(&self, prefixes: &[&str]) -> io::Result<Vec<PathBuf>> {
        let entries = match fs::read_dir(self.folder()) {
            Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let is_profile = |name: &str| {
            let mut prefixes = prefixes.iter();
            prefixes.any(|prefix| name.starts_with(prefix)) && name.ends_with(".json")
        };
        let mut files = Vec::new();
        for entry in entries {
            let entry = entry?;
            if entry.file_name().to_str().is_some_and(is_profile) {
                files.push(entry.path());
            }
        }
        Ok(files)
    }
}

impl KeptProfile {
    fn key(&self) -> (&str, &str, &str, u64) {
        let about = &self.about;
        let (member, precision) = (about.member.as_str(), about.precision.as_str());
        (member, precision, &about.device, about.measured_at)
    }
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(why) if why.kind() != io::ErrorKind::NotFound => Err(why),
        _ => Ok(()),
    }
}
