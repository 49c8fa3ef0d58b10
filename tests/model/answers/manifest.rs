//! The kind of answers as manifests write it, and what is wrong with it.

use divisi_model::ensemble::{AnswerKind, AnswerWidth, OutputKind};
use divisi_runtime::network::Shape;

use crate::answer_kinds::{directions, labels, values};
use crate::answering::{Answering, manifest};

fn classes(count: u32) -> AnswerKind {
    AnswerKind::Classes {
        count: AnswerWidth::nearest(count),
    }
}

#[test]
fn a_kind_of_answers_is_a_number_or_names_and_what_belongs_to_it() {
    let cases: &[(&str, AnswerKind, Option<&[&str]>, &str)] = &[
        ("classes = 2", classes(2), None, "2 classes"),
        ("answers = { classes = 2 }", classes(2), None, "2 classes"),
        (
            "answers = { classes = [\"no\", \"yes\"] }",
            classes(2),
            Some(&["no", "yes"]),
            "2 classes",
        ),
        ("answers = { values = 2 }", values(2), None, "2 values"),
        (
            "answers = { values = [\"x\", \"y\"] }",
            values(2),
            Some(&["x", "y"]),
            "2 values",
        ),
        (
            "answers = { values = 2, normalise = true }",
            directions(2),
            None,
            "2 values of unit length",
        ),
        (
            "answers = { labels = 2 }",
            labels(2, 0.5),
            None,
            "2 labels, threshold 0.5",
        ),
        (
            "answers = { labels = [\"sea\", \"sky\"], threshold = 0.25 }",
            labels(2, 0.25),
            Some(&["sea", "sky"]),
            "2 labels, threshold 0.25",
        ),
    ];
    for (written, kind, names, said) in cases {
        let ensemble = Answering::new(written, 2, "").read().expect(written);
        assert_eq!(ensemble.answers, *kind, "{written}");
        assert_eq!(ensemble.answers.to_string(), *said);
        let found = ensemble.answer_names.as_deref();
        let found = found.map(|names| names.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(found.as_deref(), *names, "{written}");
        assert_eq!(ensemble.input.shape, Shape::vector(2));
    }
}

#[test]
fn what_is_wrong_with_answers_is_said_with_its_field() {
    let cases = [
        (
            "",
            "classes: expected a number of classes, or `answers`, found neither",
        ),
        (
            "classes = 2\nanswers = { values = 2 }",
            "answers: expected `classes` or `answers`, found both",
        ),
        (
            "answers = {}",
            "answers: expected one of `classes`, `values`, `labels`, `masks`, `tokens` and `boxes`",
        ),
        (
            "answers = { values = 2, labels = 2 }",
            "answers: expected one of `classes`, `values`, `labels`, `masks`, `tokens` and `boxes`",
        ),
        (
            "answers = { values = 0 }",
            "answers.values: expected a whole number from 1 to 16777216, found 0",
        ),
        (
            "answers = { labels = 2, normalise = true }",
            "answers.normalise: only valid with `values`",
        ),
        (
            "answers = { values = 2, threshold = 0.5 }",
            "answers.threshold: only valid with `labels`",
        ),
        (
            "answers = { labels = 2, threshold = 1.5 }",
            "answers.threshold: expected a threshold from",
        ),
        (
            "labels = [\"a\", \"b\"]\nanswers = { labels = 2 }",
            "labels: only valid with `classes`",
        ),
        (
            "answers = { labels = [\"a\", \"a\"] }",
            "answers.labels: `a` names both label 0 and label 1; expected different names",
        ),
        (
            "answers = { values = 3 }",
            "the network returns 2 per sample, but the ensemble expects 3 values",
        ),
        (
            "answers = { values = 2 }\nrule = \"majority-vote\"",
            "rule: `majority-vote` does not combine values; expected `average`, \
             `weighted-average` or `median`",
        ),
        (
            "classes = 2\nrule = \"median\"",
            "rule: `median` does not combine classes; expected `average`, ",
        ),
    ];
    let folder = Answering::new("classes = 2", 2, "");
    for (written, expected) in cases {
        folder.write("ensemble.toml", manifest(written, 2, "").as_bytes());
        let error = folder.read().expect_err(written);
        assert!(error.contains(expected), "{written}: {error}");
    }
}

#[test]
fn members_return_what_the_answers_can_be_made_of() {
    let of = |answers: &str, outputs: &str| {
        let folder = Answering::new(answers, 2, "");
        let text = manifest(answers, 2, "");
        let said = match outputs {
            "" => text,
            _ => text.replace("weights", &format!("outputs = \"{outputs}\"\nweights")),
        };
        folder.write("ensemble.toml", said.as_bytes());
        folder.read().map(|ensemble| ensemble.outputs()[0])
    };
    let (values, labels) = ("answers = { values = 2 }", "answers = { labels = 2 }");
    for (answers, outputs, expected) in [
        ("classes = 2", "", OutputKind::Logits),
        (values, "", OutputKind::Values),
        (values, "values", OutputKind::Values),
        (labels, "", OutputKind::LabelLogits),
        (labels, "logits", OutputKind::LabelLogits),
        (labels, "probabilities", OutputKind::LabelProbabilities),
    ] {
        assert_eq!(of(answers, outputs), Ok(expected), "{answers} {outputs}");
    }
    for (answers, outputs, expected) in [
        (
            values,
            "logits",
            "expected `values`, since the answers are values",
        ),
        (
            labels,
            "values",
            "expected `logits` or `probabilities`, since the answers are labels",
        ),
    ] {
        let error = of(answers, outputs).expect_err(answers);
        assert!(error.contains(expected), "{error}");
    }
}
