//! Ensembles of a repository: steps by their maps, over models that are shared.

use std::fmt::Write as _;
use std::sync::Arc;

use divisi_model::ensemble::MemberPrecision;
use divisi_repository::{ModelRows, WantedModels};

use crate::common::{Written, model, shown};

/// A step with its maps, as `x=in`.
struct Step(
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
);

fn map(field: &str, pairs: &[&str]) -> String {
    let entries = pairs.iter().filter_map(|pair| pair.split_once('='));
    entries
        .map(|(own, t)| format!(" {field} {{ key: \"{own}\" value: \"{t}\" }}"))
        .collect()
}

/// An ensemble from `in` to `out`, of 4 values each.
fn ensemble(steps: &[Step]) -> String {
    tensors("max_batch_size: 4", "[ 4 ]", "[ 4 ]", steps)
}

fn tensors(batch: &str, input: &str, output: &str, steps: &[Step]) -> String {
    let mut text = format!(
        "platform: \"ensemble\"\n{batch}\n\
         input {{ name: \"in\" data_type: TYPE_FP32 dims: {input} }}\n\
         output {{ name: \"out\" data_type: TYPE_FP32 dims: {output} }}\nensemble_scheduling {{\n"
    );
    for Step(model, inputs, outputs) in steps {
        let maps = map("input_map", inputs) + &map("output_map", outputs);
        let _ = writeln!(
            text,
            "step {{ model_name: \"{model}\" model_version: -1{maps} }}"
        );
    }
    text + "}\n"
}

/// Models `a` and `b` of 4 values each, `three` of 3 to 1, `two` of two inputs and outputs.
fn written(config: &str) -> Written {
    let written = Written::new();
    written
        .network("a", "affine.onnx")
        .network("b", "affine.onnx")
        .network("three", "one.onnx")
        .network("two", "two.onnx")
        .config("e", config);
    written
}

const CHAIN: &[Step] = &[
    Step("a", &["x=in"], &["y=t"]),
    Step("b", &["x=t"], &["y=out"]),
];

#[test]
fn steps_are_joined_by_the_names_of_tensors_in_any_order() {
    let report = written(&ensemble(&[
        Step("b", &["x=t"], &["y=out"]),
        Step("a", &["x=in"], &["y=t"]),
    ]))
    .load();
    let chain = model(&report, "e");
    let pipeline = chain.ensemble.pipeline.as_ref().expect("steps");
    let order: Vec<&str> = pipeline
        .steps()
        .iter()
        .map(|step| step.name.as_str())
        .collect();
    assert_eq!(order, ["a", "b"]);
    assert_eq!(shown(&chain.inputs()), ["in FP32 [4]"]);
    assert_eq!(shown(&chain.outputs()), ["out FP32 [4]"]);
    assert_eq!(chain.batch, ModelRows::UpTo(4));
    let uses: Vec<String> = chain.uses.iter().map(ToString::to_string).collect();
    assert_eq!(uses, ["a:1", "b:1"]);
}

#[test]
fn a_model_that_several_use_is_there_once() {
    let written = written(&ensemble(CHAIN));
    written.config(
        "f",
        &ensemble(&[
            Step("a", &["x=in"], &["y=t"]),
            Step("a", &["x=t"], &["y=out"]),
        ]),
    );
    let report = written.load();
    let own = &model(&report, "a").ensemble.members[0];
    let [e, f] = ["e", "f"].map(|name| model(&report, name));
    assert!(
        e.ensemble
            .members
            .iter()
            .any(|member| Arc::ptr_eq(member, own))
    );
    assert_eq!(f.ensemble.members.len(), 1);
    assert!(Arc::ptr_eq(&f.ensemble.members[0], own));
    let steps = f.ensemble.pipeline.as_ref().expect("steps").steps();
    let names: Vec<&str> = steps.iter().map(|step| step.name.as_str()).collect();
    assert_eq!(names, ["a", "a-2"]);
}

#[test]
fn a_step_may_name_an_older_version() {
    let written = written(&ensemble(CHAIN).replacen("model_version: -1", "model_version: 1", 1));
    written
        .network_at("a/2/model.onnx", "affine.onnx")
        .config("a", "version_policy { all { } }");
    let report = written.load();
    assert_eq!(model(&report, "e").ensemble.members[0].name, "a:1");
    written.config("a", "");
    let failure = written.failure("e");
    let expected = "step `a`: expected a served version of `a` (2), found 1";
    assert!(failure.ends_with(expected), "{failure}");
}

#[test]
fn ensembles_within_ensembles_become_one_pipeline() {
    let written = written(&ensemble(CHAIN));
    written.config(
        "outer",
        &ensemble(&[
            Step("e", &["in=in"], &["out=t"]),
            Step("e", &["in=t"], &["out=out"]),
        ]),
    );
    let outer = model(&written.load(), "outer");
    let pipeline = outer.ensemble.pipeline.as_ref().expect("steps");
    let names: Vec<&str> = pipeline
        .steps()
        .iter()
        .map(|step| step.name.as_str())
        .collect();
    assert_eq!(names, ["e/a", "e/b", "e-2/a", "e-2/b"]);
    assert_eq!(outer.ensemble.members.len(), 2);
}

#[test]
fn ensembles_in_a_circle_are_refused_and_leave_the_others() {
    let written = written(&ensemble(&[Step("f", &["in=in"], &["out=out"])]));
    written
        .config("f", &ensemble(&[Step("e", &["in=in"], &["out=out"])]))
        .config("g", &ensemble(&[Step("g", &["in=in"], &["out=out"])]));
    let report = written.load();
    assert_eq!(report.models.len(), 4);
    for (name, step, circle) in [
        ("e", "f", "e → f → e"),
        ("f", "e", "f → e → f"),
        ("g", "g", "g → g"),
    ] {
        let expected = format!(
            "{name}/config.pbtxt:6: step `{step}`: ensembles use each other in a cycle: {circle}"
        );
        assert_eq!(written.failure(name), expected);
    }
}

#[test]
fn an_ensemble_over_a_model_that_failed_says_why() {
    let written = written(&ensemble(CHAIN));
    written.network("b", "unknown.onnx");
    let failure = written.failure("e");
    let expected = "e/config.pbtxt:7: step `b`: model `b` was not loaded: b/1/model.onnx: ";
    assert!(failure.starts_with(expected), "{failure}");
}

#[test]
fn steps_that_do_not_fit_are_refused_by_model_field_and_expectation() {
    for (steps, expected) in [
        (
            &[Step("no", &["x=in"], &["y=out"])][..],
            ":6: step `no`: no model `no` in the repository",
        ),
        (
            &[Step("a", &["w=in"], &["y=out"])],
            ":6: step `a`: input_map: the model has no `w`; expected x",
        ),
        (
            &[Step("a", &["x=in"], &["w=out"])],
            ":6: step `a`: output_map: the model has no `w`; expected y",
        ),
        (
            &[Step("a", &[], &["y=out"])],
            ":6: step `a`: input_map: expected a tensor for `x`, found none",
        ),
        (
            &[
                Step("a", &["x=in"], &["y=out"]),
                Step("b", &["x=other"], &["y=end"]),
            ],
            ":7: step `b`: input_map `x`: no step makes `other`; expected one of in, ",
        ),
        (
            &[
                Step("a", &["x=in"], &["y=out"]),
                Step("b", &["x=in"], &["y=out"]),
            ],
            "`out` is made by both `a` and `b`",
        ),
        (
            &[
                Step("a", &["x=in"], &["y=t"]),
                Step("three", &["x=t"], &["y=out"]),
            ],
            ":7: ensemble_scheduling: step `three`, input `x`: expected FP32 [3], but `t` is FP32 [4]",
        ),
        (
            &[
                Step("a", &["x=in"], &["y=t"]),
                Step("b", &["x=u"], &["y=u"]),
            ],
            ":7: ensemble_scheduling: steps wait for each other in a cycle: b → b",
        ),
        (
            &[Step("a", &["x=in"], &["y=in"])],
            ":6: ensemble_scheduling: `in` is made by both `input` and `a`",
        ),
        (
            &[Step("a", &["x=in"], &["y=t"])],
            ":4: output `out`: no step makes it; expected one of in, t",
        ),
        (
            &[Step("three", &["x=in"], &["y=out"])],
            ":3: input `in`: expected FP32 [3], as step `three` reads it, found FP32 [4]",
        ),
        (
            &[Step("a", &["x=typo"], &["y=out"])],
            ":6: step `a`: input_map `x`: no step makes `typo`; expected one of in, out",
        ),
        (
            &[Step("a", &["x=t"], &["y=t"])],
            ":3: input `in`: no step reads it",
        ),
    ] {
        let failure = written(&ensemble(steps)).failure("e");
        assert!(failure.starts_with("e/config.pbtxt:"), "{failure}");
        assert!(failure.contains(expected), "{failure}");
    }
}

#[test]
fn outputs_that_are_not_what_a_step_makes_are_refused() {
    let wrong = tensors("max_batch_size: 4", "[ 4 ]", "[ 5 ]", CHAIN);
    let expected = "e/config.pbtxt:4: output `out`: expected FP32 [4], as its step makes it, \
                    found FP32 [5]";
    assert_eq!(written(&wrong).failure("e"), expected);
}

#[test]
fn dimensions_that_vary_are_those_of_the_models() {
    let open = tensors("max_batch_size: 4", "[ -1 ]", "[ -1 ]", CHAIN);
    let report = written(&open).load();
    assert_eq!(shown(&model(&report, "e").inputs()), ["in FP32 [4]"]);
}

#[test]
fn the_rows_of_an_ensemble_are_those_of_its_steps() {
    let two = "max_batch_size: 2\ninput { name: \"x\" data_type: TYPE_FP32 dims: 4 }\n\
               output { name: \"y\" data_type: TYPE_FP32 dims: 4 }";
    let whole = two
        .replace("max_batch_size: 2", "")
        .replace("dims: 4", "dims: [ 1, 4 ]");
    for (of_ensemble, dims, of_a, expected) in [
        ("max_batch_size: 2", "[ 4 ]", two, Ok(ModelRows::UpTo(2))),
        ("", "[ -1, 4 ]", "", Ok(ModelRows::Open)),
        ("", "[ -1, 4 ]", two, Ok(ModelRows::UpTo(2))),
        ("", "[ 2, 4 ]", two, Ok(ModelRows::Exactly(2))),
        ("", "[ 1, 4 ]", &*whole, Ok(ModelRows::Exactly(1))),
        ("max_batch_size: 3", "[ 4 ]", two, Ok(ModelRows::UpTo(3))),
        ("", "[ 3, 4 ]", two, Ok(ModelRows::Exactly(3))),
        (
            "max_batch_size: 1",
            "[ 4 ]",
            &*whole,
            Ok(ModelRows::UpTo(1)),
        ),
        (
            "max_batch_size: 3",
            "[ 4 ]",
            &*whole,
            Err(":2: max_batch_size: expected at most 1, the limit of step `a`, found 3"),
        ),
    ] {
        let written = written(&tensors(of_ensemble, dims, dims, CHAIN));
        written.config("a", of_a);
        match expected {
            Ok(batch) => assert_eq!(model(&written.load(), "e").batch, batch, "{dims} {of_a}"),
            Err(expected) => {
                let failure = written.failure("e");
                assert!(failure.ends_with(expected), "{failure}");
            }
        }
    }
}

#[test]
fn manifests_are_no_steps() {
    let written = written(&ensemble(&[Step("mine", &["input=in"], &["scores=out"])]));
    written.file(
        "mine/ensemble.toml",
        "name = \"mine\"\nclasses = 4\n[input]\nshape = [4]\n[[members]]\n\
         name = \"a\"\nnetwork = { builder = \"perceptron\", hidden = [8] }\n",
    );
    let failure = written.failure("e");
    assert!(
        failure.contains("step `mine`: a model with an ensemble.toml or pipeline.toml cannot be"),
        "{failure}"
    );
}

#[test]
fn a_platform_and_its_steps_belong_together() {
    for (config, expected) in [
        (
            "platform: \"ensemble\"".to_owned(),
            "ensemble_scheduling: expected the steps",
        ),
        (
            ensemble(CHAIN).replace("\"ensemble\"", "\"onnxruntime_onnx\""),
            "platform: expected `ensemble`, since there are steps, found `onnxruntime_onnx`",
        ),
        (
            format!("{}\nbackend: \"python\"", ensemble(CHAIN)),
            "backend: expected `ensemble`, since there are steps, found `python`",
        ),
        (
            "ensemble_scheduling { step { model_name: \"a\" } }".to_owned(),
            "expected the inputs and outputs of the ensemble, found none",
        ),
        (
            "platform: \"ensemble\" ensemble_scheduling { }".to_owned(),
            "e/config.pbtxt:1: ensemble_scheduling.step: expected 1 to 1024 steps, found 0",
        ),
    ] {
        let failure = written(&config).failure("e");
        assert!(failure.contains(expected), "{failure}");
    }
}

#[test]
fn outputs_take_the_labels_of_the_models_that_make_them_unless_they_have_their_own() {
    let labelled = |file: &str| {
        format!("output {{ name: \"y\" data_type: TYPE_FP32 dims: 4 label_filename: \"{file}\" }}")
    };
    let names = |written: &Written| {
        let (report, mut found) = (written.load(), Vec::new());
        for (output, labels) in &model(&report, "e").labels {
            found.push(format!("{output}: {}", labels.join(" ")));
        }
        let ensemble = &model(&report, "e").ensemble;
        (found, ensemble.answer_names.clone().unwrap_or_default())
    };
    let written = written(&ensemble(CHAIN));
    assert_eq!(names(&written), Default::default());
    for (step, classes) in [("a", "p\nq\nr\ns\n"), ("b", "k\nl\nm\nn\n")] {
        written.config(
            step,
            &("max_batch_size: 4 ".to_owned() + &labelled("l.txt")),
        );
        written.file(&format!("{step}/l.txt"), classes);
    }
    let own = ["k", "l", "m", "n"].map(str::to_owned).to_vec();
    assert_eq!(names(&written), (vec!["out: k l m n".to_owned()], own));
    let config = ensemble(CHAIN).replacen(
        "dims: [ 4 ] }\nens",
        "dims: [ 4 ] label_filename: \"w.txt\" }\nens",
        1,
    );
    written.config("e", &config).file("e/w.txt", "w\nx\ny\nz");
    assert_eq!(names(&written).0, ["out: w x y z"]);
}

#[test]
fn models_are_computed_in_the_numbers_that_the_repository_is_opened_with() {
    let written = written(&ensemble(CHAIN));
    let int8: MemberPrecision = "int8".parse().expect("a name");
    let repository = written.open().computed_in(Some(int8));
    let first = repository.load(WantedModels::All, &[]).expect("read");
    let again = ["e".to_owned()];
    let again = repository.load(WantedModels::Named(&again), &first.models);
    for (report, name) in [(&first, "a"), (&first, "e"), (&again.expect("read"), "e")] {
        let members = &model(report, name).ensemble.members;
        assert!(members.iter().all(|m| m.precision == int8), "{name}");
    }
    let [a, e] = ["a", "e"].map(|name| Arc::clone(&model(&first, name).ensemble.members[0]));
    assert!(Arc::ptr_eq(&a, &e), "one member, loaded once");
}
