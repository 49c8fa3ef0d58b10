//! Repositories as manifests, and ensembles as repositories: what is converted answers the same.

use std::path::Path;
use std::sync::Arc;

use divisi_model::ensemble::{Ensemble, Files};
use divisi_repository::Repository;
use divisi_repository::convert::{
    Converted, NetworkFiles, manifests_to_triton, to_manifests, to_triton,
};
use divisi_repository::{LoadedModel, ModelRows, WantedModels};

use crate::common::{Written, answer, model, networks, shown};

const CHAIN: &str = "platform: \"ensemble\"\nmax_batch_size: 4\n\
    input { name: \"in\" data_type: TYPE_FP32 dims: 4 }\n\
    output { name: \"out\" data_type: TYPE_FP32 dims: 4 label_filename: \"names\" }\n\
    ensemble_scheduling { step [ { model_name: \"a\" input_map { key: \"x\" value: \"in\" }\n\
    output_map { key: \"y\" value: \"t\" } }, { model_name: \"b\"\n\
    input_map { key: \"x\" value: \"t\" } output_map { key: \"y\" value: \"out\" } } ] }";

/// A repository of every kind of model.
fn written() -> Written {
    let written = Written::new();
    written
        .network("a", "affine.onnx")
        .network("b", "affine.onnx")
        .config("e", CHAIN)
        .file("e/names", "one\ntwo\nthree\nfour\n")
        .network("varies", "lengths.onnx")
        .network("beside", "vectors.onnx")
        .network_at("beside/1/vectors.onnx.data", "vectors.onnx.data")
        .network("open", "sides.onnx")
        .config(
            "open",
            "max_batch_size: 4\ndynamic_batching { max_queue_delay_microseconds: 500 }\n\
             input { name: \"x\" data_type: TYPE_FP32 dims: [ 3, 8, 6 ] }\n\
             output { name: \"y\" data_type: TYPE_FP32 dims: 3 }",
        )
        .config(
            "weights",
            "backend: \"divisi\"\nmax_batch_size: 64\n\
             input { name: \"image\" data_type: TYPE_FP32 dims: [ 1, 8, 8 ] }\n\
             output { name: \"logits\" data_type: TYPE_FP32 dims: 10 }\n\
             parameters { key: \"network\" value { string_value:\n\
             \"{ builder = 'convnet', channels = [8, 16], depth = 1 }\" } }",
        )
        .file(
            "weights/1/model.safetensors",
            sample("digits/cnn-s.safetensors"),
        );
    written
}

fn samples() -> &'static Path {
    Path::new(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../sample_ensembles"
    ))
}

fn sample(file: &str) -> Vec<u8> {
    std::fs::read(samples().join(file)).expect("a file")
}

fn read(path: &Path) -> Arc<Ensemble> {
    Arc::new(Ensemble::read(&Files::from_path(path)).expect("an ensemble"))
}

fn row(width: usize) -> Vec<f32> {
    (0..width).map(|i| (i as f32 * 0.7).sin()).collect()
}

fn manifests(files: NetworkFiles) -> (Written, Written, Converted) {
    let (from, out) = (written(), Written::new());
    let converted = to_manifests(&from.open(), out.path(), files).expect("converted");
    (from, out, converted)
}

#[test]
fn a_repository_becomes_manifests_that_answer_the_same() {
    for files in [NetworkFiles::Named, NetworkFiles::Copied] {
        let (from, out, converted) = manifests(files);
        assert!(converted.left_out.is_empty(), "{:?}", converted.left_out);
        for name in ["a", "b", "beside", "e", "open", "weights"] {
            let ours = read(&out.path().join(name));
            let theirs = Arc::clone(&model(&from.load(), name).ensemble);
            let sample = row(theirs.input.shape.elements());
            assert_eq!(answer(&ours, &sample), answer(&theirs, &sample), "{name}");
            assert_eq!(ours.answer_names, theirs.answer_names, "{name}");
            assert_eq!(ours.policy, theirs.policy, "{name}");
            assert_eq!(ours.batch_sizes, theirs.batch_sizes, "{name}");
        }
        let varies = read(&out.path().join("varies"));
        assert_eq!(
            varies.lengths,
            model(&from.load(), "varies").ensemble.lengths
        );
    }
}

#[test]
fn queues_stay_also_of_models_for_samples_of_any_length() {
    let written = Written::new();
    let queue = "max_batch_size: 8\ndynamic_batching { priority_levels: 2\n\
        default_priority_level: 1 default_queue_policy { max_queue_size: 3 } }";
    written
        .network("varies", "lengths.onnx")
        .config("varies", queue);
    let out = Written::new();
    to_manifests(&written.open(), out.path(), NetworkFiles::Named).expect("converted");
    let theirs = Arc::clone(&model(&written.load(), "varies").ensemble);
    assert!(theirs.queueing.is_some());
    let ours = read(&out.path().join("varies"));
    assert_eq!(ours.queueing, theirs.queueing);
    assert_eq!(ours.batch_sizes, theirs.batch_sizes);
}

#[test]
fn files_are_copied_only_where_that_is_wished() {
    let networks = |converted: &Converted| {
        let written = converted.written.iter();
        written.filter(|file| !file.ends_with(".toml")).count()
    };
    let (.., named) = manifests(NetworkFiles::Named);
    let (.., copied) = manifests(NetworkFiles::Copied);
    assert_eq!((networks(&named), networks(&copied)), (0, 7));
    assert!(named.notes[0].contains("`--copy`"), "{:?}", named.notes);
    assert!(copied.notes.is_empty(), "{:?}", copied.notes);
    assert!(
        copied
            .written
            .contains(&"beside/1/vectors.onnx.data".to_owned())
    );
}

#[test]
fn what_a_manifest_does_not_say_is_listed() {
    let written = Written::new();
    written
        .network("m", "one.onnx")
        .network_at("m/2/model.onnx", "one.onnx")
        .config(
            "m",
            "max_batch_size: 2\nversion_policy { all { } } runtime: \"r\"\n\
             response_cache { enable: true }\n\
             dynamic_batching { preferred_batch_size: [ 1, 2 ] }\n\
             instance_group { count: 2 kind: KIND_CPU }\n\
             model_warmup { name: \"w\" batch_size: 2 inputs { key: \"x\" value {\n\
             data_type: TYPE_FP32 dims: 3 zero_data: true } } }",
        )
        .network("bad", "unknown.onnx");
    let out = Written::new();
    let converted = to_manifests(&written.open(), out.path(), NetworkFiles::Named);
    let converted = converted.expect("converted");
    assert_eq!(converted.written, ["m/pipeline.toml"]);
    let expected = [
        "m: version 1: a manifest holds one version only",
        "m: max_batch_size 2: clients see a larger limit",
        "m: dynamic_batching.preferred_batch_size: the sizes are allowed, not preferred",
        "m: runtime",
        "m: response_cache: not supported in manifests",
        "m: instance_group",
        "m: model_warmup",
    ];
    assert_eq!(converted.unsaid, expected);
    assert!(converted.left_out[0].starts_with("bad: bad/1/model.onnx: "));
}

#[test]
fn a_reshaped_chain_that_manifests_cannot_say_is_left_out() {
    let written = Written::new();
    written.network("a", "affine.onnx").config(
        "a",
        "max_batch_size: 4\n\
             input { name: \"x\" data_type: TYPE_FP32 dims: [ 2, 2 ] reshape { shape: 4 } }\n\
             output { name: \"y\" data_type: TYPE_FP32 dims: 4 }",
    );
    for files in [NetworkFiles::Named, NetworkFiles::Copied] {
        let out = Written::new();
        let converted = to_manifests(&written.open(), out.path(), files).expect("converted");
        let expected = "a: step `a`: `x`: reshape: not supported in manifests";
        assert_eq!(converted.left_out, [expected]);
        assert!(converted.written.is_empty(), "{:?}", converted.written);
        assert!(!out.path().join("a").exists());
    }
}

#[test]
fn a_model_without_a_batch_that_no_manifest_says_is_left_out_at_its_configuration() {
    let written = Written::new();
    written.network("a", "affine.onnx").config(
        "a",
        "max_batch_size: 0\n\
         input { name: \"x\" data_type: TYPE_FP32 dims: [ 2, 4 ] }\n\
         output { name: \"y\" data_type: TYPE_FP32 dims: [ 2, 4 ] }",
    );
    let out = Written::new();
    let converted = to_manifests(&written.open(), out.path(), NetworkFiles::Named);
    let expected = "a: a/config.pbtxt:2: the converted manifest cannot be read: steps: step `a`, \
                    input `x`: expected FP32 [4], but `x` is FP32 [2, 4]";
    assert_eq!(converted.expect("converted").left_out, [expected]);
    assert!(!out.path().join("a").exists());
}

#[test]
fn what_is_there_is_not_written_over() {
    let (written, out) = (written(), Written::new());
    out.file("x", "");
    let files = NetworkFiles::Named;
    let refused = to_manifests(&written.open(), out.path(), files).expect_err("is there");
    let expected = "expected a new or empty folder";
    assert!(refused.to_string().ends_with(expected), "{refused}");
    let files = Files::from_path(&networks().join("one.onnx"));
    let refused = to_triton(&files, out.path()).expect_err("is there");
    assert!(refused.to_string().ends_with(expected), "{refused}");
}

/// A model in two versions with all that a manifest keeps, and an ensemble of both.
fn versions() -> Written {
    let written = Written::new();
    written
        .network("m", "affine.onnx")
        .network_at("m/2/model.onnx", "affine.onnx")
        .network_at("m/10/model.onnx", "affine.onnx")
        .config(
            "m",
            "max_batch_size: 12\nversion_policy { specific { versions: [ 2, 10 ] } }\n\
             input { name: \"x\" data_type: TYPE_FP32 dims: 4 }\n\
             output { name: \"y\" data_type: TYPE_FP32 dims: 4 label_filename: \"names\" }\n\
             dynamic_batching { preferred_batch_size: [ 3, 8 ] max_queue_delay_microseconds: 500\n\
             priority_levels: 3 default_priority_level: 2\n\
             default_queue_policy { timeout_action: DELAY default_timeout_microseconds: 2000\n\
             allow_timeout_override: true max_queue_size: 64 }\n\
             priority_queue_policy { key: 1 value { max_queue_size: 4 } } }",
        )
        .file("m/names", "cat\ndog\nbird\nfish\n")
        .config(
            "both",
            "platform: \"ensemble\"\nmax_batch_size: 4\n\
             input { name: \"in\" data_type: TYPE_FP32 dims: 4 }\n\
             output { name: \"out\" data_type: TYPE_FP32 dims: 4 }\n\
             ensemble_scheduling { step [ { model_name: \"m\" model_version: 2\n\
             input_map { key: \"x\" value: \"in\" } output_map { key: \"y\" value: \"t\" } },\n\
             { model_name: \"m\" input_map { key: \"x\" value: \"t\" }\n\
             output_map { key: \"y\" value: \"out\" } } ] }",
        );
    written
}

#[test]
fn a_repository_comes_back_from_its_manifests() {
    for files in [NetworkFiles::Named, NetworkFiles::Copied] {
        let (from, through, back) = (versions(), Written::new(), Written::new());
        to_manifests(&from.open(), through.path(), files).expect("converted");
        let converted = manifests_to_triton(&through.open(), back.path()).expect("converted");
        let lost = (converted.unsaid, converted.left_out);
        assert_eq!(lost, (Vec::new(), Vec::new()));
        let (from, back) = (from.load(), back.load());
        assert!(back.failures.is_empty(), "{:#?}", back.failures);
        let ids = |models: &[Arc<LoadedModel>]| -> Vec<_> {
            models.iter().map(|model| model.id()).collect()
        };
        assert_eq!(ids(&back.models), ids(&from.models));
        for (ours, theirs) in back.models.iter().zip(&from.models) {
            let name = &ours.name;
            assert_eq!(ours.batch, theirs.batch, "{name}");
            assert_eq!(ours.labels.len(), theirs.labels.len(), "{name}");
            assert_eq!(
                ours.config.inputs.len(),
                theirs.config.inputs.len(),
                "{name}"
            );
            assert_eq!(ours.uses, theirs.uses, "{name}");
            let [ours, theirs] = [&ours.ensemble, &theirs.ensemble];
            assert_eq!(ours.queueing, theirs.queueing, "{name}");
            assert_eq!(ours.batch_sizes, theirs.batch_sizes, "{name}");
            assert_eq!(ours.policy, theirs.policy, "{name}");
            assert_eq!(ours.answer_names, theirs.answer_names, "{name}");
            assert_eq!(answer(ours, &row(4)), answer(theirs, &row(4)), "{name}");
        }
    }
}

#[test]
fn two_networks_of_one_name_and_version_are_not_one_model() {
    let from = Written::new();
    for (folder, file, width, answers) in [("p", "affine.onnx", 4, 4), ("q", "one.onnx", 3, 1)] {
        let path = networks().join(file).display().to_string();
        from.file(
            &format!("{folder}/pipeline.toml"),
            format!(
                "name = \"{folder}\"\nanswers = {{ values = {answers} }}\noutputs = [\"out\"]\n\
                 [input]\nshape = [{width}]\n[[members]]\nname = \"m\"\n\
                 network = {{ file = \"{path}\" }}\n\
                 [[steps]]\nmodel = \"m\"\ninputs = \"input\"\noutputs = \"out\"\n"
            ),
        );
    }
    let out = Written::new();
    let converted = manifests_to_triton(&from.open(), out.path()).expect("converted");
    assert_eq!(
        converted.left_out,
        ["m: version 1 already exists with another network"]
    );
    assert_eq!(
        converted.unsaid,
        ["q: steps: one of their models is left out"]
    );
    let names: Vec<String> = out.load().models.iter().map(|m| m.name.clone()).collect();
    assert_eq!(names, ["m", "p"]);
}

#[test]
fn models_for_triton_among_manifests_are_left_out() {
    let (from, out) = (written(), Written::new());
    from.file("broken/ensemble.toml", "name = 1");
    let left = manifests_to_triton(&from.open(), out.path());
    let left = left.expect("converted").left_out;
    assert!(
        left.contains(&"e: it has no manifest; Triton serves it unchanged".to_owned()),
        "{left:?}"
    );
    assert!(
        left.iter().any(|line| line.starts_with("broken: ")),
        "{left:?}"
    );
}

fn triton(path: &Path) -> (Written, Converted) {
    let out = Written::new();
    let converted = to_triton(&Files::from_path(path), out.path()).expect("converted");
    (out, converted)
}

#[test]
fn a_pipeline_of_onnx_files_becomes_an_ensemble_that_answers_the_same() {
    let folder = Written::new();
    let affine = networks().join("affine.onnx").display().to_string();
    folder.file(
        "pipeline.toml",
        format!(
            "name = \"chain\"\nanswers = {{ values = 4 }}\noutputs = [\"out\"]\n\
             policy = {{ kind = \"opt-wait\", wait_ms = 2 }}\n[input]\nshape = [4]\n\
             [[members]]\nname = \"a\"\nnetwork = {{ file = \"{affine}\" }}\n\
             [[members]]\nname = \"b\"\nnetwork = {{ file = \"{affine}\" }}\n\
             [[steps]]\nmodel = \"a\"\ninputs = \"input\"\noutputs = \"t\"\n\
             [[steps]]\nmodel = \"b\"\ninputs = \"t\"\noutputs = \"out\"\n"
        ),
    );
    let (out, converted) = triton(folder.path());
    assert_eq!(
        (converted.unsaid.len(), converted.left_out.len()),
        (0, 0),
        "{converted:?}"
    );
    assert!(out.path().join("chain/1").is_dir());
    let report = out.load();
    assert!(report.failures.is_empty(), "{:?}", report.failures);
    let chain = model(&report, "chain");
    assert_eq!(chain.batch, ModelRows::UpTo(128));
    assert_eq!(
        model(&report, "a").ensemble.policy.to_string(),
        "opt-wait:2ms"
    );
    let ours = read(folder.path());
    assert_eq!(answer(&chain.ensemble, &row(4)), answer(&ours, &row(4)));
}

#[test]
fn networks_of_every_form_of_rows_become_models() {
    for (file, batch, inputs) in [
        ("one.onnx", ModelRows::UpTo(128), "x FP32 [3]"),
        ("two.onnx", ModelRows::UpTo(128), "x FP32 [4, 6]"),
        ("before.onnx", ModelRows::Absent, "x FP32 [1, 1, 12, 8]"),
        ("rows.onnx", ModelRows::Exactly(2), "x FP32 [3, 5, 5]"),
        ("whole.onnx", ModelRows::Absent, "x FP32 [2, 3, 5, 5]"),
        ("lengths.onnx", ModelRows::UpTo(128), "ids INT64 [-1]"),
        ("vectors.onnx", ModelRows::UpTo(128), "x FP32 [12]"),
    ] {
        let (out, converted) = triton(&networks().join(file));
        assert!(converted.left_out.is_empty(), "{file}: {converted:?}");
        let model = out.single();
        assert_eq!(model.batch, batch, "{file}");
        assert_eq!(shown(&model.inputs())[0], inputs, "{file}");
    }
}

#[test]
fn what_triton_has_no_word_for_is_listed() {
    let (out, converted) = triton(&samples().join("digits-cascade"));
    for expected in [
        "cnn-s: Triton does not read safetensors: only Divisi can serve this model",
        "digits-cascade: step `normalise`: `normalise` needs a Python model in Triton",
        "digits-cascade: step `cnn-m`: `when max(probs-s) < 0.9` needs a Python model in Triton",
        "digits-cascade: left out: Triton does not support all of its steps",
    ] {
        assert!(
            converted.unsaid.iter().any(|line| line == expected),
            "{converted:#?}"
        );
    }
    let report = out.load();
    assert!(report.failures.is_empty(), "{:?}", report.failures);
    let names: Vec<&str> = report.models.iter().map(|m| m.name.as_str()).collect();
    assert_eq!(names, ["cnn-m", "cnn-s", "dense", "res-m"]);
}

#[test]
fn an_ensemble_keeps_its_members_and_not_its_rule() {
    let (out, converted) = triton(&samples().join("digits-onnx"));
    let rule = "digits-onnx: rule average: Triton needs a Python model to combine answers";
    assert!(
        converted.unsaid.iter().any(|line| line == rule),
        "{:#?}",
        converted.unsaid
    );
    let normalised = "mlp: the normalisation of its input";
    assert!(
        converted.unsaid.iter().any(|line| line == normalised),
        "{:#?}",
        converted.unsaid
    );
    let report = Repository::open(out.path())
        .expect("a repository")
        .load(WantedModels::All, &[]);
    assert_eq!(report.expect("read").models.len(), 4);
}

#[test]
fn members_without_files_of_their_own_are_left_out() {
    let folder = Written::new();
    folder.file(
        "ensemble.toml",
        "name = \"m\"\nclasses = 2\n[input]\nshape = [4]\n[[members]]\nname = \"a\"\n\
         network = { builder = \"perceptron\", hidden = [8] }\n[[members]]\nname = \"b/c\"\n\
         network = { builder = \"perceptron\", hidden = [8] }\n",
    );
    let (_, converted) = triton(folder.path());
    let expected = [
        "a: its weights are synthetic",
        "b/c: its name is not a valid folder name",
    ];
    assert_eq!(converted.left_out, expected);
}
