//! NaN and infinities: networks answer them as Triton's do, what Divisi combines does not.

use std::num::NonZeroUsize;

use divisi_door::Addresses;
use divisi_inference::protocol::{WireTensor, classified};
use divisi_runtime::tensor::DataType;
use serde_json::{Value, json};

use crate::client::{Answer, ask, ask_with};
use crate::repository::{Models, Served, chain, network};
use crate::service::TestServer;

/// A sample that is none of finite numbers.
const SAMPLE: [f32; 4] = [f32::NAN, f32::INFINITY, 1.0, f32::NEG_INFINITY];

/// Asks a model for a sample as binary data.
fn infer(addresses: Addresses, model: &str, input: &str, sample: &[f32], binary: bool) -> Answer {
    let bytes: Vec<u8> = sample
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    let head = json!({"inputs": [{"name": input, "datatype": "FP32", "shape": [1, sample.len()],
        "parameters": {"binary_data_size": bytes.len()}}],
        "parameters": {"binary_data_output": binary}})
    .to_string();
    let length = ("Inference-Header-Content-Length", head.len().to_string());
    let address = addresses.http.expect("an address");
    let path = format!("/v2/models/{model}/infer");
    ask_with(
        address,
        "POST",
        &path,
        &[length],
        &[head.as_bytes(), &bytes].concat(),
    )
}

/// The values behind the JSON of an answer.
fn values(answer: &Answer) -> Vec<f32> {
    assert_eq!(answer.status, 200, "{answer:?}");
    let head = answer.header("Inference-Header-Content-Length");
    let head: usize = head.expect("a length").parse().expect("a number");
    let (values, _) = answer.body[head..].as_chunks::<4>();
    values
        .iter()
        .map(|bytes| f32::from_le_bytes(*bytes))
        .collect()
}

fn same(found: &[f32], expected: &[f32]) -> bool {
    let is_same = |(a, b): (&f32, &f32)| a == b || (a.is_nan() && b.is_nan());
    found.len() == expected.len() && found.iter().zip(expected).all(is_same)
}

fn served(models: Models) -> Served {
    models.serve(false)
}

#[test]
fn a_model_takes_them_and_its_answer_is_what_its_network_makes_of_them() {
    let served = served(chain());
    // x · (0.5, -1, 2, 1.5) + (1, 0, -1, 0.25), once or twice.
    let inf = f32::INFINITY;
    for (model, input, expected) in [
        ("a", "x", [f32::NAN, -inf, 1.0, -inf]),
        ("e", "in", [f32::NAN, inf, 1.0, -inf]),
    ] {
        let answer = infer(served.server.addresses(), model, input, &SAMPLE, true);
        let found = values(&answer);
        assert!(same(&found, &expected), "{model}: {found:?}");
    }
    assert_eq!(served.counts("a")[0], 2);
}

#[test]
fn an_answer_in_json_has_them_in_the_words_that_triton_writes() {
    let served = served(chain());
    let answer = infer(served.server.addresses(), "a", "x", &SAMPLE, false);
    assert_eq!(answer.status, 200, "{answer:?}");
    let text = String::from_utf8(answer.body).expect("text");
    assert!(
        text.contains("\"data\":[NaN,-Infinity,1.0,-Infinity]"),
        "{text}"
    );
}

/// The answer to a request whose JSON is as it stands.
fn answer_to(addresses: Addresses, model: &str, body: &str) -> (u16, String) {
    let address = addresses.http.expect("an address");
    let path = format!("/v2/models/{model}/infer");
    let answer = ask(address, "POST", &path, body.as_bytes());
    let text = String::from_utf8_lossy(&answer.body).into_owned();
    (answer.status, text)
}

#[test]
fn a_request_in_json_may_have_them_in_the_words_that_python_writes() {
    let served = served(chain());
    for tensor in [
        r#""name":"x","shape":[1,4],"datatype":"FP32","data":[NaN, Infinity,1.0,-Infinity]"#,
        r#""name":"x","shape":[1,4],"datatype":"FP32","data":[[NaN,Infinity, 1,-Infinity]]"#,
        r#""data":[NaN,Infinity,1.0,-Infinity],"name":"x","shape":[1,4],"datatype":"FP32""#,
    ] {
        let body = format!(r#"{{"id":"NaN","inputs":[{{{tensor}}}]}}"#);
        let (status, text) = answer_to(served.server.addresses(), "a", &body);
        assert_eq!(status, 200, "{tensor}: {text}");
        let expected = "\"data\":[NaN,-Infinity,1.0,-Infinity]";
        assert!(text.contains(expected), "{tensor}: {text}");
        assert!(text.contains("\"id\":\"NaN\""), "{text}");
    }
}

#[test]
fn every_type_of_floats_takes_the_words_and_strings_stay_as_they_are() {
    let server = TestServer::start();
    for data_type in ["FP16", "BF16", "FP32", "FP64"] {
        let body = format!(
            r#"{{"inputs":[
                {{"name":"x","shape":[3],"datatype":"{data_type}","data":[-Infinity,NaN,Infinity]}},
                {{"name":"y","shape":[2],"datatype":"BYTES","data":["NaN","\"-Infinity, \\"]}}]}}"#
        );
        let (status, text) = answer_to(server.server.addresses(), "echo", &body);
        assert_eq!(status, 200, "{data_type}: {text}");
        for data in [
            r#"[-Infinity,NaN,Infinity]"#,
            r#"["NaN","\"-Infinity, \\"]"#,
        ] {
            assert!(text.contains(data), "{data_type}: {text}");
        }
    }
}

#[test]
fn the_words_are_values_of_floats_alone() {
    let server = TestServer::start();
    let x = |rest: &str| format!(r#"{{"inputs":[{{"name":"x",{rest}}}]}}"#);
    let with = |field: &str| {
        let x = r#"{"name":"x","shape":[1],"datatype":"FP32","data":[NaN]}"#;
        format!(r#"{{{field},"inputs":[{x}]}}"#)
    };
    let elsewhere = "only as values of floating-point tensors";
    for (body, words) in [
        (
            x(r#""shape":[2],"datatype":"INT32","data":[1,NaN]"#),
            "tensor `x`: value 1: expected INT32, found NaN",
        ),
        (
            x(r#""shape":[2],"datatype":"BYTES","data":["NaN",-Infinity]"#),
            "tensor `x`: value 1: expected BYTES, found -Infinity",
        ),
        (
            x(r#""shape":[Infinity],"datatype":"FP32","data":[1]"#),
            "tensor `x`: `shape`: invalid type: Infinity, expected i64",
        ),
        (with(r#""id":NaN"#), elsewhere),
        (with(r#""parameters":{"mine":-Infinity}"#), elsewhere),
        (with(r#"NaN:1"#), elsewhere),
        (with("\"id\":\"\u{7f}\""), "the request's JSON"),
    ] {
        let (status, text) = answer_to(server.server.addresses(), "echo", &body);
        assert_eq!(status, 400, "{body}: {text}");
        assert!(text.contains(words), "{body}: {text}");
    }
}

#[test]
fn a_finite_number_beyond_its_type_is_refused() {
    let server = TestServer::start();
    let cases = [
        ("FP16", "65519", "65520", "65520"),
        ("FP16", "-65504", "-1000000", "-1000000"),
        ("BF16", "3.38e38", "3.4e38", "3.4e38"),
        ("FP32", "3.4028235e38", "1e39", "1e39"),
        ("FP32", "-3.4028235e38", "-3.5e38", "-3.5e38"),
        (
            "FP32",
            "0",
            "340282366920938463463374607431768211456",
            "3.402823669209385e38",
        ),
    ];
    for (data_type, within, beyond, shown) in cases {
        let body = |value: &str| {
            format!(
                r#"{{"inputs":[{{"name":"x","shape":[2],"datatype":"{data_type}","data":[1,{value}]}}]}}"#
            )
        };
        let (status, text) = answer_to(server.server.addresses(), "echo", &body(within));
        assert_eq!(status, 200, "{within}: {text}");
        assert!(!text.contains("Infinity"), "{within}: {text}");
        let (status, text) = answer_to(server.server.addresses(), "echo", &body(beyond));
        assert_eq!(status, 400, "{beyond}: {text}");
        let words = format!("tensor `x`: value 1 is {shown}, outside the range of {data_type}");
        assert!(text.contains(&words), "{beyond}: {text}");
    }
}

#[test]
fn an_integer_beyond_its_type_is_refused() {
    let server = TestServer::start();
    let cases = [
        ("UINT8", "256"),
        ("INT8", "-129"),
        ("UINT16", "65536"),
        ("INT16", "32768"),
        ("UINT32", "4294967296"),
        ("INT32", "-2147483649"),
        ("UINT64", "18446744073709551616"),
        ("UINT64", "-1"),
        ("INT64", "9223372036854775808"),
        ("BOOL", "2"),
        ("INT32", "1e39"),
    ];
    for (data_type, value) in cases {
        let body = format!(
            r#"{{"inputs":[{{"name":"x","shape":[1],"datatype":"{data_type}","data":[{value}]}}]}}"#
        );
        let (status, text) = answer_to(server.server.addresses(), "echo", &body);
        assert_eq!(status, 400, "{data_type} {value}: {text}");
        let expected = format!("tensor `x`: value 0: expected {data_type}, found ");
        assert!(text.contains(&expected), "{text}");
    }
}

#[test]
fn the_classification_of_an_answer_with_them_is_told() {
    let served = served(chain());
    let body = r#"{"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 4], "data": [Infinity, 0, 0, 0]}],
        "outputs": [{"name": "y", "parameters": {"classification": 1}}]}"#;
    let address = served.server.addresses().http.expect("an address");
    let answer = ask(address, "POST", "/v2/models/a/infer", body.as_bytes());
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.json()["outputs"][0]["data"], json!(["inf:0"]));
}

#[test]
fn classes_are_written_as_c_writes_numbers_and_without_names_that_are_empty() {
    let values = [f32::NAN, 3.0, -f32::NAN, f32::NEG_INFINITY];
    let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    let tensor = WireTensor::of_values(DataType::Fp32, vec![4], bytes.into());
    let labels = ["w", "", "x", ""].map(str::to_owned);
    let most = NonZeroUsize::new(4).expect("some");
    let classes = classified("y", &tensor, most, false, Some(&labels)).expect("numbers");
    let strings = classes.strings().map(String::from_utf8_lossy);
    let strings: Vec<String> = strings.map(|class| class.into_owned()).collect();
    assert_eq!(strings, ["3.000000:1", "-inf:3", "nan:0:w", "-nan:2:x"]);
}

#[test]
fn nan_is_never_among_the_largest_while_there_are_numbers() {
    for nan in [f32::NAN, -f32::NAN] {
        let values = [1.0, nan, 2.0, nan, nan, f32::NEG_INFINITY];
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let tensor = WireTensor::of_values(DataType::Fp32, vec![6], bytes.into());
        for (most, expected) in [(1, "2.000000:2"), (2, "1.000000:0"), (3, "-inf:5")] {
            let most = NonZeroUsize::new(most).expect("some");
            let classes = classified("y", &tensor, most, false, None).expect("numbers");
            let last = classes.strings().map(String::from_utf8_lossy).last();
            assert_eq!(last.as_deref(), Some(expected));
        }
    }
}

/// Members whose answers Divisi combines, in a repository.
const MANIFEST: &str = r#"
name = "both"
[input]
shape = [4]
[calibration]
synthetic = 8
[[members]]
name = "one"
network = { file = "one.onnx" }
outputs = "values"
"#;

#[test]
fn an_ensemble_of_divisi_s_own_refuses_them() {
    let manifest = format!("answers = {{ values = 4 }}\n{MANIFEST}");
    let models = Models::new().file("both/ensemble.toml", manifest);
    let served = served(models.file("both/one.onnx", network("affine.onnx")));
    let refused = infer(served.server.addresses(), "both", "x", &SAMPLE, false);
    assert_eq!(refused.status, 400, "{refused:?}");
    let error = refused.error();
    assert!(error.contains("value 0 is not a finite number"), "{error}");
}

#[test]
fn integers_that_need_not_be_exact_are_not_answered_and_the_model_and_output_are_named() {
    let models = Models::new().network("n", "max_batch_size: 4");
    let served = served(models.file("n/1/model.onnx", network("counted.onnx")));
    let infer = |value: f32| -> Answer {
        let body = json!({"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 4],
            "data": [value, 0, 0, 0]}]});
        served.post("/v2/models/n/infer", &body)
    };
    let answer = infer(16_777_215.0).json();
    let outputs = answer["outputs"].as_array().expect("a list");
    let counted: Vec<&Value> = outputs.iter().filter(|o| o["name"] == "n").collect();
    assert_eq!(counted[0]["data"], json!([16_777_215, 0, 0, 0]));
    let refused = infer(16_777_216.0);
    assert_eq!(refused.status, 501, "{refused:?}");
    assert_eq!(
        refused.error(),
        "step `n`: tensor `n` has NaN or integers of 16777216 and more, which are not exact in \
         float32"
    );
}
