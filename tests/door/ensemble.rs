//! A real ensemble behind the door.

use std::path::PathBuf;
use std::sync::Arc;

use divisi_door::InferenceServer;
use divisi_door::limits::ServerLimits;
use divisi_engine::serving::{Engine, EngineOptions, NetworkFactory, Request};
use divisi_inference::ensemble::EnsembleService;
use divisi_model::allocation::{Frame, Matrix};
use divisi_model::ensemble::{Ensemble, Files};
use divisi_runtime::device::{Devices, Host, MemberIndex};
use serde_json::json;

use crate::client::{Answer, ask, ask_with};
use crate::service::options;

pub fn engine(path: &str) -> Arc<Engine> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path);
    let ensemble = Arc::new(Ensemble::read(&Files::from_path(&path)).expect("is valid"));
    let host = Host {
        cores: vec![0],
        memory_bytes: 4 << 30,
    };
    let devices = Devices::default_of(&host);
    let frame = Frame::from_ensemble(&ensemble, &devices);
    let row = vec![8; ensemble.members.len()];
    let matrix = Matrix::from_rows(frame, &[row]).expect("valid");
    let factory = Arc::new(NetworkFactory::new(Arc::clone(&ensemble)));
    let options = EngineOptions::default();
    Arc::new(Engine::start(ensemble, devices, &matrix, factory, options).expect("starts"))
}

pub fn serve(engine: &Arc<Engine>, network: bool) -> InferenceServer {
    let service = EnsembleService::new(Arc::clone(engine), network);
    let options = options(ServerLimits::default());
    InferenceServer::start(Arc::new(service), &options).expect("starts")
}

pub fn infer(server: &InferenceServer, model: &str, body: &serde_json::Value) -> Answer {
    let address = server.addresses().http.expect("an address");
    let path = format!("/v2/models/{model}/infer");
    ask(address, "POST", &path, body.to_string().as_bytes())
}

#[test]
fn an_ensemble_answers_as_it_does_in_process() {
    let engine = engine("sample_ensembles/digits");
    let server = serve(&engine, false);
    let samples = engine.ensemble().calibration.clone().expect("samples");
    let rows: Vec<f32> = (0..20).flat_map(|at| samples.row(at).to_vec()).collect();
    let expected = engine
        .predict(Request::new(&rows))
        .expect("let in")
        .expect("answered");
    let expected: Vec<f32> = expected.rows().flatten().copied().collect();
    let body = json!({"inputs": [{"name": "input", "datatype": "FP32",
        "shape": [20, 1, 8, 8], "data": rows}]});
    let answer = infer(&server, "digits", &body).json();
    assert_eq!(answer["outputs"][0]["shape"], json!([20, 10]));
    let found = answer["outputs"][0]["data"]
        .as_array()
        .expect("a list")
        .iter();
    for (found, expected) in found.zip(expected) {
        assert!((found.as_f64().expect("a number") - f64::from(expected)).abs() < 1e-5);
    }
}

#[test]
fn a_file_alone_answers_with_the_tensors_of_its_network() {
    let engine = engine("sample_ensembles/digits-onnx/mlp.onnx");
    let server = serve(&engine, true);
    let signature = engine.ensemble().members[0].graph.signature();
    let address = server.addresses().http.expect("an address");
    let model = ask(address, "GET", "/v2/models/mlp", b"").json();
    assert_eq!(model["inputs"][0]["name"], json!(signature.inputs[0].name));
    assert_eq!(
        model["outputs"][0]["name"],
        json!(signature.outputs[0].name)
    );
}

#[test]
fn a_body_without_json_is_the_one_input_of_a_model() {
    let engine = engine("sample_ensembles/digits");
    let server = serve(&engine, false);
    let address = server.addresses().http.expect("an address");
    let samples = engine.ensemble().calibration.clone().expect("samples");
    let row = samples.row(3).to_vec();
    let expected = engine.predict(Request::new(&row)).expect("let in");
    let expected = expected.expect("answered");
    let bytes: Vec<u8> = row.iter().flat_map(|v| v.to_le_bytes()).collect();
    let raw = [("inference-header-content-length", "0".to_owned())];
    let ask = |body: &[u8]| ask_with(address, "POST", "/v2/models/digits/infer", &raw, body);
    let answer = ask(&bytes);
    assert_eq!(answer.status, 200, "{answer:?}");
    let length = answer.header("inference-header-content-length");
    let length: usize = length.expect("binary data").parse().expect("a number");
    let (values, rest) = answer.body[length..].as_chunks::<4>();
    assert!(rest.is_empty());
    assert_eq!(values.len(), 10);
    let values = values.iter().map(|v| f32::from_le_bytes(*v));
    let mut pairs = values.zip(expected.rows().flatten());
    assert!(pairs.all(|(a, b)| (a - b).abs() < 1e-5));
    let refused = ask(&bytes[..100]);
    assert_eq!(refused.status, 400);
    assert!(refused.error().contains("`input`"), "{}", refused.error());
}

#[test]
fn the_metrics_tell_the_numbers_that_workers_compute_in() {
    let engine = engine("sample_ensembles/digits");
    let server = serve(&engine, false);
    let address = server.addresses().http.expect("an address");
    let told = |precision: &str| {
        let metrics = ask(address, "GET", "/metrics", b"").body;
        let metrics = String::from_utf8(metrics).expect("text");
        let labels = r#"member="mlp",device="cpu:0",batch="8""#;
        let line = format!("divisi_worker_precision{{{labels},precision=\"{precision}\"}} 1");
        let named = metrics
            .lines()
            .filter(|l| l.contains("_precision{") && l.contains(labels));
        named.collect::<Vec<_>>() == [line]
    };
    assert!(told("f32"));
    let int8 = "int8".parse().expect("a precision");
    let setup = engine.setup().with_precision(MemberIndex::new(0), int8);
    engine.apply_setup(&setup, &mut |_| {}).expect("applies");
    assert!(told("int8"));
}

#[test]
fn what_the_engine_refuses_is_told_by_its_status() {
    let engine = engine("sample_ensembles/digits");
    let server = serve(&engine, false);
    let input = |shape: [usize; 4], data: Vec<f64>| json!({"inputs": [{"name": "input", "datatype": "FP32", "shape": shape, "data": data}]});
    let few = infer(&server, "digits", &input([1, 1, 8, 4], vec![0.0; 32]));
    assert_eq!(few.status, 400, "{few:?}");
    let finite = input([1, 1, 8, 8], vec![7.5; 64]).to_string();
    let address = server.addresses().http.expect("an address");
    let body = finite.replace("7.5", "Infinity");
    let infinite = ask(address, "POST", "/v2/models/digits/infer", body.as_bytes());
    assert!(
        infinite
            .error()
            .contains("input `input`: sample 0: value 0 is not a finite number"),
        "{infinite:?}"
    );
    let mut late = input([4000, 1, 8, 8], vec![1.0; 4000 * 64]);
    late["parameters"] = json!({"timeout": 1});
    assert_eq!(infer(&server, "digits", &late).status, 504);
    engine.shutdown();
    let closed = infer(&server, "digits", &input([1, 1, 8, 8], vec![1.0; 64]));
    assert_eq!(closed.status, 503, "{closed:?}");
    let address = server.addresses().http.expect("an address");
    assert_eq!(ask(address, "GET", "/v2/health/ready", b"").status, 400);
    assert_eq!(ask(address, "GET", "/v2/health/live", b"").status, 200);
}
