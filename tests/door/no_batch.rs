//! Models whose configuration has no dimension of a batch: for clients a request is one sample.

use serde_json::{Value, json};

use crate::client::{Answer, ask_with};
use crate::repository::{Models, Served, network};

/// The configuration of a model of so many values.
fn config(input: &str, output: &str) -> String {
    format!(
        "max_batch_size: 0\ninput {{ name: \"x\" data_type: TYPE_FP32 dims: [ {input} ] }}\n\
         output {{ name: \"y\" data_type: TYPE_FP32 dims: [ {output} ] }}"
    )
}

/// A model whose file takes any number of rows, and whose configuration two.
fn pairs() -> Models {
    let models = Models::new().file("m/1/model.onnx", network("rows.onnx"));
    models.file("m/config.pbtxt", config("2, 3, 5, 5", "2, 4"))
}

fn raw(served: &Served, values: usize) -> Answer {
    let address = served.server.addresses().http.expect("an address");
    let header = [("inference-header-content-length", "0".to_owned())];
    let body = vec![0; values * 4];
    ask_with(address, "POST", "/v2/models/m/infer", &header, &body)
}

#[test]
fn a_body_without_json_is_the_whole_input() {
    for (dims, values, shape) in [
        ("2, 4", 8, json!([2, 4])),
        ("1, 4", 4, json!([1, 4])),
        ("-1, 4", 12, json!([3, 4])),
    ] {
        let served = Models::new().network("m", &config(dims, dims)).serve(false);
        let answer = raw(&served, values);
        assert_eq!(answer.status, 200, "{dims}: {answer:?}");
        let length = answer.header("inference-header-content-length");
        let length: usize = length.expect("binary data").parse().expect("a number");
        let head: Value = serde_json::from_slice(&answer.body[..length]).expect("JSON");
        assert_eq!(head["outputs"][0]["shape"], shape, "{dims}");
    }
    let served = pairs().serve(false);
    assert_eq!(raw(&served, 150).status, 200);
    let refused = raw(&served, 75);
    assert_eq!(refused.status, 400, "{refused:?}");
    let words = "FP32 of shape [2, 3, 5, 5] has 600 bytes, found 300";
    assert!(refused.error().contains(words), "{}", refused.error());
}

#[test]
fn each_request_counts_as_a_batch_of_one() {
    let ensemble = r#"
platform: "ensemble"
max_batch_size: 0
input { name: "in" data_type: TYPE_FP32 dims: [ 2, 3, 5, 5 ] }
output { name: "out" data_type: TYPE_FP32 dims: [ 2, 4 ] }
ensemble_scheduling { step [
  { model_name: "m" model_version: -1 input_map { key: "x" value: "in" } output_map { key: "y" value: "out" } }
] }
"#;
    let served = pairs().file("e/config.pbtxt", ensemble).serve(false);
    for (model, input) in [("m", "x"), ("m", "x"), ("e", "in")] {
        let body = json!({"inputs": [{"name": input, "datatype": "FP32", "shape": [2, 3, 5, 5],
            "data": vec![0.5; 150]}]});
        let answer = served.post(&format!("/v2/models/{model}/infer"), &body);
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    assert_eq!(served.counts("m"), [3, 3, 3]);
    let statistics = served.get("/v2/models/m/stats").json();
    let batches = statistics["model_stats"][0]["batch_stats"].as_array();
    let batches = batches.expect("a list").iter();
    let sizes = batches.map(|of| {
        (
            of["batch_size"].clone(),
            of["compute_infer"]["count"].clone(),
        )
    });
    assert_eq!(sizes.collect::<Vec<_>>(), [(json!(1), json!(3))]);
}

#[test]
fn an_error_has_the_dimensions_that_were_sent() {
    let config = config("1, 4", "1, 4");
    let served = Models::new().network("m", &config).serve(false);
    for (shape, values) in [(json!([4]), 4), (json!([1, 1, 4]), 4), (json!([]), 1)] {
        let body = json!({"inputs": [{"name": "x", "datatype": "FP32", "shape": shape,
            "data": vec![0.5; values]}]});
        let refused = served.post("/v2/models/m/infer", &body);
        assert_eq!(refused.status, 400, "{refused:?}");
        let shape: Vec<u64> = serde_json::from_value(shape).expect("sizes");
        let expected = format!("input `x`: expected FP32 [1, 4], found {shape:?}");
        assert_eq!(refused.error(), expected);
    }
}
