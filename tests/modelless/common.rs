//! Variants, tasks and devices that tests are made of.

use std::num::NonZeroU32;
use std::time::Duration;

use divisi_modelless::accuracy::{AccuracyEstimate, MemberSet};
use divisi_modelless::goals::{LatencyGoal, QueryGoals};
use divisi_modelless::policies::TaskDemand;
use divisi_modelless::quantities::{Accuracy, CostRate, DeviceShare, QueryCost, QueryRate};
use divisi_modelless::variants::{
    DeviceKindIndex, DeviceSharing, LatencyCurve, LatencyPoint, ModelIndex, PricedDevice,
    TaskIndex, TaskVariants, Variant, VariantCatalog, VariantPrecision, VariantProfile,
};

pub fn millis(millis: f64) -> Duration {
    Duration::from_secs_f64(millis / 1e3)
}

pub fn count(count: u32) -> NonZeroU32 {
    NonZeroU32::new(count).expect("above 0")
}

/// The few numbers of a variant that a test is about.
#[derive(Clone, Copy, Debug)]
pub struct Sketch {
    pub device: u16,
    pub accuracy: f64,
    pub latency_ms: f64,
    pub lanes: u32,
    pub batch: u32,
    pub cost: f64,
    pub loading_ms: f64,
    pub thousandths: u16,
}

impl Default for Sketch {
    fn default() -> Self {
        Sketch {
            device: 0,
            accuracy: 0.9,
            latency_ms: 10.0,
            lanes: 1,
            batch: 1,
            cost: 1.0,
            loading_ms: 1000.0,
            thousandths: 100,
        }
    }
}

impl Sketch {
    pub fn variant(self) -> Variant {
        let latency = millis(self.latency_ms);
        let point = LatencyPoint {
            batch: self.batch,
            mean: latency,
            p99: latency,
        };
        let accuracy = Accuracy::new(self.accuracy).expect("a fraction");
        Variant {
            model: ModelIndex(0),
            members: MemberSet::first(1),
            precision: VariantPrecision::Float32,
            device: DeviceKindIndex(self.device),
            batch: count(self.batch),
            profile: VariantProfile {
                latency: LatencyCurve::new(vec![point]).expect("a point"),
                lanes: count(self.lanes),
                loading: millis(self.loading_ms),
                memory: 0,
                share: DeviceShare::thousandths(self.thousandths).expect("a share"),
                sharing: DeviceSharing::Space,
                cost: CostRate::new(self.cost).expect("a cost"),
            },
            accuracy: AccuracyEstimate::published(accuracy),
        }
    }
}

/// A task of one model.
pub fn task(name: &str, sketches: &[Sketch]) -> TaskVariants {
    TaskVariants {
        name: name.to_owned(),
        models: vec!["model".to_owned()],
        variants: sketches.iter().map(|s| s.variant()).collect(),
    }
}

/// Tasks on as many kinds of devices, each of price 1.
pub fn catalog(kinds: usize, tasks: Vec<TaskVariants>) -> VariantCatalog {
    let kind = |at: usize| PricedDevice {
        name: format!("kind {at}"),
        price: CostRate::new(1.0).expect("a price"),
        memory: 1 << 34,
    };
    VariantCatalog::new((0..kinds).map(kind).collect(), tasks).expect("a catalogue")
}

/// A demand of `rate` queries a second within `latency_ms`, each worth `worth`.
pub fn demand(task: u16, rate: f64, latency_ms: f64, worth: f64) -> TaskDemand {
    TaskDemand {
        task: TaskIndex(task),
        goals: QueryGoals {
            latency: Some(LatencyGoal::new(millis(latency_ms)).expect("a goal")),
            ..QueryGoals::default()
        },
        rate: QueryRate::new(rate).expect("a rate"),
        usual: QueryRate::ZERO,
        missed: 0.0,
        worth: QueryCost::new(worth).expect("a worth"),
    }
}

/// A demand of `rate` queries a second with a least accuracy.
pub fn accurate(rate: f64, accuracy: f64) -> TaskDemand {
    let mut demand = demand(0, rate, 1e4, 10.0);
    demand.goals.accuracy = Some(Accuracy::new(accuracy).expect("a fraction"));
    demand
}

/// The three variants of Table 2 of INFaaS, each on a kind of device of its own: 200 ms, 5 a
/// second, 1 a second; 20, 100, 3; 15, 800, 16.
pub fn table_two() -> [Sketch; 3] {
    let of = |device, latency_ms, lanes, cost| Sketch {
        device,
        latency_ms,
        lanes,
        cost,
        thousandths: 10,
        ..Sketch::default()
    };
    [
        of(0, 200.0, 1, 1.0),
        of(1, 20.0, 2, 3.0),
        of(2, 15.0, 12, 16.0),
    ]
}
