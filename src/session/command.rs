//! The commands of a console, and the preview of a setup before it is applied.

use std::num::NonZeroU32;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use divisi_engine::changes::Terms;
use divisi_engine::deployment::{CatalogueChange, Handover};
use divisi_engine::load::LoadPattern;
use divisi_engine::search::{Method, Predicted};
pub use divisi_engine::serving::ServiceObjective as Target;
use divisi_engine::serving::Setup;
use divisi_model::allocation::Difference;
use divisi_model::catalogue::NamedMix;
use divisi_model::ranged::ranged;
use divisi_runtime::device::{DeviceIndex, MemberIndex};

use super::playback::Play;

/// A request to the engine behind the console.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Command {
    /// Replace the running setup while serving. With terms, the previous setup is restored if the
    /// new one does worse.
    Apply(Box<Setup>, Option<Terms>),
    /// End the probation and keep the change (`true`) or roll it back (`false`).
    EndProbation(bool),
    /// Restore the setup that ran before the last change.
    Undo,
    /// Apply the change that the last undo reverted.
    Redo,
    /// Set the service objective for latencies; `None` clears it.
    SetTarget(Option<Target>),
    /// Count (`true`) or ignore (`false`) a member's answers. The member runs either way.
    SetVote(MemberIndex, bool),
    /// Limit the number of samples alive on a device under `elastic`; `None` uses the policy's
    /// limit.
    SetMaxInf(DeviceIndex, Option<NonZeroU32>),
    /// Fail a simulated device; its workers are moved to other devices.
    LoseDevice(DeviceIndex),
    /// Restore a failed device without any workers.
    RegainDevice(DeviceIndex),
    /// Slow down the operations of a simulated device by a factor.
    SlowDevice(DeviceIndex, Slowdown),
    /// Send requests by this pattern instead of the previous one.
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
    /// Reset the latency statistics.
    ClearLatency,
    /// Write everything that is shown to a file from now on.
    StartRecording(PathBuf),
    /// Stop recording.
    StopRecording,
    /// Change the playback of a recording.
    Play(Play),
    /// Take (`true`) or release (`false`) the right to make changes when several consoles are
    /// connected.
    TakeEditing(bool),
    /// Continue serving in the background when this console exits.
    KeepServing,
    /// Plan a change of the models without applying it.
    PlanModels(CatalogueChange),
    /// Apply the planned change of the models with this number. With terms, the change is rolled
    /// back if the new models do worse.
    ApplyModels {
        /// The number of the change.
        number: u64,
        /// How the new engine takes over from the old one.
        handover: Handover,
        /// The terms of the probation, or `None` for no probation.
        terms: Option<Terms>,
    },
    /// Drop the planned change of the models with this number.
    DropModelsPlan(u64),
    /// Start (`true`) or stop (`false`) accepting clients over the network.
    Listen(bool),
    /// Load a model, or its newest versions.
    LoadModel(String),
    /// Unload a model; with `dependents`, also the pipelines that use it.
    UnloadModel {
        /// The model's name.
        name: String,
        /// Also unload the pipelines that use the model.
        dependents: bool,
    },
    /// Set the traffic mix of the built-in load and of searches. With `None`, the load sends
    /// requests to the first model only, and searches use the observed mix.
    SetMix(Option<NamedMix>),
    /// Let the named policy decide which variants of tasks are loaded.
    SetScalingPolicy(String),
    /// Simulate the recent queries under every policy.
    ComparePolicies,
}

ranged! {
    /// The factor by which a simulated device's operations are slower.
    Slowdown(f64) = 0.1, 100.0, "{} to {} times"
}

/// The changes that applying a setup would make.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EditPreview {
    /// The workers that would change.
    pub difference: Difference,
    /// Booked bytes of each device's memory now and after.
    pub memory: Vec<(u64, u64)>,
    /// The members without a worker for a moment, during which their requests wait. Empty if new
    /// workers are ready before the old ones drain.
    pub paused_members: Vec<String>,
    /// Changes of settings other than the matrix, in words: `policy: no-wait → elastic`.
    pub settings: Vec<String>,
    /// Devices that compute in a precision other than the requested one, in words.
    pub remarks: Vec<String>,
    /// The predicted throughputs.
    pub prediction: Prediction,
}

/// Predicted throughputs with their intervals.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    /// The throughput of the running setup.
    pub before: Option<Predicted>,
    /// The throughput of the setup to apply.
    pub after: Option<Predicted>,
    /// The source of the prediction and its interval, or the reason why there is none.
    pub source: String,
}
