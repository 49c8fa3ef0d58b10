//! The parts that the figures' scenarios have in common.

use std::num::NonZeroU32;
use std::time::Duration;

use divisi_modelless::accuracy::{AccuracyEstimate, MemberSet};
use divisi_modelless::demands::QueryStream;
use divisi_modelless::fleet::{FleetScenario, WorkerKind};
use divisi_modelless::goals::{LatencyGoal, QueryGoals};
use divisi_modelless::jobs::JobRules;
use divisi_modelless::policies::{ChangeRules, PlanObjective, PolicyChoice};
use divisi_modelless::quantities::{Accuracy, CostRate, DeviceShare, QueryCost};
use divisi_modelless::states::StateThresholds;
use divisi_modelless::variants::{
    DeviceKindIndex, DeviceSharing, LatencyCurve, ModelIndex, PricedDevice, TaskIndex,
    TaskVariants, Variant, VariantCatalog, VariantPrecision, VariantProfile,
};

pub const CPU: u16 = 0;
pub const GPU: u16 = 1;
pub const INFERENTIA: u16 = 2;

pub fn seconds(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

pub fn count(count: u32) -> NonZeroU32 {
    NonZeroU32::new(count).expect("above 0")
}

pub fn money(rate: f64) -> CostRate {
    CostRate::new(rate).expect("a cost")
}

/// A variant by its published or made-up numbers.
#[derive(Clone, Copy, Debug)]
pub struct PaperVariant {
    pub device: u16,
    pub batch: u32,
    pub slope_ms: f64,
    pub intercept_ms: f64,
    pub loading_ms: f64,
    pub memory_gb: f64,
    pub thousandths: u16,
    pub sharing: DeviceSharing,
    pub lanes: u32,
    pub cost: f64,
    pub accuracy: f64,
}

impl PaperVariant {
    pub fn variant(self) -> Variant {
        let (slope, intercept) = (
            seconds(self.slope_ms / 1e3),
            seconds(self.intercept_ms / 1e3),
        );
        let latency = LatencyCurve::line(slope, intercept, self.batch, 1.0);
        let accuracy = Accuracy::new(self.accuracy).expect("a fraction");
        Variant {
            model: ModelIndex(0),
            members: MemberSet::first(1),
            precision: VariantPrecision::Float32,
            device: DeviceKindIndex(self.device),
            batch: count(self.batch),
            profile: VariantProfile {
                latency: latency.expect("a line"),
                lanes: count(self.lanes),
                loading: seconds(self.loading_ms / 1e3),
                memory: (self.memory_gb * 1e9) as u64,
                share: DeviceShare::thousandths(self.thousandths).expect("a share"),
                sharing: self.sharing,
                cost: money(self.cost),
            },
            accuracy: AccuracyEstimate::published(accuracy),
        }
    }
}

pub fn task(name: &str, variants: &[PaperVariant]) -> TaskVariants {
    TaskVariants {
        name: name.to_owned(),
        models: vec![name.to_owned()],
        variants: variants.iter().map(|v| v.variant()).collect(),
    }
}

/// A CPU of 8 cores, a V100 and an Inferentia chip, at AWS's prices of 2020 in dollars an hour of
/// the machines that have them.
pub fn catalog(tasks: Vec<TaskVariants>) -> VariantCatalog {
    let kind = |name: &str, price: f64, memory: u64| PricedDevice {
        name: name.to_owned(),
        price: money(price / 3600.0),
        memory: memory * 1_000_000_000,
    };
    let kinds = [
        kind("cpu", 0.384, 32),
        kind("gpu", 3.06, 16),
        kind("inferentia", 0.584, 8),
    ];
    VariantCatalog::new(kinds.to_vec(), tasks).expect("a catalogue")
}

pub fn worker(devices: &[u16], price_an_hour: f64, initial: u16, most: u16) -> WorkerKind {
    WorkerKind {
        devices: devices.iter().map(|kind| DeviceKindIndex(*kind)).collect(),
        price: money(price_an_hour / 3600.0),
        starting: Duration::from_secs(30),
        initial,
        most,
    }
}

pub fn stream(task: usize, latency_ms: f64, worth: f64) -> QueryStream {
    let latency = LatencyGoal::new(seconds(latency_ms / 1e3)).expect("a goal");
    QueryStream {
        task: TaskIndex(task as u16),
        goals: QueryGoals {
            latency: Some(latency),
            ..QueryGoals::default()
        },
        worth: QueryCost::new(worth).expect("a worth"),
    }
}

/// A scenario without machines, queries and jobs.
pub fn empty(catalog: VariantCatalog, end: Duration) -> FleetScenario {
    FleetScenario {
        catalog,
        workers: vec![],
        initial: vec![],
        streams: vec![],
        arrivals: vec![],
        jobs: vec![],
        disturbances: vec![],
        policy: PolicyChoice::Static,
        objective: PlanObjective::default(),
        rules: ChangeRules::default(),
        refuses_late: false,
        thresholds: StateThresholds::default(),
        job_rules: JobRules::default(),
        end,
    }
}
