//! The sample ensemble of digits, from its files to the variants of a task.

use std::path::Path;
use std::sync::Arc;

use divisi_engine::search::Control;
use divisi_engine::serving::NetworkFactory;
use divisi_model::catalogue::Demand;
use divisi_model::ensemble::{Ensemble, Files, Samples};
use divisi_modelless::choice::TaskChoices;
use divisi_modelless::goals::QueryGoals;
use divisi_modelless::quantities::Accuracy;
use divisi_modelless::variants::VariantPrecision::{self, BrainFloat, Float32, Int8};
use divisi_registry::profiles::DevicePrices;
use divisi_registry::records::{RecordedSource, RegisteredModel};
use divisi_registry::registration::{KindOfDevice, Registration, RegistrationError};
use divisi_registry::store::{CatalogedTasks, PATIENCE, Store};
use divisi_runtime::device::{Devices, Host};

const ROWS: usize = 200;

fn ensemble(name: &str) -> Arc<Ensemble> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sample_ensembles");
    Arc::new(Ensemble::read(&Files::from_path(&root.join(name))).expect("the sample"))
}

fn source() -> RecordedSource {
    RecordedSource {
        path: "digits".to_owned(),
        shape: None,
    }
}

fn register(
    ensemble: &Arc<Ensemble>,
    devices: &str,
    precisions: &[VariantPrecision],
    samples: &Samples,
    control: &Control,
) -> Result<RegisteredModel, RegistrationError> {
    let host = Host::discover();
    let devices = Devices::from_names(&[devices.to_owned()], &host).expect("a device");
    let kinds = KindOfDevice::from_devices(&devices, &host, &DevicePrices::default())?;
    let registration = Registration {
        demand: &Demand::from_ensemble(Arc::clone(ensemble)),
        kinds: &kinds,
        precisions,
        samples,
        factory: Arc::new(NetworkFactory::new(Arc::clone(ensemble))),
        cache: None,
        control,
    };
    registration.measure(source())
}

fn first(samples: &Samples) -> Samples {
    let labels = samples.labels().expect("labels")[..ROWS].to_vec();
    let values = samples.rows(0, ROWS).into_owned();
    Samples::new(values, samples.width(), Some(labels)).expect("samples")
}

#[test]
fn digits_become_variants_that_a_query_is_answered_by() {
    let digits = ensemble("digits");
    let samples = first(digits.calibration.as_ref().expect("samples"));
    let precisions = [Float32, Int8];
    let model = register(&digits, "cpu:0", &precisions, &samples, &Control::default());
    let model = model.expect("registers");
    assert_eq!(
        model.record.considered,
        63 * 2 * 5,
        "sub-ensembles, precisions, batch sizes"
    );
    assert_eq!(model.record.rows.count, 200);
    let whole = model
        .variants
        .iter()
        .filter(|v| v.members.len() == 6 && v.precision == Float32);
    assert_eq!(
        whole.clone().count(),
        5,
        "the whole ensemble in every batch size"
    );
    for v in &model.variants {
        let batch = v.batch.get();
        assert_eq!(
            v.profile.latency.points().last().map(|p| p.batch),
            Some(batch)
        );
        assert!(v.accuracy.value().get() > 0.8, "{v:?}");
        assert!(
            v.profile.memory > 0 && !v.profile.loading.is_zero(),
            "{v:?}"
        );
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("tasks.redb");
    Store::open(&path, PATIENCE)
        .and_then(|s| s.register("digits", &model))
        .expect("writes");
    let contents = Store::read(&path, PATIENCE).expect("reads");
    assert_eq!(contents.tasks["digits"], std::slice::from_ref(&model));
    let mut tasks = CatalogedTasks::default();
    tasks.add("digits", &[&contents.tasks["digits"][0]]);
    let choices = TaskChoices::new(tasks.finish().expect("a catalogue"));
    let goals = QueryGoals {
        accuracy: Some(Accuracy::percent(97.0).expect("a share")),
        ..QueryGoals::default()
    };
    let chosen = choices
        .choose_by_name("digits", &goals)
        .expect("one is accurate enough");
    let chosen = choices.catalog().variant(chosen.variant);
    let cost = chosen.query_cost();
    let all = whole.map(divisi_modelless::variants::Variant::query_cost);
    assert!(
        all.into_iter().all(|whole| cost <= whole),
        "no dearer than the whole ensemble"
    );
}

#[test]
fn what_cannot_be_counted_is_refused_before_anything_is_measured() {
    let digits = ensemble("digits");
    let labelled = first(digits.calibration.as_ref().expect("samples"));
    let width = labelled.width();
    let bare = Samples::new(vec![0.0; 2 * width], width, None).expect("samples");
    let cases = [
        (
            "digits",
            "cpu:0",
            &[Float32][..],
            &bare,
            "expected samples with labels, found none",
        ),
        (
            "digits",
            "sim:v100",
            &[Float32],
            &labelled,
            "which is simulated",
        ),
        ("imn1", "cpu:0", &[Float32], &labelled, "synthetic weights"),
    ];
    for (name, device, precisions, samples, said) in cases {
        let ensemble = ensemble(name);
        let refused = register(&ensemble, device, precisions, samples, &Control::default());
        let why = refused.expect_err(said);
        assert!(why.to_string().contains(said), "{why}");
        assert_eq!(why.code(), "registration_not_counted");
    }
}

#[test]
fn whoever_ends_it_is_told_that_nothing_was_written() {
    let digits = ensemble("digits");
    let samples = first(digits.calibration.as_ref().expect("samples"));
    let control = Control::default();
    control.cancel();
    let ended = register(&digits, "cpu:0", &[BrainFloat], &samples, &control);
    let why = ended.expect_err("was ended");
    assert_eq!(
        why.to_string(),
        "the registration was interrupted: nothing was written"
    );
    assert_eq!(why.code(), "registration_interrupted");
}
