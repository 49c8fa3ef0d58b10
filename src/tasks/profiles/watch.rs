//! Decides which profiles are measured again, and when: see [`ProfileWatch`].

use std::time::Duration;

use divisi_engine::search::profiling::ProfileCondition;

/// Batches on a quiet host that take longer than this multiple of the profile contradict it. At low
/// load, batches with cold caches and sleeping threads take up to twice the time.
const SLOWER: f64 = 2.5;
/// Batches that take less than this share of the profile contradict it, also on a busy host.
const FASTER: f64 = 0.65;
/// The seconds with contradicting batches after which a profile is doubtful. A second that agrees
/// cancels one that contradicts.
const ENOUGH: u32 = 10;
/// The period without queries on a quiet host before a measurement.
const IDLE: Duration = Duration::from_secs(5);
/// The time until a measurement is tried again that was cancelled, failed or disturbed.
const RETRY: Duration = Duration::from_secs(10);
/// The time after a measurement in which batches cannot make the profile doubtful. Batches may also
/// differ because of the load, and a new measurement would not change that.
const TRUST: Duration = Duration::from_secs(3600);

/// Decides which profiles are doubtful and when profiles are measured again.
///
/// A profile is measured again if it was not measured on a quiet host, or if batches contradict it.
/// The server must have been idle and the host quiet for some seconds.
#[derive(Clone, Debug)]
pub struct ProfileWatch {
    models: Vec<WatchedModel>,
    /// The time since which the server is idle on a quiet host.
    idle_since: Option<Duration>,
}

#[derive(Clone, Copy, Debug)]
struct WatchedModel {
    condition: ProfileCondition,
    contradicted: u32,
    trusted_until: Duration,
    /// The time from which a measurement is tried again.
    retry_at: Duration,
}

/// The observations of one second.
#[derive(Clone, Copy, Debug)]
pub struct ProfileSecond<'a> {
    /// The time.
    pub now: Duration,
    /// Whether the server computed nothing.
    pub is_idle: bool,
    /// Whether other programs left the processor alone.
    pub is_quiet: bool,
    /// For each ensemble, the ratio of batch times to the profile, or `None` without batches.
    pub ratios: &'a [Option<f64>],
}

/// A decision about the profiles of an ensemble, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProfileStep {
    /// Mark the profiles as doubtful.
    Doubt(usize),
    /// Measure the profiles again.
    Measure(usize),
}

impl ProfileWatch {
    /// Starts with the condition of each ensemble's profiles.
    pub fn new(conditions: impl IntoIterator<Item = ProfileCondition>) -> Self {
        let watched = |condition| WatchedModel {
            condition,
            contradicted: 0,
            trusted_until: Duration::ZERO,
            retry_at: Duration::ZERO,
        };
        ProfileWatch {
            models: conditions.into_iter().map(watched).collect(),
            idle_since: None,
        }
    }

    /// Records a second, and returns what to do after it.
    pub fn second(&mut self, second: &ProfileSecond<'_>) -> Option<ProfileStep> {
        self.idle_since = match second.is_idle && second.is_quiet {
            true => Some(self.idle_since.unwrap_or(second.now)),
            false => None,
        };
        let ratios = second.ratios.iter().enumerate();
        let doubted: Vec<usize> = ratios
            .filter_map(|(number, ratio)| {
                let model = self.models.get_mut(number)?;
                model.contradict((*ratio)?, second).then_some(number)
            })
            .collect();
        match doubted.first() {
            Some(number) => Some(ProfileStep::Doubt(*number)),
            None => self.due(second.now).map(ProfileStep::Measure),
        }
    }

    /// Returns the time until which batches cannot make the profiles of an ensemble doubtful.
    pub fn trusted_until(&self, number: usize) -> Duration {
        let model = self.models.get(number);
        model.map_or(Duration::ZERO, |model| model.trusted_until)
    }

    /// Sets the time until which batches cannot make the profiles of an ensemble doubtful.
    pub fn trust_until(&mut self, number: usize, until: Duration) {
        if let Some(model) = self.models.get_mut(number) {
            model.trusted_until = until;
        }
    }

    /// Returns the first ensemble whose profiles need a measurement now.
    fn due(&self, now: Duration) -> Option<usize> {
        let since = self.idle_since?;
        let is_due = |model: &WatchedModel| !model.condition.is_quiet() && now >= model.retry_at;
        let found = self.models.iter().position(is_due);
        found.filter(|_| now >= since + IDLE)
    }

    /// Records the end of a measurement: its condition, or `None` if it was cancelled or failed.
    pub fn measured(&mut self, now: Duration, number: usize, condition: Option<ProfileCondition>) {
        self.idle_since = None;
        let Some(model) = self.models.get_mut(number) else {
            return;
        };
        model.retry_at = now + RETRY;
        if let Some(condition) = condition {
            model.condition = condition;
            model.contradicted = 0;
            model.trusted_until = now + TRUST;
        }
    }
}

impl WatchedModel {
    /// Records a ratio. Returns whether the profile has just become doubtful.
    fn contradict(&mut self, ratio: f64, second: &ProfileSecond<'_>) -> bool {
        let contradicts = ratio < FASTER || (ratio > SLOWER && second.is_quiet);
        self.contradicted = match contradicts {
            true => self.contradicted + 1,
            false => self.contradicted.saturating_sub(1),
        };
        let is_new = self.condition.is_quiet() && second.now >= self.trusted_until;
        let doubts = is_new && self.contradicted >= ENOUGH;
        if doubts {
            self.condition = ProfileCondition::Doubtful;
        }
        doubts
    }
}
