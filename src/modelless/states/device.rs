//! Detects devices that other programs slow down.

use std::time::Duration;

use super::thresholds::StateThresholds;

/// The time for which a device must be calm before it counts as undisturbed.
const CALM: Duration = Duration::from_secs(10);
/// The time after which a disturbed device without any observation is tried again.
const RETRY: Duration = Duration::from_secs(30);
/// The upper bound of both times: they double with each disturbance that follows a recent one.
const MOST: Duration = Duration::from_secs(300);
/// The time after a disturbance for which it counts as recent.
const RECENT: Duration = Duration::from_secs(600);
/// The share of its cores' time below which other programs do not slow down a device.
const QUIET: f64 = 0.1;
/// The ratio of the slowdown above 1 to the share of other programs, before slow batches are seen:
/// a program that would use all the time gets half of it next to another one.
const HARM: f64 = 1.0;
/// The weight of the last observation in the mean slowdown.
const LAST: f64 = 0.25;

/// An observation of a device since the last one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DeviceObservation {
    /// The ratio of batch time to profiled time, or `None` without batches.
    pub slowdown: Option<f64>,
    /// The share of its cores' time that other programs take, or `None` if unknown.
    pub others: Option<f64>,
}

/// The slowdown of a device by other programs.
///
/// A disturbance starts once batches are slow for the hold-off of the thresholds. It ends after a
/// longer calm, which doubles with each repetition, so that instances do not move to and fro.
///
/// A device that variants have left has no batches. With figures of its host, it counts as slow as
/// its last batches at the current load by other programs. Without them, it counts as calm after a
/// while, and the next batches show whether it is.
#[derive(Clone, Debug)]
pub struct DeviceWatch {
    thresholds: StateThresholds,
    /// The mean slowdown of the current disturbance.
    disturbance: Option<f64>,
    /// The ratio of the slowdown above 1 to the share of other programs, by the last slow batches.
    harm: f64,
    /// The time since when an observation contradicts the state.
    contrary_since: Option<Duration>,
    ended: Option<Duration>,
    repetitions: u32,
}

impl DeviceWatch {
    /// Starts with an undisturbed device.
    pub fn new(thresholds: StateThresholds) -> Self {
        DeviceWatch {
            thresholds,
            disturbance: None,
            harm: HARM,
            contrary_since: None,
            ended: None,
            repetitions: 0,
        }
    }

    /// Returns the slowdown by other programs; 1 if the device is undisturbed.
    pub fn slowdown(&self) -> f64 {
        self.disturbance.unwrap_or(1.0)
    }

    /// Records an observation.
    pub fn observe(&mut self, now: Duration, seen: &DeviceObservation) {
        let estimate = self.estimate(seen);
        match self.disturbance {
            None => self.undisturbed(now, estimate),
            Some(mean) => self.disturbed(now, estimate, mean),
        }
    }

    /// Returns the slowdown by other programs, or `None` if nothing is known. If other programs are
    /// known to use little, slow batches have another cause.
    fn estimate(&mut self, seen: &DeviceObservation) -> Option<f64> {
        match (seen.slowdown, seen.others) {
            (_, Some(others)) if others < QUIET => Some(1.0),
            (Some(slowdown), others) => {
                let slow = others.filter(|_| slowdown > self.thresholds.interfered);
                self.harm = slow.map_or(self.harm, |others| (slowdown - 1.0) / others);
                Some(slowdown)
            }
            (None, Some(others)) => Some(1.0 + others * self.harm),
            (None, None) => None,
        }
    }

    fn undisturbed(&mut self, now: Duration, estimate: Option<f64>) {
        let slow = estimate.filter(|slowdown| *slowdown > self.thresholds.interfered);
        let Some(slowdown) = slow else {
            self.contrary_since = None;
            return;
        };
        let since = *self.contrary_since.get_or_insert(now);
        if now.saturating_sub(since) >= self.thresholds.hold_off {
            let is_recent = self.ended.is_some_and(|ended| now < ended + RECENT);
            self.repetitions = if is_recent { self.repetitions + 1 } else { 0 };
            (self.disturbance, self.contrary_since) = (Some(slowdown), None);
        }
    }

    fn disturbed(&mut self, now: Duration, estimate: Option<f64>, mean: f64) {
        if let Some(slowdown) = estimate.filter(|slowdown| *slowdown > self.thresholds.calm) {
            self.disturbance = Some(mean + LAST * (slowdown - mean));
            self.contrary_since = None;
            return;
        }
        let wait = if estimate.is_some() { CALM } else { RETRY };
        let wait = wait.saturating_mul(1 << self.repetitions.min(5)).min(MOST);
        let since = *self.contrary_since.get_or_insert(now);
        if now.saturating_sub(since) >= wait {
            (self.disturbance, self.contrary_since) = (None, None);
            self.ended = Some(now);
        }
    }
}
