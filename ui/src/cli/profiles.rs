//! `divisi profiles`: the kept measurements of networks on this machine.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use divisi_engine::search::profiling::KeptProfile;
use divisi_engine::search::{Cache, age_in_words};
use divisi_modelless::quantities::significant;
use divisi_runtime::words::counted;
use serde::Serialize;

use super::output::print;
use super::reporting::{Report, ReportOptions};
use super::tables::columns;

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ProfilesArgs {
    /// Remove profiles: they are measured again when needed
    #[arg(long, value_enum, value_name = "WHICH")]
    clear: Option<ClearedProfiles>,
    #[command(flatten)]
    report: ReportOptions,
}

/// The profiles to remove.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ClearedProfiles {
    /// All profiles
    All,
    /// Profiles that are not `quiet`
    Disturbed,
    /// Profiles of other kernels, which this program does not use
    Stale,
}

/// A kept profile in a report.
#[derive(Serialize)]
struct ListedProfile {
    member: String,
    precision: String,
    device: String,
    /// quiet, disturbed or doubtful.
    condition: &'static str,
    /// Seconds since the measurement.
    age_s: u64,
    kernels: String,
    /// Whether the kernels differ from this program's.
    stale: bool,
    /// The smallest and the largest batch, with their times.
    batch: usize,
    batch_ms: f64,
    largest_batch: usize,
    largest_batch_ms: f64,
}

pub(crate) fn run(args: &ProfilesArgs) -> Result<()> {
    let Some(cache) = Cache::of_user() else {
        bail!("there is no home folder, so no profiles are kept");
    };
    let profiles = cache.profiles();
    if let Some(which) = args.clear {
        return clear(&cache, profiles, which);
    }
    let listed: Vec<ListedProfile> = profiles.iter().map(ListedProfile::from_kept).collect();
    args.report.write(&listed)
}

fn clear(cache: &Cache, mut profiles: Vec<KeptProfile>, which: ClearedProfiles) -> Result<()> {
    profiles.retain(|profile| match which {
        ClearedProfiles::All => true,
        ClearedProfiles::Disturbed => !profile.about.condition.is_quiet(),
        ClearedProfiles::Stale => profile.about.is_stale(),
    });
    let cleared = match which {
        ClearedProfiles::All => cache.clear_all_profiles(),
        _ => cache.clear_profiles(&profiles),
    };
    cleared.with_context(|| cache.folder().display().to_string())?;
    let profiles = counted(profiles.len(), "profile");
    print(&format!(
        "{profiles} removed; registered tasks keep theirs until `divisi register` runs again"
    ))
}

impl ListedProfile {
    fn from_kept(profile: &KeptProfile) -> Self {
        let about = &profile.about;
        let millis = |(batch, seconds): &(usize, f64)| (*batch, 1e3 * seconds);
        let (batch, batch_ms) = profile.times.first().map_or((0, 0.0), millis);
        let (largest_batch, largest_batch_ms) = profile.times.last().map_or((0, 0.0), millis);
        ListedProfile {
            member: about.member.clone(),
            precision: about.precision.clone(),
            device: about.device.clone(),
            condition: about.condition.name(),
            age_s: about.age(),
            kernels: about.kernels.clone(),
            stale: about.is_stale(),
            batch,
            batch_ms,
            largest_batch,
            largest_batch_ms,
        }
    }

    fn row(&self) -> Vec<String> {
        let time = |batch: usize, ms: f64| format!("{batch}: {} ms", significant(ms));
        let stale = if self.stale { " (other kernels)" } else { "" };
        vec![
            self.member.clone(),
            self.precision.clone(),
            self.device.clone(),
            time(self.batch, self.batch_ms),
            time(self.largest_batch, self.largest_batch_ms),
            age_in_words(Duration::from_secs(self.age_s)).unwrap_or_else(|| "now".to_owned()),
            format!("{}{stale}", self.condition),
        ]
    }
}

impl Report for Vec<ListedProfile> {
    fn text(&self) -> String {
        if self.is_empty() {
            return "no profiles; `divisi allocate` and `divisi register` measure networks".into();
        }
        let heads = ["member", "in", "on", "batch", "largest", "age", "measured"];
        let doubted = self.iter().filter(|p| p.condition != "quiet").count();
        let remark = (doubted > 0).then(|| {
            format!(
                "\n{} may be wrong: other programs used the processor, or times varied. The next \
                 measurement on a quiet machine replaces them; --clear disturbed removes them.",
                counted(doubted, "profile")
            )
        });
        columns(&heads, self.iter().map(ListedProfile::row)) + &remark.unwrap_or_default()
    }
}
