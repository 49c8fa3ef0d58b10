//! Ensembles as they might be registered.

use std::num::NonZeroU32;
use std::time::Duration;

use divisi_engine::search::profiling::ProfileCondition;
use divisi_model::ensemble::{Combination, RuleKind};
use divisi_modelless::accuracy::{AccuracyEstimate, MemberSet};
use divisi_modelless::quantities::{CostRate, DeviceShare};
use divisi_modelless::variants::{
    DeviceKindIndex, DeviceSharing, LatencyCurve, LatencyPoint, ModelIndex, PricedDevice, Variant,
    VariantPrecision, VariantProfile,
};
use divisi_registry::records::{
    LabelledRows, MemberRecord, ModelRecord, ProfileOrigin, RecordedSource, RegisteredModel,
    TaskInterface,
};
use divisi_runtime::compute::calibration::NetworkDigest;
use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::{Error, StrDeserializer};

pub(crate) const MEMBERS: usize = 3;

pub(crate) fn digest(text: &str) -> NetworkDigest {
    let text: StrDeserializer<'_, Error> = text.into_deserializer();
    NetworkDigest::deserialize(text).expect("a text")
}

pub(crate) fn device(name: &str, price: f64) -> PricedDevice {
    PricedDevice {
        name: name.to_owned(),
        price: CostRate::new(price).expect("a price"),
        memory: 1 << 30,
    }
}

pub(crate) fn interface(classes: usize) -> TaskInterface {
    TaskInterface {
        sample: "1×8×8".to_owned(),
        classes,
        names: Vec::new(),
    }
}

pub(crate) fn record(number: u64) -> ModelRecord {
    let names = ["a", "b", "c"];
    ModelRecord {
        source: RecordedSource {
            path: "digits".to_owned(),
            shape: None,
        },
        members: names
            .map(|name| MemberRecord {
                name: name.to_owned(),
                network: digest(name),
                calibration: None,
            })
            .to_vec(),
        combination: Combination::equal_weights(RuleKind::Average, MEMBERS),
        interface: interface(10),
        rows: LabelledRows {
            count: 1000,
            digest: "rows".to_owned(),
        },
        devices: vec![device("1 core", 1e-5), device("a GPU", 1e-3)],
        origin: ProfileOrigin {
            program: "0.1.0".to_owned(),
            is_debug: true,
            processor: "a processor".to_owned(),
            kernels: "kernels 6, plain".to_owned(),
        },
        condition: ProfileCondition::Quiet,
        considered: 100,
        registered_at: number,
    }
}

/// A variant whose numbers all follow from one.
pub(crate) fn variant(number: u32) -> Variant {
    let millis = |n: u32| Duration::from_micros(u64::from(n) * 100);
    let point = |batch: u32| LatencyPoint {
        batch,
        mean: millis(number % 50 + batch),
        p99: millis(number % 50 + 2 * batch),
    };
    let precisions = [
        VariantPrecision::Float32,
        VariantPrecision::BrainFloat,
        VariantPrecision::Int8,
    ];
    Variant {
        model: ModelIndex(0),
        members: MemberSet::from_bits(u64::from(number % 7 + 1)),
        precision: precisions[number as usize % 3],
        device: DeviceKindIndex((number % 2) as u16),
        batch: NonZeroU32::new(number % 64 + 1).expect("above 0"),
        profile: VariantProfile {
            latency: LatencyCurve::new(vec![point(1), point(8)]).expect("rises"),
            lanes: NonZeroU32::MIN,
            loading: millis(number),
            memory: u64::from(number) << 20,
            share: DeviceShare::WHOLE,
            sharing: DeviceSharing::Time,
            cost: CostRate::new(f64::from(number) * 1e-6).expect("a cost"),
        },
        accuracy: AccuracyEstimate::counted(number % 1001, 1000).expect("a count"),
    }
}

/// An ensemble with some variants, all of which follow from one number.
pub(crate) fn model(name: &str, number: u32, variants: u32) -> RegisteredModel {
    RegisteredModel {
        name: name.to_owned(),
        record: record(u64::from(number)),
        variants: (number..number + variants).map(variant).collect(),
    }
}
