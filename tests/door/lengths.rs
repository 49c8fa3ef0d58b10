//! Ensembles of a repository over rows of any length.

use serde_json::{Value, json};

use crate::open_rows::{added, mean, negated};
use crate::repository::{Models, Served};

/// Adds a row to its negation, and takes the mean of that and of the row itself.
const ENSEMBLE: &str = r#"
platform: "ensemble"
max_batch_size: 4
input { name: "in" data_type: TYPE_FP32 dims: [ -1 ] }
output [ { name: "twice" data_type: TYPE_FP32 dims: [ -1 ] }, { name: "mean" data_type: TYPE_FP32 dims: [ 1 ] } ]
ensemble_scheduling { step [
  { model_name: "neg" input_map { key: "x" value: "in" } output_map { key: "y" value: "n" } },
  { model_name: "add" input_map [ { key: "a" value: "n" }, { key: "b" value: "n" } ]
    output_map { key: "y" value: "twice" } },
  { model_name: "mean" input_map { key: "x" value: "twice" } output_map { key: "y" value: "mean" } }
] }
"#;

fn served() -> Served {
    let models = Models::new()
        .file("neg/1/model.onnx", negated())
        .file("add/1/model.onnx", added())
        .file("mean/1/model.onnx", mean());
    let config = "max_batch_size: 4";
    let models = ["neg", "add", "mean"].iter().fold(models, |models, name| {
        models.file(&format!("{name}/config.pbtxt"), config)
    });
    models.file("e/config.pbtxt", ENSEMBLE).serve(false)
}

fn infer(served: &Served, model: &str, input: &str, rows: &[Vec<f64>]) -> Value {
    let data: Vec<f64> = rows.concat();
    let body = json!({"inputs": [{"name": input, "datatype": "FP32",
        "shape": [rows.len(), rows[0].len()], "data": data}]});
    let answer = served.post(&format!("/v2/models/{model}/infer"), &body);
    answer.json()
}

#[test]
fn rows_of_any_length_go_through_an_ensemble() {
    let served = served();
    let metadata = served.get("/v2/models/e").json();
    assert_eq!(metadata["inputs"][0]["shape"], json!([-1, -1]));
    assert_eq!(metadata["outputs"][0]["shape"], json!([-1, -1]));
    for (rows, twice, means) in [
        (
            vec![vec![1.0, 2.0, 6.0]],
            json!([-2.0, -4.0, -12.0]),
            json!([-6.0]),
        ),
        (
            vec![vec![0.5], vec![4.0]],
            json!([-1.0, -8.0]),
            json!([-1.0, -8.0]),
        ),
        (vec![vec![1.0, 3.0]], json!([-2.0, -6.0]), json!([-4.0])),
        (
            // More rows than a batch.
            vec![vec![1.0], vec![2.0], vec![3.0], vec![4.0], vec![5.0]],
            json!([-2.0, -4.0, -6.0, -8.0, -10.0]),
            json!([-2.0, -4.0, -6.0, -8.0, -10.0]),
        ),
    ] {
        let answer = infer(&served, "e", "in", &rows);
        let outputs = &answer["outputs"];
        assert_eq!(outputs[0]["data"], twice, "{answer}");
        assert_eq!(outputs[0]["shape"], json!([rows.len(), rows[0].len()]));
        assert_eq!(outputs[1]["data"], means, "{answer}");
    }
    let one = infer(&served, "neg", "x", &[vec![1.0, 2.0]]);
    assert_eq!(one["outputs"][0]["data"], json!([-1.0, -2.0]));
    let [requests, samples, _] = served.counts("neg");
    assert_eq!((requests, samples), (5, 10), "alone and in the ensemble");
}

#[test]
fn a_row_longer_than_the_bound_is_refused_with_it() {
    let row = vec![1.0; 513];
    let answer = infer(&served(), "e", "in", &[row]);
    let expected = "input `in`: expected a length from 1 to 512, found 513";
    assert_eq!(answer["error"], expected, "{answer}");
}

#[test]
fn one_output_of_an_ensemble_over_any_length_is_computed_alone() {
    let served = served();
    let body = json!({"inputs": [{"name": "in", "datatype": "FP32", "shape": [1, 2], "data": [1.0, 2.0]}],
        "outputs": [{"name": "twice"}]});
    let answer = served.post("/v2/models/e/infer", &body).json();
    assert_eq!(answer["outputs"][0]["data"], json!([-2.0, -4.0]));
    assert_eq!(served.counts("mean")[0], 0);
}
