//! The sample ensemble as it might be registered, with made-up profiles.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use divisi_engine::changes::Changes;
use divisi_engine::deployment::{Deployment, DeploymentStart, ModelsRead};
use divisi_engine::search::profiling::ProfileCondition;
use divisi_engine::serving::EngineOptions;
use divisi_model::ensemble::{Ensemble, Files, QueuePolicy, Queueing};
use divisi_modelless::accuracy::{AccuracyEstimate, MemberSet};
use divisi_modelless::quantities::{CostRate, DeviceShare};
use divisi_modelless::variants::{
    DeviceKindIndex, DeviceSharing, LatencyCurve, LatencyPoint, ModelIndex, PricedDevice, Variant,
    VariantPrecision, VariantProfile,
};
use divisi_registry::records::{
    LabelledRows, MemberRecord, ModelRecord, ProfileOrigin, RecordedSource, RegisteredModel,
    StaleProfile, TaskInterface,
};
use divisi_registry::store::StoreContents;
use divisi_runtime::device::{Devices, Host};
use divisi_tasks::routing::{LiveRouter, TaskRouter};
use divisi_tasks::served::{ServedTasks, ServedTasksError};

/// One variant of the sample: its members, as bits, its numbers, its batch size, how many of 1 000 rows
/// it is right on, and the milliseconds of a sample.
#[derive(Clone, Copy)]
pub(crate) struct Made {
    pub(crate) members: u64,
    pub(crate) precision: VariantPrecision,
    pub(crate) batch: u32,
    pub(crate) right: u32,
    pub(crate) millis: u64,
}

/// A small, a middling and the whole ensemble.
pub(crate) const SMALL: Made = Made {
    members: 0b1,
    precision: VariantPrecision::BrainFloat,
    batch: 8,
    right: 900,
    millis: 1,
};
pub(crate) const MIDDLING: Made = Made {
    members: 0b110,
    precision: VariantPrecision::Int8,
    batch: 8,
    right: 970,
    millis: 4,
};
pub(crate) const WHOLE: Made = Made {
    members: 0b11_1111,
    precision: VariantPrecision::Float32,
    batch: 8,
    right: 990,
    millis: 20,
};

pub(crate) fn digits() -> Ensemble {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../sample_ensembles/digits");
    Ensemble::read(&Files::from_path(folder.as_ref())).expect("the sample")
}

pub(crate) fn partitions(names: &[&str]) -> Devices {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    Devices::from_names(&names, &Host::discover()).expect("devices")
}

fn variant(made: Made) -> Variant {
    let millis = Duration::from_millis(made.millis);
    let point = |batch: u32| LatencyPoint {
        batch,
        mean: millis * batch,
        p99: millis * batch,
    };
    let sizes = [1, made.batch];
    let points = sizes.iter().take(if made.batch > 1 { 2 } else { 1 });
    Variant {
        model: ModelIndex(0),
        members: MemberSet::from_bits(made.members),
        precision: made.precision,
        device: DeviceKindIndex(0),
        batch: NonZeroU32::new(made.batch).expect("above 0"),
        profile: VariantProfile {
            latency: LatencyCurve::new(points.map(|size| point(*size)).collect()).expect("rises"),
            lanes: NonZeroU32::MIN,
            loading: Duration::from_millis(1),
            memory: 1 << 20,
            share: DeviceShare::WHOLE,
            sharing: DeviceSharing::Time,
            cost: CostRate::new(1e-3).expect("a cost"),
        },
        accuracy: AccuracyEstimate::counted(made.right, 1000).expect("a count"),
    }
}

pub(crate) fn registered(ensemble: &Ensemble, made: &[Made]) -> RegisteredModel {
    RegisteredModel {
        name: "sample".to_owned(),
        record: ModelRecord {
            source: RecordedSource {
                path: "digits".to_owned(),
                shape: None,
            },
            members: ensemble
                .members
                .iter()
                .map(|m| MemberRecord::from_member(m))
                .collect(),
            combination: ensemble.combination(),
            interface: TaskInterface::from_ensemble(ensemble),
            rows: LabelledRows {
                count: 1000,
                digest: "rows".to_owned(),
            },
            devices: vec![PricedDevice {
                name: "1 core".to_owned(),
                price: CostRate::new(1e-3).expect("a price"),
                memory: 1 << 30,
            }],
            origin: ProfileOrigin::here(),
            condition: ProfileCondition::Quiet,
            considered: 100,
            registered_at: 0,
        },
        variants: made.iter().map(|made| variant(*made)).collect(),
    }
}

pub(crate) fn contents(task: &str, model: RegisteredModel) -> StoreContents {
    StoreContents {
        tasks: [(task.to_owned(), vec![model])].into(),
        ..StoreContents::default()
    }
}

/// Opens a task of the sample with some variants.
pub(crate) fn opened(made: &[Made]) -> Arc<ServedTasks> {
    opened_of(&digits(), made)
}

/// Opens a task of an ensemble with the sample's members.
pub(crate) fn opened_of(ensemble: &Ensemble, made: &[Made]) -> Arc<ServedTasks> {
    let contents = contents("numbers", registered(ensemble, made));
    let names = ["numbers".to_owned()];
    let read = |_: &RecordedSource| Ok::<_, StaleProfile>(ensemble.clone());
    let tasks = ServedTasks::open(&contents, &names, &partitions(&["cpu:0"]), read);
    Arc::new(tasks.expect("opens"))
}

/// Opens tasks of these names, each of the sample with the same variants.
pub(crate) fn opened_tasks(names: &[&str], made: &[Made]) -> Arc<ServedTasks> {
    let ensemble = digits();
    let models = |_: &&str| vec![registered(&ensemble, made)];
    let contents = StoreContents {
        tasks: names
            .iter()
            .map(|name| ((*name).to_owned(), models(name)))
            .collect(),
        ..StoreContents::default()
    };
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let read = |_: &RecordedSource| Ok::<_, StaleProfile>(ensemble.clone());
    let tasks = ServedTasks::open(&contents, &names, &partitions(&["cpu:0"]), read);
    Arc::new(tasks.expect("opens"))
}

/// The sample with a queue of its own, of three levels of which the second is the default.
pub(crate) fn with_own_queue() -> Ensemble {
    let own = Queueing::new(3, 2, QueuePolicy::default(), &BTreeMap::new()).expect("levels");
    Ensemble {
        queueing: Some(Arc::new(own)),
        ..digits()
    }
}

pub(crate) fn open(
    contents: &StoreContents,
    task: &str,
    devices: &[&str],
) -> Result<ServedTasks, ServedTasksError> {
    let read = |_: &RecordedSource| Ok::<_, StaleProfile>(digits());
    ServedTasks::open(contents, &[task.to_owned()], &partitions(devices), read)
}

/// Serves a task of the sample with some variants on one core.
pub(crate) fn serving(made: &[Made]) -> Arc<LiveRouter> {
    serving_tasks(opened(made))
}

/// Serves opened tasks on one core.
pub(crate) fn serving_tasks(tasks: Arc<ServedTasks>) -> Arc<LiveRouter> {
    let (devices, options) = (partitions(&["cpu:0"]), EngineOptions::default());
    let matrix = tasks.first_matrix(&devices, options).expect("fits");
    let read = ModelsRead {
        entries: tasks.entries().to_vec(),
        ..ModelsRead::default()
    };
    let start = DeploymentStart {
        name: "numbers".to_owned(),
        devices,
        options,
        matrix: Some(matrix),
    };
    let changes = Changes::new(Deployment::start(None, read, start).expect("starts"));
    let router = Arc::new(TaskRouter::new(tasks));
    Arc::new(LiveRouter::new(changes, router))
}
