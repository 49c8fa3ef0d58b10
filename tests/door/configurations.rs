//! The configurations that clients are told, of models of a repository.

use divisi_door::proto::inference as proto;
use divisi_door::proto::inference::model_instance_group::Kind;
use divisi_door::proto::inference::model_version_policy::PolicyChoice;
use divisi_door::proto::inference::model_warmup::input::InputDataType;
use prost::Message;
use serde_json::{Value, json};

use crate::grpc::{INFERENCE, ask};
use crate::repository::{Models, Served, chain, network};

/// A configuration with all that is told as it is written.
const WRITTEN: &str = r#"
max_batch_size: 4
output { name: "y" data_type: TYPE_FP32 dims: 4 label_filename: "names.txt" }
version_policy { specific { versions: [ 1, 3 ] } }
instance_group { kind: KIND_GPU count: 2 gpus: [ 1 ] }
parameters { key: "team" value { string_value: "vision" } }
model_warmup { name: "first" batch_size: 2 count: 3 inputs { key: "x"
  value { data_type: TYPE_FP32 dims: 4 zero_data: true } } }
model_warmup { name: "second" batch_size: 1 inputs { key: "x"
  value { data_type: TYPE_FP32 dims: 4 input_data_file: "x.bin" } } }
"#;

fn written() -> Served {
    let input = "input { name: \"x\" data_type: TYPE_FP32 dims: 4 }";
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
    let versions = json!({"specific": {"versions": [1, 3]}});
    assert_eq!(config["version_policy"], versions);
    let parameters = json!({"team": {"string_value": "vision"}});
    assert_eq!(config["parameters"], parameters);
    assert_eq!(config["output"][0]["label_filename"], "names.txt");
    let input = |from: &str, value: Value| json!({"x": {"data_type": "TYPE_FP32", "dims": [4], from: value}});
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
