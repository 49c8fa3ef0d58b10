//! Ensembles of values and labels, served.

use std::sync::Arc;

use divisi_engine::serving::{Engine, Request};
use divisi_model::ensemble::{Combination, Ensemble, Files, RuleKind};

use crate::answer_kinds::is_near;
use crate::answering::Answering;
use crate::common::{networks, set_combination, start};
use crate::place::root;

fn served(answers: &str) -> (Answering, Arc<Ensemble>, Engine) {
    let folder = Answering::new(answers, 2, "");
    let ensemble = Arc::new(folder.read().expect("valid"));
    let engine = start(&ensemble, networks(&ensemble));
    (folder, ensemble, engine)
}

fn answer(engine: &Engine, sample: [f32; 2]) -> Vec<f32> {
    let answer = engine.predict(Request::new(&sample));
    let answer = answer.expect("let in").expect("answered");
    answer.rows().next().expect("a row").to_vec()
}

fn by(ensemble: &Ensemble, rule: RuleKind) -> Combination {
    Combination {
        rule,
        ..ensemble.combination()
    }
}

fn near(found: &[f32], expected: [f64; 2]) -> bool {
    let mut pairs = found.iter().zip(expected);
    pairs.all(|(a, b)| is_near(f64::from(*a), b))
}

#[test]
fn values_are_answered_as_they_are_under_the_rules_that_suit() {
    let (_folder, ensemble, engine) = served("answers = { values = 2 }");
    for (rule, expected) in [
        (RuleKind::Average, [3.0, -6.0]),
        (RuleKind::Median, [2.0, -4.0]),
    ] {
        set_combination(&engine, by(&ensemble, rule)).expect("suits");
        let found = answer(&engine, [1.0, -2.0]);
        assert!(near(&found, expected), "{rule:?}: {found:?}");
    }
    let refused = set_combination(&engine, by(&ensemble, RuleKind::MajorityVote));
    let said = refused.expect_err("no classes").to_string();
    assert!(
        said.ends_with(
            "rule: `majority-vote` does not combine values; expected `average`, \
             `weighted-average` or `median`"
        ),
        "{said}"
    );
}

#[test]
fn embeddings_have_unit_length() {
    let (_folder, _, engine) = served("answers = { values = 2, normalise = true }");
    assert!(near(&answer(&engine, [3.0, -4.0]), [0.6, -0.8]));
    assert_eq!(answer(&engine, [0.0, 0.0]), [0.0, 0.0], "no direction");
}

#[test]
fn labels_are_probabilities_each_by_itself() {
    let (_folder, ensemble, engine) = served("answers = { labels = 2 }");
    let sigmoid = |logit: f64| 1.0 / (1.0 + (-logit).exp());
    let mean = |x: f64| [1.0, 2.0, 6.0].map(|f| sigmoid(f * x)).iter().sum::<f64>() / 3.0;
    let found = answer(&engine, [1.0, -2.0]);
    assert!(near(&found, [mean(1.0), mean(-2.0)]), "{found:?}");
    set_combination(&engine, by(&ensemble, RuleKind::AverageLogits)).expect("suits");
    let found = answer(&engine, [1.0, -2.0]);
    assert!(near(&found, [sigmoid(3.0), sigmoid(-6.0)]), "{found:?}");
    set_combination(&engine, by(&ensemble, RuleKind::MajorityVote)).expect("suits");
    let found = answer(&engine, [1.0, -2.0]);
    assert!(near(&found, [1.0, 0.0]), "{found:?}");
}

#[test]
fn a_network_alone_with_one_output_is_no_classifier() {
    let file = root().join("tests/runtime/onnx_files/one.onnx");
    let ensemble = Ensemble::read(&Files::from_path(&file)).expect("an ensemble");
    assert_eq!(ensemble.answers.to_string(), "1 value");
}
