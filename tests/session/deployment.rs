//! Models come, go and are replaced while requests flow: each request is answered by a version that was
//! served while it was under way, and none is lost.

use std::collections::{BTreeMap, BTreeSet};
use std::num::{NonZeroU64, NonZeroUsize};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use divisi_engine::changes::Changes;
use divisi_engine::deployment::{
    CatalogueChange, Deployment, DeploymentError, DeploymentStart, Handover, LoadState,
    ModelOverride, ModelSource, ModelsRead, ModelsToRead,
};
use divisi_engine::serving::{DoorState, EngineOptions, PipelineIndex, Request, Setup};
use divisi_model::catalogue::{
    Catalogue, CatalogueError, InstanceGroup, InstancePlace, Interface, NewEntry, WarmupRequest,
};
use divisi_model::codes::{Code, Coded};
use divisi_model::ensemble::{Ensemble, Files};
use divisi_runtime::device::MemberIndex;
use divisi_session::{Command, Health, LiveSession, LoadPattern, ModelKind, SearchOrder, Session};

use crate::common::{two_devices, until};
use crate::folder::Folder;
use crate::wait::{wait_for, wait_until};

/// An ensemble of one network that answers `answers` numbers for each sample of four.
fn network(name: &str, answers: usize) -> Arc<Ensemble> {
    read(&format!(
        "name = \"{name}\"\nanswers = {{ values = {answers} }}\nsegment_size = 8\n\
         batch_sizes = [1, 4]\n[input]\nshape = [4]\n\
         [[members]]\nname = \"{name}\"\nnetwork = {{ builder = \"perceptron\", hidden = [8] }}\n"
    ))
}

fn read(manifest: &str) -> Arc<Ensemble> {
    let folder = Folder::new();
    folder.write("ensemble.toml", manifest.as_bytes());
    Arc::new(Ensemble::read(&Files::from_path(folder.path())).expect("an ensemble"))
}

fn entry(name: &str, version: u64, ensemble: &Arc<Ensemble>) -> NewEntry {
    NewEntry {
        name: name.into(),
        version: NonZeroU64::new(version).expect("from 1"),
        ensemble: Arc::clone(ensemble),
        interface: Interface::default(),
        warmup: Arc::default(),
        instances: Vec::new(),
        first_batch: None,
        enough: None,
    }
}

/// A source whose models are what a test says.
#[derive(Default)]
struct Shelf {
    models: Mutex<BTreeMap<String, Result<Vec<NewEntry>, String>>>,
}

impl Shelf {
    fn put(&self, name: &str, model: Result<Vec<NewEntry>, String>) {
        self.models
            .lock()
            .expect("no panic")
            .insert(name.into(), model);
    }
}

impl ModelSource for Shelf {
    fn names(&self) -> Vec<String> {
        self.models
            .lock()
            .expect("no panic")
            .keys()
            .cloned()
            .collect()
    }

    fn read(&self, wanted: ModelsToRead<'_>) -> ModelsRead {
        let mut read = ModelsRead::default();
        let models = self.models.lock().expect("no panic");
        for (name, model) in models
            .iter()
            .filter(|(name, _)| wanted.names.contains(*name))
        {
            match model {
                Ok(entries) => read.entries.extend(entries.iter().cloned()),
                Err(reason) => {
                    read.failures.insert(name.clone(), reason.clone());
                }
            }
        }
        read
    }
}

fn start(shelf: &Arc<Shelf>, names: &[&str]) -> Result<Arc<Changes>, DeploymentError> {
    let names: BTreeSet<String> = names.iter().map(ToString::to_string).collect();
    let read = shelf.read(ModelsToRead::first(&names));
    let start = DeploymentStart {
        name: "shelf".into(),
        devices: two_devices(),
        options: EngineOptions::default(),
        matrix: None,
    };
    let source = Arc::<Shelf>::clone(shelf);
    Ok(Changes::new(Deployment::start(Some(source), read, start)?))
}

fn apply(changes: &Changes, setup: &Setup) {
    let plan = changes.plan(setup).expect("it fits");
    changes.make(plan, Handover::Beside).expect("applies");
}

/// Asks a model of what runs. Returns the numbers of its answer to one sample, or `None` if it is not
/// served.
fn ask(changes: &Changes, name: &str) -> Option<usize> {
    loop {
        let running = changes.running();
        let number = running.catalogue.find(name, None)?;
        let request = Request::new(&[0.1, 0.2, 0.3, 0.4]).to(PipelineIndex(number));
        match running.engine.predict(request) {
            Ok(outcome) => return Some(outcome.expect("an answer").rows().map(<[f32]>::len).sum()),
            // An engine that ends takes nothing any more; the next one runs already.
            Err(refused) => assert_ne!(
                running.number,
                changes.running().number,
                "{refused}: {:?}",
                running.engine.telemetry().door()
            ),
        }
    }
}

#[test]
fn entries_that_hold_a_member_share_its_column() {
    let one = network("a", 3);
    let both = Ensemble {
        members: vec![
            Arc::clone(&one.members[0]),
            Arc::clone(&network("b", 3).members[0]),
        ],
        ..Ensemble::clone(&one)
    };
    let both = Arc::new(both);
    let entries = vec![
        entry("a", 1, &one),
        entry("both", 1, &both),
        entry("c", 1, &network("a", 2)),
    ];
    let catalogue = Catalogue::new("all", entries).expect("a catalogue");
    let columns = catalogue.entries().iter().map(|e| {
        let numbers = e.columns().iter().map(|c| c.get());
        numbers.collect::<Vec<_>>()
    });
    assert_eq!(columns.collect::<Vec<_>>(), [vec![0], vec![0, 1], vec![2]]);
    // Two members may have one name; columns may not.
    assert_eq!(catalogue.models().member_names(), ["a", "b", "c/a"]);
}

#[test]
fn a_column_goes_on_from_that_of_its_member_whatever_it_is_called() {
    let of = |name: &str, version: u64| entry(name, version, &network("m", 3));
    let (a, b) = (of("a", 1), of("b", 1));
    let catalogue = |entries: &[&NewEntry]| {
        let entries = entries.iter().map(|entry| (*entry).clone());
        Catalogue::new("all", entries.collect()).expect("a catalogue")
    };
    let both = catalogue(&[&a, &b]);
    assert_eq!(both.models().member_names(), ["m", "b/m"]);
    for (entries, names, expected) in [
        (&[&b][..], &["m"][..], &[Some(1)][..]),
        (&[&b, &a], &["m", "a/m"], &[Some(1), Some(0)]),
        (&[&a, &of("b", 2)], &["m", "b/m"], &[Some(0), Some(1)]),
        (
            &[&of("b", 2), &b, &of("c", 1)],
            &["m", "b/m", "c/m"],
            &[None, Some(1), None],
        ),
    ] {
        let next = catalogue(entries);
        assert_eq!(next.models().member_names(), names);
        let found = next.predecessors(&both).into_iter();
        let found: Vec<Option<usize>> = found.map(|column| Some(column?.get())).collect();
        assert_eq!(found, expected, "{names:?}");
    }
}

#[test]
fn a_column_goes_on_from_that_of_its_own_version_first() {
    // A load reads all of them again.
    let versions = |numbers: &[u64]| {
        let entries = numbers
            .iter()
            .map(|number| entry("a", *number, &network("m", 3)));
        Catalogue::new("all", entries.collect()).expect("a catalogue")
    };
    let before = versions(&[1, 3]);
    for (numbers, expected) in [
        (&[1, 3, 10][..], &[Some(0), Some(1), None][..]),
        (&[10, 3], &[Some(0), Some(1)]),
        (&[3], &[Some(1)]),
        (&[10], &[Some(0)]),
    ] {
        let found = versions(numbers).predecessors(&before).into_iter();
        let found: Vec<Option<usize>> = found.map(|column| Some(column?.get())).collect();
        assert_eq!(found, expected, "{numbers:?}");
    }
}

#[test]
fn a_model_that_goes_and_comes_takes_no_column_of_another_one() {
    let shelf = Arc::new(Shelf::default());
    for (name, answers) in [("a", 3), ("b", 5)] {
        shelf.put(name, Ok(vec![entry(name, 1, &network("m", answers))]));
    }
    let changes = start(&shelf, &["a", "b"]).expect("starts");
    let unload = CatalogueChange::Unload {
        name: "a".into(),
        dependents: false,
    };
    let load = CatalogueChange::Load("a".into());
    for (change, came, went) in [(unload, &[][..], &["m"][..]), (load, &["m"], &[])] {
        let plan = changes.plan_change(&change).expect("it fits");
        let preview = plan.preview();
        assert_eq!(preview.columns_came, came);
        assert_eq!(preview.columns_went, went);
        assert!(preview.moved.is_empty(), "{:?}", preview.moved);
        changes.make(plan, Handover::Beside).expect("applies");
        assert_eq!(ask(&changes, "b"), Some(5));
    }
}

#[test]
fn a_catalogue_has_no_entry_twice() {
    let one = network("a", 3);
    let twice = Catalogue::new("all", vec![entry("a", 1, &one), entry("a", 1, &one)]);
    assert!(matches!(twice, Err(CatalogueError::Twice { .. })));
    let none = Catalogue::new("all", Vec::new()).expect("there is nothing yet");
    assert!(none.entries().is_empty() && none.models().members.is_empty());
    let two = vec![
        entry("a", 2, &one),
        entry("a", 10, &one),
        entry("a", 3, &one),
    ];
    let versions = Catalogue::new("all", two).expect("a catalogue");
    assert_eq!(versions.find("a", None), Some(1), "the newest");
    assert_eq!(versions.find("a", NonZeroU64::new(3)), Some(2));
    assert_eq!(versions.find("b", None), None);
}

#[test]
fn each_model_answers_its_own_requests() {
    let shelf = Arc::new(Shelf::default());
    for (name, answers) in [("a", 3), ("b", 5), ("c", 7)] {
        shelf.put(name, Ok(vec![entry(name, 1, &network(name, answers))]));
    }
    let changes = start(&shelf, &["a", "b", "c"]).expect("starts");
    for (name, answers) in [("a", 3), ("b", 5), ("c", 7), ("a", 3)] {
        assert_eq!(ask(&changes, name), Some(answers), "{name}");
    }
    assert_eq!(ask(&changes, "d"), None);
    let figures = changes.running().engine.telemetry().entries();
    let answered = figures.iter().map(|entry| entry.answered);
    assert_eq!(answered.collect::<Vec<_>>(), [2, 1, 1]);
}

#[test]
fn a_model_is_loaded_unloaded_and_replaced() {
    let shelf = Arc::new(Shelf::default());
    shelf.put("a", Ok(vec![entry("a", 1, &network("a", 3))]));
    shelf.put("b", Ok(vec![entry("b", 1, &network("b", 5))]));
    let changes = start(&shelf, &["a"]).expect("starts");
    assert_eq!(ask(&changes, "b"), None);
    changes.load("b").expect("loads");
    assert_eq!((ask(&changes, "a"), ask(&changes, "b")), (Some(3), Some(5)));
    // A new version of what is served.
    shelf.put("a", Ok(vec![entry("a", 2, &network("a", 4))]));
    changes.load("a").expect("loads");
    assert_eq!((ask(&changes, "a"), ask(&changes, "b")), (Some(4), Some(5)));
    changes.unload("b", false).expect("unloads");
    assert_eq!((ask(&changes, "a"), ask(&changes, "b")), (Some(4), None));
}

#[test]
fn what_does_not_change_is_the_same_engine() {
    let shelf = Arc::new(Shelf::default());
    shelf.put("a", Ok(vec![entry("a", 1, &network("a", 3))]));
    let changes = start(&shelf, &["a"]).expect("starts");
    changes.load("a").expect("is there");
    assert_eq!(changes.running().number, 0);
}

#[test]
fn a_model_that_cannot_be_read_leaves_the_others_and_itself_serving() {
    let shelf = Arc::new(Shelf::default());
    shelf.put("a", Ok(vec![entry("a", 1, &network("a", 3))]));
    shelf.put("b", Err("model.onnx: it is cut off".into()));
    let changes = start(&shelf, &["a", "b"]).expect("one can be served");
    let reason = |name: &str| {
        let models = changes.deployment().models();
        let model = models
            .into_iter()
            .find(|m| m.name == name)
            .expect("is listed");
        (model.state, model.failure)
    };
    let cut = || "model.onnx: it is cut off".to_owned();
    assert_eq!(reason("b"), (LoadState::Unloaded(cut()), Some(cut())));
    let refused = changes.load("b").expect_err("cannot be read");
    assert_eq!(refused.to_string(), "model `b`: model.onnx: it is cut off");
    // One that served before serves on as it was.
    shelf.put("a", Err("config.pbtxt: no name".into()));
    let refused = changes.load("a").expect_err("cannot be read");
    assert_eq!(refused.code(), Code::ModelInvalid);
    assert_eq!(ask(&changes, "a"), Some(3));
    assert_eq!(
        reason("a"),
        (LoadState::Loaded, Some("config.pbtxt: no name".into()))
    );
}

#[test]
fn what_cannot_be_changed_is_refused_with_its_reason() {
    let shelf = Arc::new(Shelf::default());
    let one = network("a", 3);
    let both = Ensemble {
        members: vec![
            Arc::clone(&one.members[0]),
            Arc::clone(&network("b", 3).members[0]),
        ],
        ..Ensemble::clone(&one)
    };
    shelf.put("a", Ok(vec![entry("a", 1, &one)]));
    shelf.put("both", Ok(vec![entry("both", 1, &Arc::new(both))]));
    let changes = start(&shelf, &["a", "both"]).expect("starts");
    let configured = ModelOverride {
        config: Some("{}".into()),
        ..ModelOverride::default()
    };
    let cases = [
        (changes.load("x"), "there is no model `x`"),
        (
            changes.load_as("a", &configured),
            "model `a`: its manifest is fixed; only models of a repository can be configured",
        ),
        (changes.unload("x", false), "there is no model `x`"),
        (
            changes.unload("a", false),
            "model `a` is used by `both`; unload that first, or both with `unload_dependents`",
        ),
    ];
    for (refused, words) in cases {
        assert_eq!(refused.expect_err("refused").to_string(), words);
    }
    changes.unload("both", false).expect("nobody uses it");
    let fixed = Deployment::start(
        None,
        ModelsRead {
            entries: vec![entry("a", 1, &one)],
            ..ModelsRead::default()
        },
        DeploymentStart {
            name: "fixed".into(),
            devices: two_devices(),
            options: EngineOptions::default(),
            matrix: None,
        },
    );
    let refused = Changes::new(fixed.expect("starts"))
        .load("a")
        .expect_err("is fixed");
    assert_eq!(refused.code(), Code::ModelsFixed);
}

#[test]
fn a_server_without_models_waits_for_the_first_and_outlives_the_last() {
    let shelf = Arc::new(Shelf::default());
    shelf.put("a", Ok(vec![entry("a", 1, &network("a", 3))]));
    shelf.put("b", Err("config.pbtxt: no name".into()));
    let changes = Arc::new(start(&shelf, &[]).expect("there is nothing to serve yet"));
    let running = changes.running();
    assert!(running.catalogue.entries().is_empty());
    assert_eq!(running.engine.telemetry().door(), DoorState::Open);
    assert!(running.engine.predict(Request::new(&[0.1; 4])).is_err());
    let mut session = LiveSession::of_changes(Arc::clone(&changes), None);
    let shown = session.snapshot();
    let waits = |health: &Health| matches!(health, Health::Closed(why) if why.contains("load one"));
    assert!(waits(&shown.health), "{:?}", shown.health);
    assert!(shown.members.is_empty() && shown.entries.is_empty() && shown.can_load);
    assert_eq!(shown.devices.len(), 2);
    assert_eq!(
        shown.models.len(),
        2,
        "they can be loaded: {:?}",
        shown.models
    );
    session.preview(&shown.setup()).expect("nothing changes");
    let pattern = LoadPattern::closed(1, 1);
    for (command, code) in [
        (Command::StartLoad(pattern), Code::NoModels),
        (Command::StartSearch(SearchOrder::quick()), Code::NoModels),
        (
            Command::SetVote(MemberIndex::new(0), false),
            Code::UnknownMember,
        ),
    ] {
        let refused = session.command(command).expect_err("nothing is served");
        assert_eq!(refused.code(), code, "{refused}");
    }
    let refused = changes.load("b").expect_err("cannot be read");
    assert_eq!(refused.code(), Code::ModelInvalid);
    for _ in 0..2 {
        changes.load("a").expect("loads");
        assert_eq!(ask(&changes, "a"), Some(3));
        until(&mut session, |s| {
            s.health == Health::Serving && s.members.len() == 1
        });
        changes.unload("a", false).expect("the last may go");
        assert_eq!(ask(&changes, "a"), None);
        until(&mut session, |s| waits(&s.health) && s.members.is_empty());
    }
}

#[test]
fn a_server_that_nothing_can_be_loaded_in_needs_a_model() {
    let nothing = || DeploymentStart {
        name: "nothing".into(),
        devices: two_devices(),
        options: EngineOptions::default(),
        matrix: None,
    };
    let fixed = Deployment::start(None, ModelsRead::default(), nothing());
    assert_eq!(fixed.err().map(|e| e.code()), Some(Code::NoModels));
    let shelf = Arc::new(Shelf::default());
    shelf.put("b", Err("config.pbtxt: no name".into()));
    let failed = start(&shelf, &["b"])
        .err()
        .expect("what was asked for cannot be read");
    assert!(
        failed.to_string().contains("model `b`: config.pbtxt"),
        "{failed}"
    );
}

#[test]
fn models_that_stay_keep_their_places_and_batch_sizes() {
    let shelf = Arc::new(Shelf::default());
    shelf.put("a", Ok(vec![entry("a", 1, &network("a", 3))]));
    shelf.put("b", Ok(vec![entry("b", 1, &network("b", 5))]));
    let changes = start(&shelf, &["a"]).expect("starts");
    let running = changes.running();
    let setup = running.engine.setup();
    let (cell, _) = setup.matrix.workers().next().expect("a worker");
    let largest = setup.matrix.frame().batch_sizes.largest();
    let matrix = setup
        .matrix
        .with_entry(cell, Some(largest))
        .expect("a matrix");
    let larger = setup.with_matrix(matrix);
    apply(&changes, &larger);
    shelf.put("a", Ok(vec![entry("a", 2, &network("a", 4))]));
    changes.load("b").expect("loads");
    let sizes = changes.running().engine.matrix().rows();
    assert_eq!(sizes.concat().iter().max(), Some(&4), "{sizes:?}");
}

#[test]
fn models_that_stay_keep_the_numbers_that_somebody_chose_for_them() {
    let shelf = Arc::new(Shelf::default());
    shelf.put("a", Ok(vec![entry("a", 1, &network("a", 3))]));
    shelf.put("b", Ok(vec![entry("b", 1, &network("b", 5))]));
    let changes = start(&shelf, &["a"]).expect("starts");
    let running = changes.running();
    let int8 = "int8".parse().expect("a precision");
    let chosen = running
        .engine
        .setup()
        .with_precision(MemberIndex::new(0), int8);
    apply(&changes, &chosen);
    let names = |changes: &Changes| {
        let setup = changes.running().engine.setup();
        let columns = setup.matrix.frame().members.iter().zip(&setup.precisions);
        let named = columns.map(|(name, precision)| format!("{name} {precision}"));
        named.collect::<Vec<_>>()
    };
    // A new version of it goes on, what comes is computed as its manifest says.
    shelf.put("a", Ok(vec![entry("a", 2, &network("a", 4))]));
    changes.load("b").expect("loads");
    assert_eq!(names(&changes), ["a int8", "b f32"]);
    changes.load("a").expect("loads");
    assert_eq!(names(&changes), ["a int8", "b f32"]);
    assert_eq!(ask(&changes, "a"), Some(4));
    changes.unload("a", false).expect("unloads");
    changes.load("a").expect("loads");
    assert_eq!(names(&changes), ["a f32", "b f32"], "it came anew");
}

#[test]
fn no_request_is_lost_or_answered_by_another_model_through_many_changes() {
    let shelf = Arc::new(Shelf::default());
    let versions = [network("a", 3), network("a", 4)];
    shelf.put("a", Ok(vec![entry("a", 1, &versions[0])]));
    shelf.put("b", Ok(vec![entry("b", 1, &network("b", 9))]));
    let changes = start(&shelf, &["a", "b"]).expect("starts");
    let (over, asked) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicU64::new(0)),
    );
    let clients = (0..3).map(|_| {
        let (changes, over, asked) = (changes.clone(), over.clone(), asked.clone());
        thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                let of_a = ask(&changes, "a").expect("`a` is always served");
                assert!([3, 4].contains(&of_a), "{of_a} numbers");
                assert!([None, Some(9)].contains(&ask(&changes, "b")));
                asked.fetch_add(2, Ordering::Relaxed);
            }
        })
    });
    let clients: Vec<_> = clients.collect();
    for change in 0..40u64 {
        let version = versions[change as usize % 2].clone();
        shelf.put("a", Ok(vec![entry("a", 2 + change, &version)]));
        changes.load("a").expect("loads");
        match change % 4 {
            1 => changes.unload("b", false).expect("unloads"),
            3 => changes.load("b").expect("loads"),
            _ => {}
        }
        // Requests are answered between any two changes.
        let before = asked.load(Ordering::Relaxed);
        wait_for(|| match asked.load(Ordering::Relaxed) {
            now if now > before => Ok(()),
            now => Err(now),
        });
    }
    over.store(true, Ordering::Relaxed);
    for client in clients {
        client.join().expect("nothing was lost");
    }
    let running = changes.running();
    assert_eq!(running.number, 60);
    assert_eq!(running.engine.telemetry().door(), DoorState::Open);
}

#[test]
fn what_is_served_keeps_its_name_whichever_models_there_are() {
    let shelf = Arc::new(Shelf::default());
    shelf.put("a", Ok(vec![entry("a", 1, &network("a", 3))]));
    shelf.put("b", Ok(vec![entry("b", 1, &network("b", 5))]));
    let changes = start(&shelf, &[]).expect("starts");
    let mut session = LiveSession::of_changes(Arc::clone(&changes), None);
    assert_eq!(&*session.snapshot().ensemble, "shelf");
    let mut is_named = |number: u64| {
        let shown = until(&mut session, |shown| shown.generation == number);
        assert_eq!(&*shown.ensemble, "shelf");
    };
    changes.load("a").expect("loads");
    is_named(1);
    changes.load("b").expect("loads");
    is_named(2);
    changes.unload("a", false).expect("nobody uses it");
    is_named(3);
    changes.unload("b", false).expect("nobody uses it");
    is_named(4);
    let log = session.snapshot().log;
    let says = |words: &str| log.iter().any(|line| line.text.starts_with(words));
    assert!(says("serving `shelf` without models"), "{log:?}");
    assert!(says("serving `shelf` with "), "{log:?}");
}

#[test]
fn a_console_follows_what_is_loaded() {
    let shelf = Arc::new(Shelf::default());
    shelf.put("a", Ok(vec![entry("a", 1, &network("a", 3))]));
    shelf.put("b", Ok(vec![entry("b", 1, &network("b", 5))]));
    let changes = start(&shelf, &["a"]).expect("starts");
    let mut session = LiveSession::of_changes(changes, None);
    let before = session.snapshot();
    assert_eq!(
        (before.generation, before.matrix.frame().members.len()),
        (0, 1)
    );
    let unserved = before.models.iter().map(|m| m.unserved.as_deref());
    assert_eq!(unserved.collect::<Vec<_>>(), [None, Some("not loaded")]);
    let load = Command::LoadModel("b".into());
    session.command(load).expect("is begun");
    let shown = until(&mut session, |shown| shown.generation == 1);
    assert_eq!(shown.matrix.frame().members, ["a", "b"]);
    let kinds = shown.models.iter().map(|m| m.kind);
    assert_eq!(kinds.collect::<Vec<_>>(), [Some(ModelKind::Model); 2]);
    assert!(
        shown
            .log
            .iter()
            .any(|l| l.text == "`b` version 1 is loaded")
    );
    assert!(shown.now > before.now, "time goes on");
}

#[test]
fn models_are_placed_where_they_are_wished_as_far_as_a_matrix_says_it() {
    let group = |count, place| InstanceGroup {
        count,
        place,
        gpus: Vec::new(),
    };
    for (groups, expected, remark) in [
        (vec![], 1, None),
        (vec![group(1, InstancePlace::Processors)], 1, None),
        (vec![group(2, InstancePlace::Any)], 2, None),
        (
            vec![group(3, InstancePlace::Processors)],
            2,
            Some("one instance on each of 2 devices, not 3 in all"),
        ),
        (
            vec![group(1, InstancePlace::Gpus)],
            1,
            Some("this server has no such GPUs"),
        ),
    ] {
        let shelf = Arc::new(Shelf::default());
        let wished = |name: &str| NewEntry {
            instances: groups.clone(),
            ..entry(name, 1, &network(name, 3))
        };
        shelf.put("a", Ok(vec![wished("a")]));
        shelf.put("b", Ok(vec![wished("b")]));
        let changes = start(&shelf, &["a"]).expect("starts");
        let workers = || changes.running().engine.matrix().workers().count();
        assert_eq!(workers(), expected, "{groups:?}");
        let told = changes.deployment().take_notices();
        assert_eq!(told.len(), usize::from(remark.is_some()), "{told:?}");
        assert!(
            remark.is_none_or(|words| told[0].ends_with(words)),
            "{told:?}"
        );
        changes.load("b").expect("loads");
        assert_eq!(workers(), 2 * expected, "{groups:?}");
    }
}

#[test]
fn a_new_version_that_does_not_warm_up_leaves_the_old_one_serving() {
    let shelf = Arc::new(Shelf::default());
    let warm = |values: Vec<f32>| {
        Arc::new([WarmupRequest {
            name: "first".into(),
            count: NonZeroUsize::MIN,
            rows: NonZeroUsize::MIN,
            values,
        }])
    };
    let old = NewEntry {
        warmup: warm(vec![0.5; 8]),
        ..entry("a", 1, &network("a", 3))
    };
    shelf.put("a", Ok(vec![old]));
    let changes = start(&shelf, &["a"]).expect("starts");
    let new = NewEntry {
        warmup: warm(vec![0.5; 7]),
        ..entry("a", 2, &network("a", 4))
    };
    shelf.put("a", Ok(vec![new]));
    let refused = changes.load("a").expect_err("it does not warm up");
    let expected = "model `a`: warm-up `first`: expected samples of 4 values, found 7 values";
    assert_eq!(refused.to_string(), expected);
    let number = changes.running().number;
    changes.refresh().expect("nothing changed");
    assert_eq!(
        changes.running().number,
        number,
        "it is not tried again by itself"
    );
    let running = changes.running();
    assert_eq!(running.catalogue.entries()[0].version().get(), 1);
    let status = &changes.deployment().models()[0];
    assert!(
        status
            .failure
            .as_ref()
            .is_some_and(|why| why.contains("warm-up"))
    );
}

#[test]
fn a_server_that_ends_does_not_wait_for_warm_ups() {
    let shelf = Arc::new(Shelf::default());
    shelf.put("a", Ok(vec![entry("a", 1, &network("a", 3))]));
    shelf.put("b", Ok(vec![endless("b")]));
    let changes = start(&shelf, &["a"]).expect("starts");
    let loading = Arc::clone(&changes);
    let loading = thread::spawn(move || loading.load("b").expect_err("the server ends"));
    wait_until("it warms up", || changes.status().reload.is_some());
    changes.deployment().leave();
    let why = loading.join().expect("no panic");
    assert_eq!(
        why.to_string(),
        "the server is ending; nothing changes any more"
    );
    assert_eq!(changes.running().number, 0);
}

/// A model with a warm-up that takes for ever.
fn endless(name: &str) -> NewEntry {
    NewEntry {
        warmup: Arc::new([WarmupRequest {
            name: "endless".into(),
            count: NonZeroUsize::MAX,
            rows: NonZeroUsize::MIN,
            values: vec![0.5; 8],
        }]),
        ..entry(name, 1, &network(name, 3))
    }
}
