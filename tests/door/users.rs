//! Models that ensembles use, while their files change: an ensemble goes on as it was, or is said not to.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use divisi_server::ModelControl;
use serde_json::{Value, json};

use crate::repository::{ENSEMBLE, Models, Served, chain, network, only};

/// Refreshes as a poll does. Returns whether another engine serves since.
fn polled(served: &Served) -> bool {
    let before = served.changes.running().number;
    served.changes.refresh().expect("goes on");
    served.changes.running().number != before
}

fn path(served: &Served, file: &str) -> PathBuf {
    served.models.folder.path().join(file)
}

fn told(served: &Served) -> String {
    served.changes.deployment().take_notices().join("\n")
}

fn serves(served: &Served) -> bool {
    served.infer("a", "x", 1).status == 200 && served.infer("e", "in", 4).status == 200
}

#[test]
fn a_broken_model_that_an_ensemble_uses_starts_no_engine_however_often_it_is_looked_at() {
    let served = chain().serve(false);
    for (file, broken, mended) in [
        (
            "a/config.pbtxt",
            "nonsense".into(),
            b"max_batch_size: 4".to_vec(),
        ),
        ("a/1/model.onnx", b"broken".to_vec(), network("affine.onnx")),
        ("a/2/model.onnx", b"broken".to_vec(), network("affine.onnx")),
    ] {
        let all = "max_batch_size: 4 version_policy { all {} }";
        if file.starts_with("a/2") {
            fs::write(path(&served, "a/config.pbtxt"), all).expect("writes");
            fs::create_dir(path(&served, "a/2")).expect("a folder");
        }
        fs::write(path(&served, file), broken).expect("writes");
        let mut before = String::new();
        for look in 0..4 {
            assert!(!polled(&served), "{file}: look {look}");
            let reason = served.reason("a");
            assert!(look == 0 || reason == before, "{file}: {reason}");
            before = reason;
            assert!(!before.is_empty() && serves(&served), "{file}");
            assert!(served.reason("e").contains("model `a`"), "{file}");
            let told = told(&served);
            assert_eq!(
                told.contains("`a` is served as before"),
                look == 0,
                "{told}"
            );
        }
        fs::write(path(&served, file), mended).expect("writes");
        assert!(polled(&served) && !polled(&served), "{file}");
        assert_eq!((served.reason("a"), served.reason("e")), Default::default());
        assert!(serves(&served), "{file}");
    }
}

#[test]
fn a_deleted_model_that_an_ensemble_uses_goes_on_with_it_and_that_is_said() {
    let served = chain().serve(false);
    let aside = tempfile::tempdir().expect("a folder");
    let kept = aside.path().join("a");
    fs::rename(path(&served, "a"), &kept).expect("renames");
    for look in 0..3 {
        assert!(!polled(&served), "look {look}");
        assert_eq!(
            served.reason("a"),
            "its folder is gone, but `e` still uses it"
        );
        assert_eq!(served.reason("e"), "");
        assert!(serves(&served));
        let told = told(&served);
        assert_eq!(told.contains("its folder is gone"), look == 0, "{told}");
    }
    fs::rename(&kept, path(&served, "a")).expect("renames");
    served.changes.refresh().expect("it is back");
    assert_eq!(served.reason("a"), "");
    fs::rename(path(&served, "a"), &kept).expect("renames");
    fs::remove_dir_all(path(&served, "e")).expect("is removed");
    assert!(polled(&served));
    assert_eq!(served.infer("a", "x", 1).status, 404, "nothing uses it");
    assert_eq!(served.infer("b", "x", 1).status, 200);
}

/// A configuration of `a` with which no ensemble of batches can be served: its tensors are not split
/// into rows.
fn whole_tensors() -> Value {
    let tensor = |name: &str| json!({"name": name, "data_type": "TYPE_FP32", "dims": [1, 4]});
    json!({"max_batch_size": 0, "input": [tensor("x")], "output": [tensor("y")]})
}

#[test]
fn an_ensemble_goes_on_over_a_model_that_is_loaded_with_a_smaller_batch_and_splits_its_rows() {
    let served = chain().serve(false);
    let load = |most: usize| {
        let config = json!({"max_batch_size": most}).to_string();
        let loaded = served.load("a", &json!({"config": config}));
        assert_eq!(loaded.status, 200, "{loaded:?}");
    };
    let before = served.infer("e", "in", 4).json()["outputs"].clone();
    for (most, batches) in [(1, 4), (2, 2), (4, 1), (8, 1)] {
        load(most);
        let [_, _, ran] = served.counts("a");
        let answer = served.infer("e", "in", 4);
        assert_eq!(answer.json()["outputs"], before, "{most}");
        let [_, _, now] = served.counts("a");
        assert_eq!(now - ran, batches, "batches of up to {most}");
    }
    let config = served.get("/v2/models/e/config").json();
    assert_eq!(config["max_batch_size"], 4, "the ensemble stays as it is");
    assert_eq!((served.reason("a"), served.reason("e")), Default::default());
}

#[test]
fn a_model_is_not_loaded_with_which_an_ensemble_that_uses_it_cannot_be_served() {
    let served = chain().serve(true);
    let before = served.changes.running().number;
    let most = |model: &str| {
        let config = served.get(&format!("/v2/models/{model}/config")).json();
        config["max_batch_size"].clone()
    };
    let config = whole_tensors().to_string();
    for _ in 0..2 {
        let refused = served.load("a", &json!({"config": config}));
        assert_eq!(refused.status, 400, "{refused:?}");
        let expected = "model `a`: `e` uses it and cannot be served with it: ";
        assert!(refused.error().starts_with(expected), "{refused:?}");
        assert!(
            refused.error().contains("expected at most 1"),
            "{refused:?}"
        );
        assert!(!polled(&served), "nothing has changed");
        assert_eq!((most("a"), most("e")), (json!(4), json!(4)));
        assert!(serves(&served));
        assert_eq!(served.reason("e"), "");
    }
    assert_eq!(served.changes.running().number, before);
    let loaded = served.load(
        "a",
        &json!({"config": json!({"max_batch_size": 8}).to_string()}),
    );
    assert_eq!(loaded.status, 200, "{loaded:?}");
    assert_eq!(most("a"), 8);
    assert!(serves(&served));
}

#[test]
fn a_refused_load_leaves_the_guard_of_ensembles_and_no_reasons_beside_its_own() {
    let served = chain().serve(false);
    let load = |config: Value| served.load("a", &json!({"config": config.to_string()}));
    for _ in 0..2 {
        assert_eq!(load(json!({"name": "other"})).status, 400);
        assert!(served.reason("a").contains("expected `a`"));
        assert_eq!(served.reason("e"), "");
        let refused = load(whole_tensors());
        assert_eq!(refused.status, 400, "{refused:?}");
        assert!(
            refused
                .error()
                .contains("`e` uses it and cannot be served with it"),
            "{refused:?}"
        );
        assert!(serves(&served));
        assert_eq!(served.load("a", &json!({})).status, 200);
        assert_eq!((served.reason("a"), served.reason("e")), Default::default());
    }
}

#[test]
fn an_ensemble_that_was_refused_is_part_of_no_other_until_it_can_be_loaded() {
    let outer = ENSEMBLE
        .replacen("\"a\"", "\"e\"", 1)
        .replacen("key: \"x\"", "key: \"in\"", 1)
        .replacen("key: \"y\"", "key: \"out\"", 1);
    let served = chain().file("outer/config.pbtxt", outer).serve(false);
    for model in ["outer", "e"] {
        assert_eq!(served.unload(model, false).status, 200);
    }
    let config = whole_tensors().to_string();
    assert_eq!(served.load("a", &json!({"config": config})).status, 200);
    for model in ["e", "outer", "e"] {
        let refused = served.load(model, &json!({}));
        assert_eq!(refused.status, 400, "{model}: {refused:?}");
        let (text, why) = (refused.error(), "e/config.pbtxt:3: max_batch_size: ");
        assert!(text.contains(why) && text.contains("at most 1"), "{text}");
        assert_ne!(served.infer("e", "in", 1).status, 200, "{model}");
        assert!(served.reason("e").contains(why), "{model}");
    }
    // What was refused does not come by itself.
    assert_eq!(served.load("a", &json!({})).status, 200);
    assert_ne!(served.infer("e", "in", 1).status, 200);
    assert!(served.reason("e").contains("at most 1"));
    assert_eq!(served.load("outer", &json!({})).status, 200);
    assert!(serves(&served));
    assert_eq!(
        (served.reason("e"), served.reason("outer")),
        Default::default()
    );
}

/// Versions 1 and 2 of `a`, and `e`, which uses version 1.
fn versions() -> Models {
    let all = "max_batch_size: 4 version_policy { all {} }";
    let models = Models::new()
        .network("a", all)
        .network("b", "max_batch_size: 4");
    let models = models.file("a/2/model.onnx", network("affine.onnx"));
    let first = ENSEMBLE.replacen("model_version: -1", "model_version: 1", 1);
    models.file("e/config.pbtxt", first)
}

#[test]
fn a_version_that_an_ensemble_uses_stays_however_often_models_are_loaded() {
    let served = versions().serve(false);
    fs::remove_dir_all(path(&served, "a/1")).expect("is removed");
    for (what, status) in [("a", 400), ("e", 200), ("a", 400), ("b", 200), ("a", 400)] {
        let answer = served.load(what, &json!({}));
        assert_eq!(answer.status, status, "{what}: {answer:?}");
        if status != 200 {
            assert!(answer.error().contains("found 1"), "{answer:?}");
        }
        assert_eq!(served.infer("e", "in", 4).status, 200);
        let one = served.get("/v2/models/a/versions/1/ready");
        assert_eq!(one.status, 200, "after a load of `{what}`");
    }
    fs::write(path(&served, "e/config.pbtxt"), ENSEMBLE).expect("writes");
    for what in ["e", "a"] {
        let loaded = served.load(what, &json!({}));
        assert_eq!(loaded.status, 200, "{what}: {loaded:?}");
    }
    assert_eq!(served.get("/v2/models/a/versions/1/ready").status, 400);
    assert!(serves(&served));
}

#[test]
fn models_that_came_with_an_ensemble_stay_without_it_unless_they_are_to_go() {
    for (dependents, left) in [(false, 200), (true, 404)] {
        let models = chain();
        let served = models.serve_by(only(&[]), false);
        assert_eq!(served.load("e", &json!({})).status, 200);
        assert!(serves(&served));
        assert_eq!(served.unload("e", dependents).status, 200);
        assert_eq!(served.infer("e", "in", 4).status, 404);
        assert_eq!(served.infer("a", "x", 1).status, left, "{dependents}");
        assert_eq!(served.infer("b", "x", 1).status, left, "{dependents}");
    }
}

#[test]
fn models_that_follow_their_files_are_not_loaded_or_unloaded_by_name() {
    let models = chain();
    // The test reads the files again by itself, not after a time.
    let polled_once = ModelControl::Poll(Duration::MAX);
    let served = models.serve_by(Some(polled_once), false);
    for refused in [served.load("a", &json!({})), served.unload("e", true)] {
        assert_eq!(refused.status, 503, "{refused:?}");
        assert!(refused.error().contains("change the files"), "{refused:?}");
    }
    fs::remove_dir_all(path(&served, "e")).expect("is removed");
    assert!(polled(&served));
    assert_eq!(served.infer("e", "in", 4).status, 404);
}

#[test]
fn a_load_looks_at_no_files_of_other_models() {
    let served = chain().serve(false);
    let most = |model: &str| {
        let config = served.get(&format!("/v2/models/{model}/config")).json();
        config["max_batch_size"].clone()
    };
    fs::write(path(&served, "a/config.pbtxt"), "max_batch_size: 8").expect("writes");
    for done in [served.load("b", &json!({})), served.unload("e", false)] {
        assert_eq!(done.status, 200, "{done:?}");
        assert_eq!(most("a"), 4);
    }
    assert_eq!(served.load("a", &json!({})).status, 200);
    assert_eq!(most("a"), 8);
}
