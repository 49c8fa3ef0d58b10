//! The commands of a console, and the preview of a setup before it is applied.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use divisi_engine::changes::Terms;
use divisi_engine::deployment::{CatalogueChange, Handover};
use divisi_engine::load::LoadPattern;
use divisi_engine::search::Method;
use divisi_engine::serving::Setup;
use divisi_model::allocation::Difference;
use divisi_model::catalogue::NamedMix;
use divisi_model::ranged::{FieldOutOfRange, checked_when_read, ranged, within};
use divisi_runtime::device::{DeviceIndex, MemberIndex};

use super::playback::Play;

/// A request to the engine behind the console.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Command {
    /// Replace what runs while serving; with terms, it comes back where the new does
    /// worse.
    Apply(Box<Setup>, Option<Terms>),
    /// End the probation: what was applied stays (`true`), or goes (`false`).
    EndProbation(bool),
    /// Bring back what ran before the last change.
    Undo,
    /// Run again what the last undo took back.
    Redo,
    /// Set the service objective that latencies are judged by; `None` clears it.
    SetTarget(Option<Target>),
    /// Whether a member's answers count; it runs either way.
    SetVote(MemberIndex, bool),
    /// At most so many samples alive on a device under `elastic`; none: the policy's.
    SetMaxInf(DeviceIndex, Option<NonZeroU32>),
    /// Let a simulated device disappear: it is evacuated.
    LoseDevice(DeviceIndex),
    /// Let a lost device come back, empty.
    RegainDevice(DeviceIndex),
    /// Let the operations of a simulated device take so many times as long.
    SlowDevice(DeviceIndex, Slowdown),
    /// Send requests by this pattern, instead of the one before.
    StartLoad(LoadPattern),
    /// Stop the built-in load.
    StopLoad,
    /// Start a search for a better matrix.
    StartSearch(Method),
    /// Pause the running search.
    PauseSearch,
    /// Resume the paused search.
    ResumeSearch,
    /// Cancel the running search.
    CancelSearch,
    /// Forget latencies so far, to see what comes.
    ClearLatency,
    /// Write all that is shown to a file from now on.
    StartRecording(PathBuf),
    /// End the recording that is being made.
    StopRecording,
    /// Play a recording otherwise.
    Play(Play),
    /// Where several watch: be the one who may change things (`true`), or let others.
    TakeEditing(bool),
    /// Go on serving in the background when this console leaves.
    KeepServing,
    /// Work out what a change of the models would change, and change nothing yet.
    PlanModels(CatalogueChange),
    /// Make the change of the models that was worked out under this number; with terms, it is taken
    /// back where the new models do worse.
    ApplyModels {
        /// The number of the change.
        number: u64,
        /// How the new engine follows the old one.
        handover: Handover,
        /// The terms of a probation, if there is to be one.
        terms: Option<Terms>,
    },
    /// Drop the change of the models that was worked out under this number.
    DropModelsPlan(u64),
    /// Begin to listen to clients over the network (`true`), or listen to nobody any more.
    Listen(bool),
    /// Load a model, or the versions of it that are there now.
    LoadModel(String),
    /// Unload a model; with `dependents` also the pipelines that use it.
    UnloadModel {
        /// The model's name.
        name: String,
        /// Unload what uses it, too.
        dependents: bool,
    },
    /// Ask the models that are served in these shares, and search for them; none: the load asks the
    /// first alone, and searches are for what was seen while serving.
    SetMix(Option<NamedMix>),
    /// Let the policy of a name decide which variants of tasks are loaded.
    SetScalingPolicy(String),
    /// Play what tasks were asked lately under every policy, in virtual time.
    ComparePolicies,
}

ranged! {
    /// How many times as long a simulated device's operations take.
    Slowdown(f64) = 0.1, 100.0, "{} to {} times"
}

/// A service objective: requests are to be answered within this time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct Target {
    /// The latency that is not to be exceeded.
    pub latency: Duration,
    /// Share of requests that has to be, 0 to 1.
    pub share: f64,
}

checked_when_read!(Target);

impl Target {
    /// Latencies that can be asked for: up to an hour.
    pub const LATENCY: (Duration, Duration) = (Duration::from_nanos(1), Duration::from_secs(3600));

    /// Whether it can be met at all.
    ///
    /// # Errors
    /// Which part is wrong and what was expected.
    pub fn check(&self) -> Result<(), FieldOutOfRange> {
        let (least, most) = Self::LATENCY;
        within("latency", self.latency, least, most)?;
        within("share", self.share, 0.0, 1.0)
    }
}

/// The changes that applying a setup would make.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EditPreview {
    /// The workers that would change.
    pub difference: Difference,
    /// Booked bytes of each device's memory now and after.
    pub memory: Vec<(u64, u64)>,
    /// Whether new workers are ready before old ones drain; otherwise members
    /// named here have no worker for a moment and their requests wait.
    pub paused_members: Vec<String>,
    /// Changes of settings beside the matrix, in words: `policy: no-wait → elastic`.
    pub settings: Vec<String>,
    /// Where devices compute in other numbers than those that would be asked for, in words.
    pub remarks: Vec<String>,
    /// The predicted throughputs.
    pub prediction: Prediction,
}

/// Samples a second that a model expects.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    /// Of what runs, and of what would.
    pub before: Option<f64>,
    /// Of the setup that would be applied.
    pub after: Option<f64>,
    /// Where it comes from, or why there is none.
    pub source: String,
}
