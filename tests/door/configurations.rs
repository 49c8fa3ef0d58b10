//! The configurations that clients are told, of models of a repository.

use divisi_door::proto::inference as proto;
use divisi_door::proto::inference::model_config::SchedulingChoice;
use divisi_door::proto::inference::model_input::Format;
use divisi_door::proto::inference::model_instance_group::Kind;
use divisi_door::proto::inference::model_version_policy::PolicyChoice;
use divisi_door::proto::inference::model_warmup::input::InputDataType;
use prost::Message;
use serde_json::{Value, json};

use crate::grpc::{INFERENCE, ask};
use crate::repository::{Models, Served, chain, network};

/// A configuration with all that is told as it is written.
const WRITTEN: &str = r#"
platform: "onnxruntime_onnx"
backend: "onnxruntime"
max_batch_size: 4
output { name: "y" data_type: TYPE_FP32 dims: [ 2, 2 ] reshape { shape: 4 }
  label_filename: "names.txt" }
dynamic_batching { preferred_batch_size: [ 2, 4 ] preserve_ordering: true }
version_policy { specific { versions: [ 1, 3 ] } }
instance_group { kind: KIND_GPU count: 2 gpus: [ 1 ] }
parameters { key: "team" value { string_value: "vision" } }
model_warmup { name: "first" batch_size: 2 count: 3 inputs { key: "x"
  value { data_type: TYPE_FP32 dims: [ 4, 1, 1 ] zero_data: true } } }
model_warmup { name: "second" batch_size: 1 inputs { key: "x"
  value { data_type: TYPE_FP32 dims: [ 4, 1, 1 ] input_data_file: "x.bin" } } }
"#;

fn written() -> Served {
    let input = "input { name: \"x\" data_type: TYPE_FP32 dims: [ 4, 1, 1 ] format: FORMAT_NCHW\n\
                 reshape { shape: 4 } }";
    let models = Models::new().network("a", &format!("{WRITTEN}{input}"));
    let models = models.file("a/3/model.onnx", network("affine.onnx"));
    let models = models.file("a/names.txt", "n\ne\ns\nw\n");
    let models = models.file("a/warmup/x.bin", 0.5_f32.to_le_bytes().repeat(4));
    models.serve(false)
}

fn config(served: &Served, model: &str) -> Value {
    served.get(&format!("/v2/models/{model}/config")).json()
}

fn grpc_config(served: &Served, model: &str) -> proto::ModelConfig {
    let address = served.server.addresses().grpc.expect("an address");
    let request = proto::ModelConfigRequest {
        name: model.into(),
        ..proto::ModelConfigRequest::default()
    };
    let path = format!("{INFERENCE}/ModelConfig");
    let answer = ask(address, &path, &[request.encode_to_vec()]);
    let answer: proto::ModelConfigResponse = answer.only();
    answer.config.expect("a configuration")
}

#[test]
fn a_configuration_is_told_in_json_as_it_is_written() {
    let config = config(&written(), "a");
    assert_eq!(config["platform"], "onnxruntime_onnx");
    assert_eq!(config["backend"], "onnxruntime");
    let input = json!([{"name": "x", "data_type": "TYPE_FP32", "dims": [4, 1, 1],
        "format": "FORMAT_NCHW", "reshape": {"shape": [4]}}]);
    assert_eq!(config["input"], input);
    assert_eq!(config["output"][0]["dims"], json!([2, 2]));
    assert_eq!(config["output"][0]["reshape"], json!({"shape": [4]}));
    let batching = &config["dynamic_batching"];
    assert_eq!(batching["preferred_batch_size"], json!([2, 4]));
    assert_eq!(batching["preserve_ordering"], true);
    let versions = json!({"specific": {"versions": [1, 3]}});
    assert_eq!(config["version_policy"], versions);
    let parameters = json!({"team": {"string_value": "vision"}});
    assert_eq!(config["parameters"], parameters);
    assert_eq!(config["output"][0]["label_filename"], "names.txt");
    let input = |from: &str, value: Value| json!({"x": {"data_type": "TYPE_FP32", "dims": [4, 1, 1], from: value}});
    let expected = json!([
        {"name": "first", "batch_size": 2, "count": 3, "inputs": input("zero_data", true.into())},
        {"name": "second", "batch_size": 1, "count": 0,
            "inputs": input("input_data_file", "x.bin".into())},
    ]);
    assert_eq!(config["model_warmup"], expected);
}

#[test]
fn a_configuration_is_told_over_grpc_as_it_is_written() {
    let config = grpc_config(&written(), "a");
    assert_eq!(config.platform, "onnxruntime_onnx");
    assert_eq!(config.backend, "onnxruntime");
    assert_eq!(config.input[0].format(), Format::Nchw);
    let reshape = |of: &Option<proto::ModelTensorReshape>| of.clone().map(|of| of.shape);
    assert_eq!(reshape(&config.input[0].reshape), Some(vec![4]));
    assert_eq!(reshape(&config.output[0].reshape), Some(vec![4]));
    let Some(SchedulingChoice::DynamicBatching(batching)) = &config.scheduling_choice else {
        panic!("expected batches, found {:?}", config.scheduling_choice);
    };
    assert_eq!(batching.preferred_batch_size, [2, 4]);
    assert!(batching.preserve_ordering);
    let policy = config
        .version_policy
        .and_then(|policy| policy.policy_choice);
    let Some(PolicyChoice::Specific(specific)) = policy else {
        panic!("expected versions, found {policy:?}");
    };
    assert_eq!(specific.versions, [1, 3]);
    assert_eq!(config.parameters["team"].string_value, "vision");
    assert_eq!(config.output[0].label_filename, "names.txt");
    let [first, second] = &config.model_warmup[..] else {
        panic!("expected two requests, found {:?}", config.model_warmup);
    };
    assert_eq!((first.batch_size, first.count), (2, 3));
    let from = first.inputs["x"].input_data_type.as_ref();
    assert_eq!(from, Some(&InputDataType::ZeroData(true)));
    let from = second.inputs["x"].input_data_type.as_ref();
    let file = InputDataType::InputDataFile("x.bin".into());
    assert_eq!(from, Some(&file));
}

fn grpc_metadata(served: &Served, model: &str, version: &str) -> proto::ModelMetadataResponse {
    let address = served.server.addresses().grpc.expect("an address");
    let request = proto::ModelMetadataRequest {
        name: model.into(),
        version: version.into(),
    };
    let path = format!("{INFERENCE}/ModelMetadata");
    ask(address, &path, &[request.encode_to_vec()]).only()
}

#[test]
fn metadata_name_the_platform_that_is_written_and_the_versions_that_are_asked_for() {
    let served = written();
    for (path, asked, expected) in [
        ("/v2/models/a", "", vec!["1", "3"]),
        ("/v2/models/a/versions/1", "1", vec!["1"]),
        ("/v2/models/a/versions/3", "3", vec!["3"]),
    ] {
        let told = served.get(path).json();
        assert_eq!(told["versions"], json!(expected), "{path}");
        assert_eq!(told["platform"], "onnxruntime_onnx");
        let told = grpc_metadata(&served, "a", asked);
        assert_eq!(
            (told.versions, &*told.platform),
            (
                expected.iter().map(ToString::to_string).collect(),
                "onnxruntime_onnx"
            )
        );
    }
}

#[test]
fn a_platform_that_is_not_written_is_ours() {
    let served = Models::new().network("a", "max_batch_size: 4").serve(false);
    let told = config(&served, "a");
    assert_eq!(
        (&told["platform"], &told["backend"]),
        (&json!("divisi"), &json!("divisi"))
    );
    assert_eq!(told["input"][0]["format"], "FORMAT_NONE");
    assert_eq!(
        told["dynamic_batching"]["preferred_batch_size"],
        json!([1, 2, 4])
    );
}

#[test]
fn instances_are_those_that_run_and_not_those_that_are_wished_for() {
    // It wishes for a GPU, and there is one processor.
    let served = written();
    let expected = json!([{"name": "a_0", "kind": "KIND_CPU", "count": 1, "gpus": []}]);
    assert_eq!(config(&served, "a")["instance_group"], expected);
    let groups = grpc_config(&served, "a").instance_group;
    let told: Vec<_> = groups
        .iter()
        .map(|of| (&*of.name, of.kind, of.count))
        .collect();
    assert_eq!(told, [("a_0", i32::from(Kind::Cpu), 1)]);
}

#[test]
fn an_ensemble_has_no_instances_of_its_own_and_what_is_not_written_is_empty() {
    let served = chain().serve(false);
    let told = config(&served, "e");
    assert_eq!(told["instance_group"], json!([]));
    assert_eq!(told["parameters"], json!({}));
    assert_eq!(told["model_warmup"], json!([]));
    assert_eq!(
        told["version_policy"],
        json!({"latest": {"num_versions": 1}})
    );
    assert_eq!(told["output"][0]["label_filename"], "");
    assert_eq!(config(&served, "b")["instance_group"][0]["count"], 1);
}

#[test]
fn a_model_can_be_loaded_with_the_configuration_that_clients_are_told() {
    let plain = "max_batch_size: 4";
    let models = Models::new()
        .network("bare", "")
        .network("batched", plain)
        .network("onnx", &format!("platform: \"onnxruntime_onnx\" {plain}"))
        .network(
            "both",
            &format!("{plain} backend: \"onnxruntime\" platform: \"onnxruntime_onnx\""),
        )
        .network(
            "named",
            &format!("{plain} default_model_filename: \"net.onnx\""),
        )
        .file("named/1/net.onnx", network("affine.onnx"))
        .network("a", plain)
        .network("b", plain)
        .file("e/config.pbtxt", crate::repository::ENSEMBLE);
    let served = models.serve(false);
    for model in ["bare", "batched", "onnx", "both", "named", "e"] {
        let told = config(&served, model);
        let loaded = served.load(model, &json!({"config": told.to_string()}));
        assert_eq!(loaded.status, 200, "{model}: {loaded:?}");
        assert_eq!(config(&served, model), told, "{model}");
    }
}
