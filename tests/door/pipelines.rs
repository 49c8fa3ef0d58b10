//! Pipelines behind the door: outputs that nobody asked for, and quorums.

use std::fs;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::client::ask;
use crate::ensemble::{engine, infer, serve};

/// Three models that read the input of a pipeline.
const MODELS: &str = r#"
name = "three"

[input]
shape = [4]

[[members]]
name = "a"
network = { builder = "perceptron", hidden = [8] }
[[members]]
name = "b"
network = { builder = "perceptron", hidden = [4] }
[[members]]
name = "slow"
network = { builder = "perceptron", hidden = [4096, 4096] }

[[steps]]
model = "a"
inputs = "input"
outputs = "x"
[[steps]]
model = "b"
inputs = "input"
outputs = "y"
[[steps]]
model = "slow"
inputs = "input"
outputs = "z"
"#;

fn written(head: &str, steps: &str) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let text = format!("{head}\n{MODELS}\n{steps}");
    fs::write(folder.path().join("pipeline.toml"), text).expect("written");
    folder
}

fn asked(outputs: &[&str]) -> Value {
    let outputs: Vec<Value> = outputs.iter().map(|name| json!({"name": name})).collect();
    json!({"inputs": [{"name": "input", "datatype": "FP32", "shape": [1, 4],
        "data": [1.0, 2.0, 3.0, 4.0]}], "outputs": outputs})
}

#[test]
fn the_step_of_an_output_that_nobody_asked_for_is_not_run() {
    let best = |of: &str| {
        format!(
            "[[steps]]\nname = \"best of {of}\"\nhost = \"arg-max\"\ninputs = \"{of}\"\noutputs = \"best_{of}\"\n"
        )
    };
    let folder = written(
        "answers = { values = 3 }\noutputs = [\"best_x\", \"best_y\", \"best_z\"]",
        &["x", "y", "z"].map(best).concat(),
    );
    let engine = engine(folder.path().to_str().expect("text"));
    let server = serve(&engine, false);
    let all = infer(&server, "three", &asked(&[])).json();
    let some = infer(&server, "three", &asked(&["best_y", "best_x"])).json();
    let of = |answer: &Value, at: usize| answer["outputs"][at].clone();
    assert_eq!((of(&some, 0), of(&some, 1)), (of(&all, 1), of(&all, 0)));
    let graph = engine.telemetry().step_graphs().remove(0);
    let models = ["a", "b", "slow"];
    let of = |name: &str| graph.steps.iter().find(|step| step.name == name);
    let rows = models.map(|name| of(name).expect("a step").stats.rows);
    assert_eq!(rows, [2, 2, 1]);
    let metrics = server.addresses().metrics.expect("an address");
    let metrics = ask(metrics, "GET", "/metrics", b"");
    let text = String::from_utf8(metrics.body).expect("text");
    let line = "divisi_step_rows_total{model=\"three\",version=\"1\",step=\"slow\"} 1";
    assert!(text.contains(line), "{text}");
}

#[test]
fn an_answer_says_which_steps_its_quorum_did_without() {
    let folder = written(
        "classes = 4\noutputs = [\"answer\"]",
        "[[steps]]\nhost = \"vote\"\ninputs = [\"x\", \"y\", \"z\"]\noutputs = \"answer\"\n\
         quorum = 1\nwait_ms = 0\n",
    );
    let engine = engine(folder.path().to_str().expect("text"));
    let server = serve(&engine, false);
    // The slow one is the last of its partition, unless the threads of a busy machine are slower.
    let answers = std::iter::repeat_with(|| infer(&server, "three", &asked(&[])).json());
    let is_short = |answer: &Value| answer.get("parameters").is_some();
    let short = answers.take(200).find(is_short).expect("one without it");
    let missing = short["parameters"]["divisi_missing"]
        .as_str()
        .expect("names");
    assert!(missing.split(',').any(|name| name == "slow"), "{short}");
    assert!(
        short["parameters"]["divisi_certain"].is_boolean(),
        "{short}"
    );
}
