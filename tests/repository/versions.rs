//! Versions: which are served, and what is loaded again.

use divisi_repository::{Repository, WantedModels};
use std::sync::Arc;

use crate::common::{Written, model};

fn three() -> Written {
    let written = Written::new();
    for version in [1, 2, 10] {
        written.network_at(&format!("m/{version}/model.onnx"), "one.onnx");
    }
    written
        .file("m/01/model.onnx", "no version")
        .file("m/notes/x", "");
    written
}

fn versions(written: &Written) -> Vec<(u64, String)> {
    let models = written.load().models;
    let each = models.iter();
    each.map(|m| (m.version, m.ensemble.members[0].name.clone()))
        .collect()
}

#[test]
fn the_version_policy_says_which_versions_are_served() {
    let named = |all: &[(u64, &str)]| -> Vec<(u64, String)> {
        all.iter()
            .map(|(v, name)| (*v, (*name).to_owned()))
            .collect()
    };
    for (policy, expected) in [
        ("", named(&[(10, "m")])),
        (
            "version_policy { latest { num_versions: 2 } }",
            named(&[(2, "m:2"), (10, "m")]),
        ),
        (
            "version_policy: { all: {} }",
            named(&[(1, "m:1"), (2, "m:2"), (10, "m")]),
        ),
        (
            "version_policy: { specific: { versions: [ 2, 1 ] } }",
            named(&[(1, "m:1"), (2, "m")]),
        ),
    ] {
        let written = three();
        written.config("m", policy);
        assert_eq!(versions(&written), expected, "{policy}");
    }
}

#[test]
fn a_policy_that_selects_no_version_is_refused() {
    for (policy, expected) in [
        (
            "version_policy { specific { versions: 7 } }",
            "m/config.pbtxt:1: version_policy: expected at least one of the versions 1, 2, 10, \
             found 7",
        ),
        (
            "version_policy {\nlatest { num_versions: 0 } }",
            "m/config.pbtxt:2: version_policy.latest.num_versions: expected a number above 0, found 0",
        ),
    ] {
        let written = three();
        written.config("m", policy);
        assert_eq!(written.failure("m"), expected);
    }
}

#[test]
fn a_version_that_cannot_be_loaded_leaves_the_others() {
    let written = three();
    written
        .network_at("m/2/model.onnx", "unknown.onnx")
        .config("m", "version_policy { all { } }");
    let report = written.load();
    let loaded: Vec<u64> = report.models.iter().map(|m| m.version).collect();
    assert_eq!((loaded, report.failures[0].version), (vec![1, 10], Some(2)));
}

/// A chain over `m`: the ensemble `e`.
fn chained() -> Written {
    let written = Written::new();
    written
        .network("m", "affine.onnx")
        .network("other", "one.onnx")
        .config(
            "e",
            "platform: \"ensemble\"\nmax_batch_size: 4\n\
             input { name: \"in\" data_type: TYPE_FP32 dims: 4 }\n\
             output { name: \"out\" data_type: TYPE_FP32 dims: 4 }\n\
             ensemble_scheduling { step { model_name: \"m\" model_version: -1\n\
             input_map { key: \"x\" value: \"in\" } output_map { key: \"y\" value: \"out\" } } }",
        );
    written
}

fn names(
    repository: &Repository,
    wanted: &[&str],
    loaded: &[Arc<divisi_repository::LoadedModel>],
) -> Vec<String> {
    let wanted: Vec<String> = wanted.iter().map(|name| (*name).to_owned()).collect();
    let report = repository
        .load(WantedModels::Named(&wanted), loaded)
        .expect("read");
    assert!(report.failures.is_empty(), "{:?}", report.failures);
    report.models.iter().map(|m| m.name.clone()).collect()
}

#[test]
fn what_an_ensemble_uses_is_loaded_with_it_unless_it_was_before() {
    let written = chained();
    let repository = written.open();
    assert_eq!(names(&repository, &["e"], &[]), ["m", "e"]);
    let loaded = repository
        .load(WantedModels::Named(&["m".into()]), &[])
        .expect("read")
        .models;
    assert_eq!(names(&repository, &["e"], &loaded), ["e"]);
    let again = repository
        .load(WantedModels::Named(&["e".into()]), &loaded)
        .expect("read");
    let shared = &model(&again, "e").ensemble.members[0];
    assert!(Arc::ptr_eq(shared, &loaded[0].ensemble.members[0]));
}

#[test]
fn a_model_that_is_loaded_again_takes_the_ensembles_over_it_with_it() {
    let written = chained();
    let repository = written.open();
    let loaded = written.load().models;
    assert_eq!(loaded.len(), 3);
    assert_eq!(names(&repository, &["m"], &loaded), ["m", "e"]);
    assert_eq!(names(&repository, &["other"], &loaded), ["other"]);
}

#[test]
fn a_model_that_is_not_there_is_told_with_those_that_are() {
    let report = chained()
        .open()
        .load(WantedModels::Named(&["x".into()]), &[])
        .expect("read");
    let expected = "no model `x` in the repository; its models: e, m, other";
    assert_eq!(report.failures[0].fault.to_string(), expected);
}
