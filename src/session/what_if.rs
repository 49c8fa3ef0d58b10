//! What-if questions and their answers: the predicted effects of an event or a change before
//! anything is staged or applied.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use divisi_engine::search::{Predicted, TypicalError};
use divisi_engine::serving::Setup;
use divisi_model::ensemble::{Measure, MemberPrecision};
use divisi_model::ranged::ranged;
use divisi_runtime::device::{DeviceIndex, MemberIndex};

use super::command::EditPreview;

ranged! {
    /// The factor by which the rate of requests changes.
    RateFactor(f64) = 0.01, 100.0, "{} to {} times"
}

/// A what-if question about the running setup.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum WhatIf {
    /// Another setup is applied.
    Apply(Box<Setup>),
    /// The last change is undone.
    Undo,
    /// The undone change is redone.
    Redo,
    /// A device is lost. Its work moves as it would if the device failed.
    LoseDevice(DeviceIndex),
    /// All members compute in a precision.
    AllIn(MemberPrecision),
    /// Requests arrive at another rate.
    Rate(RateFactor),
    /// There is one more device of the same kind.
    OneMoreDevice(DeviceIndex),
    /// The ensemble has one member fewer.
    WithoutMember(MemberIndex),
}

/// The reply to a what-if question. Simulations take a while, so a console asks until the answer
/// has arrived.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum WhatIfReply {
    /// The answer is being computed.
    Computing,
    /// The answer.
    Answer(Box<WhatIfAnswer>),
}

/// The answer to a what-if question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WhatIfAnswer {
    /// The setup that could be staged to get there, or to prepare for it.
    pub stages: Option<Box<Setup>>,
    /// The changes to that setup, if the question is about a setup.
    pub preview: Option<Box<EditPreview>>,
    /// The load that both outlooks assume, before the question changes it.
    pub load: AssumedLoad,
    /// The outlook of the running setup.
    pub before: Outlook,
    /// The outlook in the case of the question, or the reason why requests could not be served.
    pub after: Result<Outlook, String>,
    /// The change of accuracy.
    pub accuracy: AccuracyOutlook,
    /// Facts about the case in words, such as the place of moved workers.
    pub notes: Vec<String>,
    /// The size of recent errors of predicted throughputs.
    pub throughput_error: Option<TypicalError>,
    /// The size of recent errors of predicted p99 latencies.
    pub p99_error: Option<TypicalError>,
}

/// The load that an outlook assumes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AssumedLoad {
    /// The arrival of requests, in words: `800 requests/s at random times`. Empty without a load.
    pub words: String,
    /// The requests per second that arrived, with those refused.
    pub requests_per_s: f64,
    /// The time over which they were counted.
    pub over: Duration,
}

/// The predicted figures of one case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outlook {
    /// The samples per second at capacity, or the reason why they are unknown.
    pub throughput: Result<Predicted, String>,
    /// The 99th percentile of latency under the load.
    pub p99: P99Outlook,
    /// The load of each device.
    pub devices: Vec<DeviceForecast>,
    /// The cost of the devices, or the reason why it is unknown.
    pub cost: Result<CostOutlook, String>,
}

/// A predicted latency.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum P99Outlook {
    /// The latency.
    Known {
        /// The predicted latency.
        p99: Duration,
        /// The lower end of its interval.
        low: Duration,
        /// The upper end of its interval, or `None` if requests may arrive faster than they are
        /// served.
        high: Option<Duration>,
    },
    /// Requests arrive faster than they are served, so latencies grow until requests are refused.
    Grows {
        /// The samples per second by which the queue grows.
        samples_per_s: f64,
        /// The time until the queue is full and requests are refused.
        full_after: Duration,
    },
    /// The latency is unknown, with the reason.
    Unknown(String),
}

/// The predicted load of a device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceForecast {
    /// The name of the device.
    pub name: String,
    /// The share of the time in which it is busy, or `None` if it is unknown.
    pub busy: Option<BusyShare>,
}

/// A predicted share of the time, with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BusyShare {
    /// The predicted share, 0 to 1.
    pub share: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
}

/// The cost of the devices of a case.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CostOutlook {
    /// The price of an hour.
    pub per_hour: f64,
    /// The cost of a million samples at capacity with its interval, or `None` if the capacity is
    /// unknown.
    pub per_million: Option<(f64, f64, f64)>,
}

/// The predicted change of the ensemble's accuracy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum AccuracyOutlook {
    /// The same networks vote in the same precisions.
    Same,
    /// A measured change.
    Measured {
        /// The measure.
        measure: Measure,
        /// The change: after minus before.
        change: f64,
        /// The half-width of the interval of nine of ten cases, or `None` if it is unknown.
        within: Option<f64>,
        /// The source of the measurement.
        source: String,
    },
    /// The share of answers that would change. Their accuracy is unknown without labels.
    AnswersChange {
        /// The share, 0 to 1.
        share: f64,
        /// The source of the measurement.
        source: String,
    },
    /// The change is unknown, with the reason and the command that measures it.
    Unknown(String),
}

impl fmt::Display for WhatIf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WhatIf::Apply(_) => f.write_str("another setup"),
            WhatIf::Undo => f.write_str("undo"),
            WhatIf::Redo => f.write_str("redo"),
            WhatIf::LoseDevice(device) => write!(f, "device {device} lost"),
            WhatIf::AllIn(precision) => write!(f, "all in {}", precision.to_text()),
            WhatIf::Rate(factor) => write!(f, "rate × {}", factor.get()),
            WhatIf::OneMoreDevice(device) => write!(f, "one more device like {device}"),
            WhatIf::WithoutMember(member) => write!(f, "without member {member}"),
        }
    }
}
