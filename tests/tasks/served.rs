//! Registered tasks as a catalogue of models.

use std::sync::Arc;
use std::time::Duration;

use divisi_engine::serving::EngineOptions;
use divisi_model::catalogue::Catalogue;
use divisi_model::ensemble::RuleKind;
use divisi_modelless::goals::{LatencyGoal, QueryGoals};
use divisi_modelless::variants::{TaskIndex, VariantPrecision};
use divisi_registry::records::{RecordedSource, StaleProfile};
use divisi_registry::store::StoreContents;
use divisi_runtime::device::DeviceIndex;
use divisi_tasks::served::{ServedTasks, ServedTasksError, TaskQuery};

use crate::common::{
    MIDDLING, Made, SMALL, WHOLE, contents, digits, open, opened, opened_of, partitions,
    registered, with_own_queue,
};

#[test]
fn variants_that_differ_in_batches_alone_are_one_entry() {
    let larger = Made { batch: 32, ..SMALL };
    let tasks = opened(&[SMALL, larger, WHOLE]);
    let names: Vec<&str> = tasks.groups().iter().map(|group| &*group.name).collect();
    assert_eq!(names.len(), 2, "{names:?}");
    assert!(names.contains(&"numbers.sample.bf16.mlp"), "{names:?}");
    assert!(names.contains(&"numbers.sample.f32.all"), "{names:?}");
    assert_eq!(tasks.entries().len(), 2);
}

#[test]
fn entries_hold_the_members_of_their_variants_in_their_precision() {
    let tasks = opened(&[MIDDLING]);
    let ensemble = &tasks.entries()[0].ensemble;
    let names = ensemble.member_names();
    assert_eq!(names, ["cnn-s.int8", "cnn-m.int8"]);
    let precisions = ensemble.members.iter().map(|m| m.precision.to_string());
    assert_eq!(precisions.collect::<Vec<_>>(), ["int8", "int8"]);
    assert_eq!(ensemble.rule, digits().rule);
    assert_ne!(
        ensemble.rule,
        RuleKind::MajorityVote,
        "the sample's own rule"
    );
}

/// With the names of each ensemble, it depended on the goals which requests were valid.
#[test]
fn all_variants_have_the_tensor_names_of_the_first_ensemble() {
    let models = [("b", 1), ("a", 2)].map(|(name, at)| {
        let mut model = registered(&digits(), &[SMALL]);
        model.name = name.to_owned();
        model.record.source.path = name.to_owned();
        model.record.registered_at = at;
        model
    });
    let store = StoreContents {
        tasks: [("numbers".to_owned(), models.to_vec())].into(),
        ..StoreContents::default()
    };
    let read = |source: &RecordedSource| {
        let mut ensemble = digits();
        ensemble.tensor_names.input = Some(source.path.clone());
        Ok::<_, StaleProfile>(ensemble)
    };
    let names = ["numbers".to_owned()];
    let tasks = ServedTasks::open(&store, &names, &partitions(&["cpu:0"]), read).expect("opens");
    let inputs = tasks
        .entries()
        .iter()
        .map(|entry| entry.ensemble.tensor_names.input.as_deref());
    assert_eq!(inputs.collect::<Vec<_>>(), [Some("b"), Some("b")]);
}

#[test]
fn entries_of_one_precision_share_members() {
    let single = Made {
        members: 0b10,
        right: 950,
        millis: 2,
        ..MIDDLING
    };
    let other = Made {
        precision: VariantPrecision::Float32,
        millis: 3,
        ..single
    };
    let tasks = opened(&[single, MIDDLING, other]);
    let catalogue = Catalogue::new("numbers", tasks.entries().to_vec()).expect("a catalogue");
    let columns = catalogue.models().member_names();
    assert_eq!(columns.len(), 3, "{columns:?}");
}

#[test]
fn the_first_matrix_has_every_member_on_every_device_that_it_was_measured_on() {
    let tasks = opened(&[SMALL, MIDDLING]);
    let devices = partitions(&["cpu:0"]);
    let matrix = tasks
        .first_matrix(&devices, EngineOptions::default())
        .expect("fits");
    let workers = matrix
        .workers()
        .map(|(cell, size)| (cell.device, size.get()));
    let workers: Vec<_> = workers.collect();
    // Full batches of the small one take 8 ms, of the middling one 32 ms.
    assert_eq!(workers, vec![(DeviceIndex::new(0), 8); 3]);
}

#[test]
fn the_variants_that_run_are_those_of_the_workers_batches() {
    let larger = Made { batch: 32, ..SMALL };
    let tasks = opened(&[SMALL, larger, WHOLE]);
    let devices = partitions(&["cpu:0"]);
    let catalogue = Catalogue::new("numbers", tasks.entries().to_vec()).expect("a catalogue");
    let matrix = tasks
        .first_matrix(&devices, EngineOptions::default())
        .expect("fits");
    let running = tasks.running(&catalogue, &matrix, &devices);
    let words = running.iter().map(|running| tasks.words(running.variant));
    let mut words: Vec<String> = words.collect();
    words.sort();
    let expected = [
        "numbers.sample.bf16.mlp in batches of 8 on 1 core",
        "numbers.sample.f32.all in batches of 8 on 1 core",
    ];
    assert_eq!(words, expected);
    let parts: f64 = running[0].devices.iter().map(|(_, part)| part).sum();
    assert!((parts - 1.0).abs() < 1e-9, "{parts}");
}

#[test]
fn what_nobody_registered_is_not_served() {
    let contents = contents("numbers", registered(&digits(), &[SMALL]));
    let error = open(&contents, "letters", &["cpu:0"])
        .err()
        .expect("refused");
    assert_eq!(error.code(), "task_unknown");
    assert_eq!(
        error.to_string(),
        "task `letters` is not registered; registered tasks: numbers"
    );
}

#[test]
fn a_task_is_not_served_by_weights_other_than_those_that_were_measured() {
    let mut model = registered(&digits(), &[SMALL]);
    model.record.members[1].calibration = Some("another".to_owned());
    let error = open(&contents("numbers", model), "numbers", &["cpu:0"]);
    let error = error.err().expect("refused");
    assert_eq!(error.code(), "stale_weights");
    assert!(error.to_string().contains("register it again"), "{error}");
}

#[test]
fn one_changed_ensemble_of_seven_is_left_out_and_the_others_are_served() {
    let names = ["m0", "m1", "m2", "m3", "m4", "m5", "m6"];
    let models = names.map(|name| {
        let mut model = registered(&digits(), &[SMALL]);
        model.name = name.to_owned();
        model
    });
    let mut contents = contents("numbers", models[0].clone());
    let mut models = models.to_vec();
    models[3].record.members[1].calibration = Some("another".to_owned());
    contents.tasks.insert("numbers".to_owned(), models);
    let tasks = open(&contents, "numbers", &["cpu:0"]).expect("six are served");
    assert_eq!(tasks.groups().len(), 6);
    let left_out: Vec<_> = tasks.left_out().collect();
    assert_eq!(left_out.len(), 1);
    assert_eq!(left_out[0].ensemble, "m3");
    let remarks: Vec<String> = tasks.remarks().collect();
    assert_eq!(
        remarks,
        [
            "not served: `m3` of task `numbers` is stale: the network, weights or calibration of \
             member `cnn-s` changed; register it again"
        ]
    );
}

#[test]
fn a_task_is_not_served_on_devices_that_it_was_not_measured_on() {
    let mut model = registered(&digits(), &[SMALL]);
    model.record.devices[0].name = "4 cores".to_owned();
    let error = open(&contents("numbers", model), "numbers", &["cpu:0"]);
    let error = error.err().expect("refused");
    assert!(matches!(error, ServedTasksError::Devices { .. }), "{error}");
    let words = "`sample` of task `numbers` was registered for 4 cores, found 1 core";
    assert!(error.to_string().starts_with(words), "{error}");
}

#[test]
fn the_whole_ensemble_is_that_of_the_most_members() {
    let tasks = opened(&[SMALL, MIDDLING]);
    let (task, _) = tasks.names().next().expect("a task");
    let (group, ensemble) = tasks.whole(task).expect("an entry");
    assert_eq!(group.members.len(), 2);
    assert!(Arc::ptr_eq(ensemble, &tasks.entries()[1].ensemble));
}

#[test]
fn queries_without_a_latency_go_behind_unless_the_manifest_has_a_queue_of_its_own() {
    let none = QueryGoals::default();
    let timed = QueryGoals {
        latency: LatencyGoal::new(Duration::from_millis(5)).ok(),
        ..none
    };
    for (ensemble, levels, [with, without]) in
        [(digits(), 2, [0, 2]), (with_own_queue(), 3, [0, 0])]
    {
        let tasks = opened_of(&ensemble, &[SMALL]);
        let queueing = tasks.entries()[0].ensemble.queueing.as_ref();
        assert_eq!(queueing.map(|queue| queue.levels().len()), Some(levels));
        let priority = |goals: &QueryGoals, own: u64| {
            let query = TaskQuery {
                task: TaskIndex(0),
                goals,
                samples: 1,
                priority: own,
            };
            tasks.urgency(0, query).priority()
        };
        assert_eq!(
            [&timed, &none].map(|goals| priority(goals, 0)),
            [with, without]
        );
        assert_eq!(tasks.untimed(0).priority(), without, "of rows of a job");
        // What it says itself overrules that.
        assert_eq!([&timed, &none].map(|goals| priority(goals, 1)), [0, 0]);
        assert_eq!(
            [&timed, &none].map(|goals| priority(goals, 2)),
            [without; 2]
        );
    }
}
