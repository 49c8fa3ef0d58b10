//! A store: what one program writes, another one reads.

use std::fs;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use divisi_modelless::goals::QueryGoals;
use divisi_modelless::jobs::JobProgress;
use divisi_modelless::quantities::CostRate;
use divisi_registry::records::{JobEnd, JobRecord};
use divisi_registry::store::{
    CatalogedTasks, KEPT_JOBS, KEPT_TIME, PATIENCE, Store, StoreContents,
};
use proptest::prelude::*;
use redb::{Database, TableDefinition};

use crate::common::{interface, model};

const SOON: Duration = Duration::from_millis(50);

fn job(number: u64) -> JobRecord {
    JobRecord {
        task: "digits".to_owned(),
        input: "in.csv".to_owned(),
        output: "out.csv".to_owned(),
        goals: QueryGoals::default(),
        progress: JobProgress {
            rows: 2 * number,
            written: number,
        },
        submitted_at: 7,
        notify: None,
        names_variants: false,
        variants: Vec::new(),
        end: None,
        ended_at: None,
    }
}

/// A job that ended at a time, in seconds since 1970.
fn finished(ended_at: u64) -> JobRecord {
    JobRecord {
        end: Some(JobEnd::Done),
        ended_at: Some(ended_at),
        ..job(1)
    }
}

#[test]
fn nothing_is_registered_where_there_is_no_file_and_none_is_made() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("tasks.redb");
    let contents = Store::read(&path, SOON).expect("nothing");
    assert_eq!(contents, StoreContents::default());
    assert!(!path.exists());
}

#[derive(Clone, Debug)]
enum Change {
    Register(String, String, u32, u32),
    Unregister(String),
    KeepJob(u64),
}

fn changes() -> impl Strategy<Value = Change> {
    // Names as people write them, and parts of each other.
    let name = prop::sample::select(vec!["a", "a b", "ab", "b", "ä", "日本"]);
    let name = name.prop_map(str::to_owned);
    prop_oneof![
        4 => (name.clone(), name.clone(), 0..1000_u32, 0..30_u32)
            .prop_map(|(task, model, n, variants)| Change::Register(task, model, n, variants)),
        1 => name.prop_map(Change::Unregister),
        1 => (0..9_u64).prop_map(Change::KeepJob),
    ]
}

fn expect(contents: &mut StoreContents, change: &Change) {
    match change {
        Change::Register(task, name, number, variants) => {
            let models = contents.tasks.entry(task.clone()).or_default();
            models.retain(|model| model.name != *name);
            models.push(model(name, *number, *variants));
            models.sort_by(|a, b| a.name.cmp(&b.name));
        }
        Change::Unregister(task) => drop(contents.tasks.remove(task)),
        Change::KeepJob(number) => drop(contents.jobs.insert(*number, job(*number))),
    }
}

fn apply(store: &Store, change: &Change) {
    match change {
        Change::Register(task, name, number, variants) => {
            let model = model(name, *number, *variants);
            store.register(task, &model).expect("registers");
        }
        Change::Unregister(task) => {
            let known = store
                .contents()
                .expect("contents")
                .tasks
                .get(task)
                .map(Vec::len);
            let removed = store.unregister(task, &[]).ok();
            assert_eq!(removed.map(|names| names.len()), known);
        }
        Change::KeepJob(number) => store.keep_job(*number, &job(*number)).expect("keeps"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_store_holds_what_a_map_would(changes in prop::collection::vec(changes(), 1..12)) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("deep/tasks.redb");
        let mut expected = StoreContents::default();
        for change in &changes {
            apply(&Store::open(&path, PATIENCE).expect("opens"), change);
            expect(&mut expected, change);
            prop_assert_eq!(&Store::read(&path, PATIENCE).expect("reads"), &expected);
        }
        let files = fs::read_dir(folder.path().join("deep")).expect("a folder").count();
        prop_assert_eq!(files, 1, "one file");
    }
}

#[test]
fn an_ensemble_of_other_samples_or_classes_is_refused_and_may_replace_itself() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::open(&folder.path().join("s"), SOON).expect("opens");
    store
        .register("digits", &model("a", 1, 2))
        .expect("registers");
    let before = store.contents().expect("contents");
    let mut other = model("b", 2, 2);
    other.record.interface = interface(11);
    let refused = store.register("digits", &other).expect_err("other classes");
    assert_eq!(refused.code(), "task_interface");
    let said = "task `digits`: expected samples of 1×8×8 and 10 classes, as in its other \
                ensembles, found samples of 1×8×8 and 11 classes";
    assert_eq!(refused.to_string(), said);
    assert_eq!(store.contents().expect("contents"), before);
    other.name = "a".to_owned();
    store
        .register("digits", &other)
        .expect("it was the only one");
}

#[test]
fn an_ensemble_with_another_order_of_classes_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::open(&folder.path().join("s"), SOON).expect("opens");
    let named = |name: &str, classes: [&str; 2]| {
        let mut model = model(name, 1, 2);
        model.record.interface.classes = 2;
        model.record.interface.names = classes.map(str::to_owned).to_vec();
        model
    };
    let register = |model| store.register("animals", &model);
    register(named("a", ["cat", "dog"])).expect("registers");
    register(named("b", ["cat", "dog"])).expect("the same order");
    let refused = register(named("c", ["dog", "cat"])).expect_err("another order");
    assert_eq!(refused.code(), "task_classes");
    assert_eq!(
        refused.to_string(),
        "task `animals`: expected class 0 to be `cat`, as in its other ensembles, found `dog`; all \
         ensembles of a task need the same order of classes"
    );
    let mut nameless = named("d", ["", ""]);
    nameless.record.interface.names.clear();
    register(nameless).expect("its order is unknown");
}

#[test]
fn ensembles_counted_on_other_rows_are_named() {
    let mut contents = StoreContents::default();
    let mut other = model("b", 2, 2);
    other.record.rows.digest = "other rows".to_owned();
    let models = vec![model("a", 1, 2), other.clone()];
    contents.tasks.insert("digits".to_owned(), models);
    let found = |model| contents.counted_on_other_rows("digits", &model);
    assert_eq!(found(model("c", 3, 2)), ["b"]);
    assert_eq!(found(other), ["a"], "not itself");
    assert!(
        contents
            .counted_on_other_rows("letters", &model("c", 3, 2))
            .is_empty()
    );
}

#[test]
fn an_ensemble_of_the_same_name_from_another_source_is_replaced_on_request_only() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::open(&folder.path().join("s"), SOON).expect("opens");
    let (first, mut second) = (model("model", 1, 2), model("model", 2, 3));
    second.record.source.path = "/b/1/model.onnx".to_owned();
    store.register("digits", &first).expect("registers");
    let refused = store.register("digits", &second).expect_err("another");
    assert_eq!(refused.code(), "task_ensemble_name");
    assert_eq!(
        refused.to_string(),
        "task `digits` has an ensemble `model` from digits, found another one from \
         /b/1/model.onnx; replace it with --replace, or keep both with --name NAME"
    );
    let contents = store.contents().expect("contents");
    assert_eq!(contents.tasks["digits"], [first]);
    store.replace("digits", &second).expect("replaces");
    let contents = store.contents().expect("contents");
    assert_eq!(contents.tasks["digits"], [second]);
}

#[test]
fn some_ensembles_of_a_task_are_removed_or_none_of_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::open(&folder.path().join("s"), SOON).expect("opens");
    for name in ["a", "b", "c"] {
        store.register("t", &model(name, 1, 2)).expect("registers");
    }
    let names = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>();
    let refused = store.unregister("t", &names(&["a", "d"])).expect_err("d");
    assert_eq!(refused.code(), "task_ensemble_unknown");
    assert_eq!(
        refused.to_string(),
        "task `t` has no ensemble `d`; its ensembles: a, b, c"
    );
    assert_eq!(store.contents().expect("contents").tasks["t"].len(), 3);
    let removed = store.unregister("t", &names(&["a", "c"])).expect("removes");
    assert_eq!(removed, ["a", "c"]);
    let left = store.contents().expect("contents");
    assert_eq!(left.tasks["t"], [model("b", 1, 2)]);
    store.unregister("t", &names(&["b"])).expect("removes");
    assert!(store.contents().expect("contents").tasks.is_empty());
}

#[test]
fn finished_jobs_expire_and_their_numbers_are_not_used_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::open(&folder.path().join("s"), SOON).expect("opens");
    let expired = KEPT_TIME.as_secs() + 1;
    let at = |ended_at| JobRecord {
        submitted_at: ended_at,
        ..finished(ended_at)
    };
    let numbers = [
        store.submit(&at(1)),
        store.submit(&job(2)),
        store.submit(&at(expired)),
        store.submit(&JobRecord {
            submitted_at: 1 + expired,
            ..job(3)
        }),
    ];
    assert_eq!(numbers.map(|number| number.expect("submits")), [1, 2, 3, 4]);
    let kept = |store: &Store| store.contents().expect("contents").jobs;
    assert_eq!(kept(&store).into_keys().collect::<Vec<_>>(), [2, 3, 4]);
    assert_eq!(store.clear_jobs().expect("clears"), [3]);
    store.keep_job(4, &at(expired)).expect("ends");
    assert_eq!(store.clear_jobs().expect("clears"), [4]);
    assert_eq!(store.submit(&job(5)).expect("submits"), 5);
    assert_eq!(kept(&store).into_keys().collect::<Vec<_>>(), [2, 5]);
}

#[test]
fn no_more_than_so_many_finished_jobs_are_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::open(&folder.path().join("s"), SOON).expect("opens");
    let all = KEPT_JOBS as u64 + 3;
    // One transaction a job would take a minute.
    for number in [1, 2, 3] {
        store.keep_job(number, &finished(7)).expect("keeps");
    }
    let mut contents = store.contents().expect("contents");
    contents
        .jobs
        .extend((4..=all).map(|number| (number, finished(7))));
    assert_eq!(contents.expired_jobs(8), [1, 2, 3]);
}

#[test]
fn a_task_that_nobody_registered_is_refused_with_those_that_there_are() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::open(&folder.path().join("s"), SOON).expect("opens");
    let none = store
        .unregister("digits", &[])
        .expect_err("unknown")
        .to_string();
    assert_eq!(
        none,
        "task `digits` is not registered; registered tasks: none"
    );
    store
        .register("letters", &model("a", 1, 1))
        .expect("registers");
    let some = store.unregister("digits", &[]).expect_err("unknown");
    assert_eq!(some.code(), "task_unknown");
    assert_eq!(
        some.to_string(),
        "task `digits` is not registered; registered tasks: letters"
    );
}

#[test]
fn who_comes_second_waits_or_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("s");
    let first = Store::open(&path, SOON).expect("opens");
    for refused in [
        Store::open(&path, SOON).map(drop).expect_err("in use"),
        Store::read(&path, SOON).map(drop).expect_err("in use"),
    ] {
        assert_eq!(refused.code(), "store_in_use");
    }
    let (tell, told) = channel();
    let second = thread::spawn({
        let path = path.clone();
        move || {
            tell.send(()).expect("it is waited for");
            Store::open(&path, PATIENCE).map(drop)
        }
    });
    told.recv().expect("it begins");
    // The second one waits for as long as this one is refused.
    Store::open(&path, SOON).map(drop).expect_err("in use");
    first
        .register("digits", &model("a", 1, 1))
        .expect("registers");
    drop(first);
    second.join().expect("no panic").expect("opens in its turn");
}

#[test]
fn registrations_at_once_are_all_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("s");
    thread::scope(|scope| {
        for number in 0..8 {
            let path = &path;
            scope.spawn(move || {
                let store = Store::open(path, PATIENCE).expect("waits");
                let model = model(&number.to_string(), number, 3);
                store.register("digits", &model).expect("registers");
            });
        }
    });
    let contents = Store::read(&path, PATIENCE).expect("reads");
    let expected: Vec<_> = (0..8).map(|n| model(&n.to_string(), n, 3)).collect();
    assert_eq!(contents.tasks["digits"], expected);
}

#[test]
fn files_of_others_and_of_newer_programs_are_refused_as_they_are() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let table = |name: &str, version: Option<u32>| {
        let database = Database::create(path(name)).expect("creates");
        let writing = database.begin_write().expect("begins");
        {
            let format: TableDefinition<'_, &str, u32> = TableDefinition::new("divisi format");
            let other: TableDefinition<'_, u64, u64> = TableDefinition::new("other");
            match version {
                Some(version) => {
                    let mut format = writing.open_table(format).expect("opens");
                    format.insert("version", version).expect("inserts");
                }
                None => drop(writing.open_table(other).expect("opens")),
            }
        }
        writing.commit().expect("commits");
    };
    fs::write(path("text"), "tasks = []\n".repeat(1000)).expect("writes");
    fs::write(path("empty"), "").expect("writes");
    table("other", None);
    table("newer", Some(3));
    table("older", Some(1));
    let cases = [
        (
            "text",
            "store_foreign",
            "expected a store of registered tasks, found another file",
        ),
        (
            "empty",
            "store_damaged",
            "the store is damaged: the file is empty",
        ),
        (
            "other",
            "store_foreign",
            "expected a store of registered tasks, found another file",
        ),
        (
            "newer",
            "store_version",
            "expected a store of version 2, found version 3; a newer Divisi wrote it; update this one",
        ),
        (
            "older",
            "store_version",
            "expected a store of version 2, found version 1; move the file away and register its \
             tasks again",
        ),
    ];
    for (name, code, said) in cases {
        let before = fs::read(path(name)).expect("reads");
        let read = Store::read(&path(name), SOON).map(drop).expect_err(name);
        let opened = Store::open(&path(name), SOON).map(drop).expect_err(name);
        for refused in [read, opened] {
            assert_eq!(
                (refused.code(), refused.to_string().as_str()),
                (code, said),
                "{name}"
            );
        }
        if !["newer", "older", "other"].contains(&name) {
            assert_eq!(fs::read(path(name)).expect("reads"), before, "{name}");
        }
    }
    let folder = Store::open(folder.path(), SOON)
        .map(drop)
        .expect_err("a folder");
    assert_eq!(folder.code(), "store_file");
}

#[test]
fn a_kind_of_device_is_one_however_it_was_registered_at_the_price_that_was_said_last() {
    let (old, mut new) = (model("a", 0, 20), model("b", 3, 10));
    let kind = &mut new.record.devices[0];
    kind.memory /= 2;
    kind.price = CostRate::new(3.0 * kind.price.get()).expect("a price");
    new.record.registered_at = old.record.registered_at + 1;
    for order in [[&old, &new], [&new, &old]] {
        let mut tasks = CatalogedTasks::default();
        tasks.add("digits", &order);
        let catalog = tasks.finish().expect("a catalogue");
        assert_eq!(catalog.devices(), new.record.devices);
        for variant in catalog.variants() {
            let kind = &catalog.devices()[usize::from(variant.device.0)];
            let profile = &variant.profile;
            assert_eq!(profile.cost, kind.cost(profile.share));
        }
    }
}

#[test]
fn ensembles_of_a_task_become_one_catalogue() {
    let (a, b) = (model("a", 0, 20), model("b", 3, 10));
    let mut tasks = CatalogedTasks::default();
    tasks.add("digits", &[&a, &b]);
    tasks.add("letters", &[&b]);
    let catalog = tasks.finish().expect("a catalogue");
    assert_eq!(catalog.devices(), a.record.devices, "equal kinds are one");
    let digits = catalog.task("digits").expect("a task");
    assert_eq!(catalog.models(digits), ["a", "b"]);
    assert_eq!(catalog.range(digits).len(), 30);
    let of_b = catalog.variants()[catalog.range(digits)]
        .iter()
        .filter(|v| v.model.0 == 1);
    assert_eq!(of_b.count(), 10);
}
