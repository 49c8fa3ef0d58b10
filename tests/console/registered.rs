//! `divisi register`, `variants` and `unregister`, as scripts use them.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::cli::{divisi, fails, has, json, scratch};

fn store(name: &str) -> String {
    let path = scratch(name);
    let _ = fs::remove_file(&path);
    path.to_string_lossy().into_owned()
}

/// Registers digits quickly: some rows, one precision, one core.
fn register(store: &str, options: &[&str]) -> Value {
    let usual = [
        "register",
        "digits",
        "digits",
        "--devices",
        "cpu:0",
        "--rows",
        "120",
    ];
    let how = ["--precisions", "f32", "--store", store, "--format", "json"];
    json(&[&usual[..], &how, options].concat())
}

fn text(arguments: &[&str]) -> String {
    let output = divisi(arguments);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments:?}: {error}");
    String::from_utf8(output.stdout).expect("text")
}

fn list(report: &Value) -> &Vec<Value> {
    report["variants"].as_array().expect("variants")
}

#[test]
fn digits_are_registered_listed_asked_for_and_forgotten() {
    let store = store("registered.redb");
    let report = register(&store, &["--price", "cpu=0.05"]);
    has(&report, &["task", "ensemble", "members", "rule", "best"]);
    assert_eq!(
        (&report["rows"], &report["considered"]),
        (&120.into(), &315.into())
    );
    assert_eq!(report["devices"][0]["price_an_hour"], 0.05);
    let kept = report["kept"].as_u64().expect("a number");
    assert!((5..315).contains(&kept), "{report}");

    let listed = json(&["variants", "digits", "--store", &store, "--format", "json"]);
    assert_eq!(list(&listed).len() as u64, kept);
    assert_eq!(listed["stale"], Value::Array(Vec::new()));
    let costs = list(&listed)
        .iter()
        .map(|v| v["cost_per_million"].as_f64().expect("a cost"));
    assert!(costs.collect::<Vec<_>>().is_sorted(), "the cheapest first");

    let csv = text(&["variants", "--store", &store, "--format", "csv"]);
    assert_eq!(csv.lines().count() as u64, 1 + kept);
    assert!(
        csv.starts_with("task,ensemble,members,whole,precision,"),
        "{csv}"
    );

    let goals = ["variants", "digits", "--store", &store, "--accuracy", "97"];
    let some = json(&[&goals[..], &["--format", "json"]].concat());
    let right = list(&some)
        .iter()
        .all(|v| v["accuracy"].as_f64() >= Some(0.97));
    assert!(right && !list(&some).is_empty(), "{some}");
    assert_eq!(some["chosen"]["fate"], "chosen");
    assert_eq!(
        some["chosen"]["variant"],
        list(&some)[0],
        "the cheapest of them"
    );
    let said = text(&goals);
    assert!(said.contains("chosen: "), "{said}");
    assert!(said.contains("goals missed by the "), "{said}");

    let paid = ["variants", "digits", "--store", &store, "--rate", "100"];
    let listed = json(&[&paid[..], &["--format", "json"]].concat());
    // A core of 0.05 an hour, shared by 100 queries a second.
    let cost = list(&listed)[0]["paid_per_million"].as_f64();
    assert!(
        cost.is_some_and(|cost| (0.138..0.139).contains(&cost)),
        "{cost:?}"
    );
    assert!(text(&paid).contains("paid/M"));

    let forgotten = text(&["unregister", "digits", "--store", &store]);
    assert_eq!(forgotten, "task `digits` is removed, with 1 ensemble\n");
    let nothing = text(&["variants", "--store", &store]);
    assert!(nothing.starts_with("no registered tasks"), "{nothing}");
}

#[test]
fn goals_that_nothing_meets_name_the_nearest_and_what_it_misses() {
    let store = store("unmet.redb");
    register(&store, &[]);
    let goals = [
        "variants",
        "digits",
        "--store",
        &store,
        "--latency",
        "0.001ms",
    ];
    let report = json(&[&goals[..], &["--format", "json"]].concat());
    assert_eq!(report["chosen"]["fate"], "nearest");
    assert_eq!(list(&report).len(), 0);
    let said = text(&goals);
    assert!(
        said.starts_with("no variant meets all of these goals"),
        "{said}"
    );
    assert!(
        said.contains("the nearest is ") && said.contains("too late"),
        "{said}"
    );
}

#[test]
fn an_ensemble_that_is_gone_is_stale_and_not_chosen() {
    let store = store("gone.redb");
    let folder = scratch("an_ensemble_that_goes");
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/../sample_ensembles/digits");
    fs::create_dir_all(&folder).expect("creates");
    for entry in fs::read_dir(sample).expect("the sample") {
        let entry = entry.expect("an entry");
        fs::copy(entry.path(), folder.join(entry.file_name())).expect("copies");
    }
    let path = folder.to_string_lossy();
    let usual = [
        "register",
        "digits",
        &path,
        "--devices",
        "cpu:0",
        "--rows",
        "60",
    ];
    json(
        &[
            &usual[..],
            &["--precisions", "f32", "--store", &store, "--format", "json"],
        ]
        .concat(),
    );
    let goals = ["variants", "digits", "--store", &store, "--accuracy", "50"];
    let fresh = json(&[&goals[..], &["--format", "json"]].concat());
    assert_eq!(fresh["stale"], Value::Array(Vec::new()));

    let mut weights = fs::read(folder.join("res-s.safetensors")).expect("weights");
    let last = weights.len() - 3;
    weights[last] ^= 1;
    fs::write(folder.join("res-s.safetensors"), weights).expect("writes");
    let stale = json(&[&goals[..], &["--format", "json"]].concat());
    assert_eq!(stale["stale"][0]["code"], "stale_weights", "{stale}");
    assert_eq!(stale["chosen"]["fate"], "none");

    fs::remove_dir_all(&folder).expect("removes");
    let said = text(&goals);
    assert!(
        said.contains("`digits` of task `digits` is stale and not used"),
        "{said}"
    );
    assert!(said.contains("its ensemble cannot be read"), "{said}");
    assert!(
        said.contains("no usable variant: register the task again"),
        "{said}"
    );
}

/// Creates a repository with the model `mlp` under these names, and a model without a network.
fn repository(name: &str, models: &[&str]) -> PathBuf {
    let folder = scratch(name);
    let _ = fs::remove_dir_all(&folder);
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/../sample_ensembles");
    for model in models {
        let version = folder.join(model).join("1");
        fs::create_dir_all(&version).expect("creates");
        let network = format!("{sample}/digits-onnx/mlp.onnx");
        fs::copy(network, version.join("model.onnx")).expect("copies");
    }
    fs::create_dir_all(folder.join("empty/1")).expect("creates");
    folder
}

/// Registers networks for the task `t` quickly, and returns the arguments.
fn networks<'a>(path: &'a str, store: &'a str, options: &[&'a str]) -> Vec<&'a str> {
    let rows = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../sample_ensembles/digits/digits.csv"
    );
    let usual = ["register", "t", path, "--devices", "cpu:0", "--rows", "60"];
    let how = ["--precisions", "f32", "--store", store, "--input", rows];
    [&usual[..], &how, options].concat()
}

#[test]
fn each_model_of_a_repository_is_an_ensemble_of_the_task() {
    let store = store("repository.redb");
    let (first, other) = (
        repository("models_of_a_task", &["a", "b"]),
        repository("other_models_of_a_task", &["b"]),
    );
    let path = first.to_string_lossy();
    let report = json(&networks(&path, &store, &["--format", "json"]));
    let names = report["registered"].as_array().expect("reports").iter();
    let names: Vec<&str> = names.filter_map(|r| r["ensemble"].as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    assert_eq!(report["left_out"][0]["model"], "empty");

    let own = first.join("b").to_string_lossy().into_owned();
    text(&networks(&own, &store, &[]));
    let another = other.join("b").to_string_lossy().into_owned();
    let (code, error) = fails(&networks(&another, &store, &[]));
    assert_eq!(code, Some(1));
    for part in [&*own, &*another, "--replace", "--name NAME"] {
        assert!(error.contains(part), "{part}: {error}");
    }
    text(&networks(&another, &store, &["--name", "c"]));
    text(&networks(&another, &store, &["--replace"]));

    let removed = text(&["unregister", "t", "a", "c", "--store", &store]);
    assert_eq!(removed, "task `t`: a, c removed; it keeps b\n");
    let (_, error) = fails(&["unregister", "t", "a", "--store", &store]);
    assert!(error.contains("task `t` has no ensemble `a`"), "{error}");
}

#[test]
fn finished_jobs_are_removed_on_request() {
    let store = store("cleared.redb");
    register(&store, &[]);
    let nothing = text(&["jobs", "--clear", "--store", &store]);
    assert_eq!(nothing, "0 finished jobs removed; the outputs stay\n");
    let output = scratch("cleared_answers.csv");
    let _ = fs::remove_file(&output);
    let (rows, output) = (
        concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../sample_ensembles/digits/digits.csv"
        ),
        output.to_string_lossy(),
    );
    let submit = ["submit", "digits", "--input", rows, "--output", &output];
    text(&[&submit[..], &["--name-variants", "--store", &store]].concat());
    let kept = text(&["jobs", "--clear", "--store", &store]);
    assert_eq!(kept, nothing, "it has not ended");
    text(&["jobs", "--cancel", "1", "--store", &store]);
    let cleared = text(&["jobs", "--clear", "--store", &store]);
    assert_eq!(cleared, "1 finished job removed; the outputs stay\n");
    let left = json(&["jobs", "--store", &store, "--format", "json"]);
    assert_eq!(left, Value::Array(Vec::new()));
}

#[test]
fn what_cannot_be_registered_is_refused_and_makes_no_store() {
    let store = store("refused.redb");
    let unlabelled = scratch("unlabelled_rows.csv");
    let heads: Vec<String> = (0..64).map(|pixel| format!("p{pixel}")).collect();
    fs::write(
        &unlabelled,
        format!("{}\n{}\n", heads.join(","), ["0"; 64].join(",")),
    )
    .expect("writes");
    let narrow = scratch("narrow_rows.csv");
    fs::write(&narrow, "a,b,label\n1,2,3\n").expect("writes");
    let text = scratch("text.redb");
    fs::write(&text, "no store\n".repeat(100)).expect("writes");
    let (unlabelled, narrow) = (unlabelled.to_string_lossy(), narrow.to_string_lossy());
    let cases: [(&[&str], Option<i32>, &str); 8] = [
        (&["digits", "--input", &unlabelled], Some(1), "labels"),
        (&["digits", "--input", &narrow], Some(1), "narrow_rows.csv"),
        (
            &["digits", "--rows", "100000"],
            Some(1),
            "--rows: expected at most 597",
        ),
        (
            &["digits", "--precisions", "f32,f8"],
            Some(2),
            "f32, bf16, int8",
        ),
        (
            &["digits", "--devices", "sim:v100"],
            Some(1),
            "which is simulated",
        ),
        (&["digits", "--price", "tpu=1"], Some(2), "cpu=0.05,cuda=3"),
        (
            &["imn1", "--devices", "cpu:0"],
            Some(1),
            "synthetic weights",
        ),
        (&["digits-cascade"], Some(1), "found a pipeline"),
    ];
    for (arguments, code, said) in cases {
        let (found, error) = fails(&[&["register", "t", "--store", &store], arguments].concat());
        assert!(error.contains(said), "{arguments:?}: {error}");
        assert_eq!(found, code, "{arguments:?}: {error}");
    }
    assert!(fs::metadata(&store).is_err(), "nothing was written");
    let text = text.to_string_lossy();
    for command in [
        &["register", "t", "digits"][..],
        &["variants"],
        &["unregister", "t"],
    ] {
        let (code, error) = fails(&[command, &["--store", &text]].concat());
        assert_eq!(code, Some(1));
        let said = "expected a store of registered tasks, found another file";
        assert!(
            error.contains("text.redb") && error.contains(said),
            "{error}"
        );
    }
    let (code, error) = fails(&["variants", "t", "--store", &store]);
    assert_eq!(code, Some(1));
    assert!(
        error.contains("task `t` is not registered; registered tasks: none"),
        "{error}"
    );
}
