//! A repository of models behind the door: ensembles with the models that compose them, warm-up, and
//! models that are loaded as their clients want them.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use divisi_door::ServerOptions;
use divisi_door::limits::ServerLimits;
use divisi_engine::changes::Changes;
use divisi_server::{
    DeviceChoice, FirstModels, ModelControl, ModelSelection, OperatedDoor, SelectedModels,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::client::{Answer, ask};
use crate::service::options;

/// A chain of `a` and `b`, and an input that both read.
pub const ENSEMBLE: &str = r#"
platform: "ensemble"
max_batch_size: 4
input { name: "in" data_type: TYPE_FP32 dims: 4 }
output { name: "out" data_type: TYPE_FP32 dims: 4 }
ensemble_scheduling { step [
  { model_name: "a" model_version: -1 input_map { key: "x" value: "in" } output_map { key: "y" value: "t" } },
  { model_name: "b" model_version: -1 input_map { key: "x" value: "t" } output_map { key: "y" value: "out" } }
] }
"#;

pub fn network(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/runtime/onnx_files");
    fs::read(folder.join(name)).expect("a network")
}

pub struct Models {
    pub folder: TempDir,
}

impl Models {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        Models { folder }
    }

    pub fn file(self, path: &str, bytes: impl AsRef<[u8]>) -> Self {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        fs::write(path, bytes).expect("writes");
        self
    }

    pub fn network(self, model: &str, config: &str) -> Self {
        let models = self.file(&format!("{model}/1/model.onnx"), network("affine.onnx"));
        models.file(&format!("{model}/config.pbtxt"), config)
    }

    pub fn serve(self, with_files: bool) -> Served {
        self.serve_by(None, with_files)
    }

    /// Serves them as `divisi serve` does, on one core.
    pub fn serve_by(self, control: Option<ModelControl>, with_files: bool) -> Served {
        let selection = ModelSelection {
            control,
            devices: DeviceChoice {
                names: vec!["cpu:0".to_owned()],
                memory: Some(4 << 30),
            },
            ..ModelSelection::from_path(self.folder.path())
        };
        let models = SelectedModels::read(&selection).expect("can be read");
        let changes = models.deploy(None).expect("starts");
        let options = ServerOptions {
            load_files: with_files,
            ..options(ServerLimits::default())
        };
        Served {
            server: OperatedDoor::new(&changes, None, options).expect("starts"),
            changes,
            models: self,
        }
    }
}

/// Serves models of these names alone at the start.
pub fn only(names: &[&str]) -> Option<ModelControl> {
    let names = names.iter().map(ToString::to_string).collect();
    Some(ModelControl::Explicit(FirstModels::Named(names)))
}

pub struct Served {
    pub server: OperatedDoor,
    pub changes: Arc<Changes>,
    pub models: Models,
}

impl Served {
    pub fn get(&self, path: &str) -> Answer {
        let address = self.server.addresses().http.expect("an address");
        ask(address, "GET", path, b"")
    }

    pub fn post(&self, path: &str, body: &Value) -> Answer {
        let address = self.server.addresses().http.expect("an address");
        ask(address, "POST", path, body.to_string().as_bytes())
    }

    pub fn load(&self, name: &str, parameters: &Value) -> Answer {
        let body = json!({"parameters": parameters});
        self.post(&format!("/v2/repository/models/{name}/load"), &body)
    }

    /// The counts of a model: requests, samples and batches.
    pub fn counts(&self, model: &str) -> [u64; 3] {
        let stats = self.get(&format!("/v2/models/{model}/stats")).json();
        let stats = &stats["model_stats"][0];
        let counts = [
            &stats["inference_stats"]["success"]["count"],
            &stats["inference_count"],
            &stats["execution_count"],
        ];
        counts.map(|count| count.as_u64().expect("a count"))
    }

    pub fn unload(&self, name: &str, dependents: bool) -> Answer {
        let body = json!({"parameters": {"unload_dependents": dependents}});
        self.post(&format!("/v2/repository/models/{name}/unload"), &body)
    }

    pub fn infer(&self, model: &str, input: &str, rows: usize) -> Answer {
        let data: Vec<f64> = (0..rows * 4).map(|at| at as f64 / 8.0).collect();
        let body = json!({"inputs": [{"name": input, "datatype": "FP32", "shape": [rows, 4],
            "data": data}]});
        self.post(&format!("/v2/models/{model}/infer"), &body)
    }

    pub fn reason(&self, model: &str) -> String {
        let index = self.post("/v2/repository/index", &json!({})).json();
        let mut all = index.as_array().expect("a list").iter();
        let found = all.find(|entry| entry["name"] == model).expect("is listed");
        found["reason"].as_str().expect("words").to_owned()
    }
}

pub fn chain() -> Models {
    let models = Models::new().network("a", "max_batch_size: 4");
    let models = models.network("b", "max_batch_size: 4");
    models.file("e/config.pbtxt", ENSEMBLE)
}

#[test]
fn the_configuration_of_an_ensemble_names_the_models_that_compose_it() {
    let served = chain().serve(false);
    let config = served.get("/v2/models/e/config").json();
    assert_eq!(config["platform"], "ensemble");
    assert!(config["dynamic_batching"].is_null(), "{config}");
    let expected = json!([
        {"model_name": "a", "model_version": -1, "input_map": {"x": "in"}, "output_map": {"y": "t"}},
        {"model_name": "b", "model_version": -1, "input_map": {"x": "t"}, "output_map": {"y": "out"}},
    ]);
    assert_eq!(config["ensemble_scheduling"]["step"], expected);
    assert_eq!(served.get("/v2/models/e").json()["platform"], "ensemble");
}

#[test]
fn what_goes_through_an_ensemble_counts_for_the_models_that_compose_it() {
    let served = chain().serve(false);
    for _ in 0..3 {
        assert_eq!(served.infer("e", "in", 2).status, 200);
    }
    assert_eq!(served.infer("a", "x", 1).status, 200);
    assert_eq!(served.counts("e"), [3, 6, 3]);
    // A request of two rows is one batch: the workers begin with the four rows that are allowed.
    assert_eq!(served.counts("a"), [4, 7, 4]);
    assert_eq!(served.counts("b"), [3, 6, 3]);
    let stats = served.get("/v2/models/b/stats").json();
    let stats = &stats["model_stats"][0]["inference_stats"];
    for part in ["queue", "compute_input", "compute_infer", "compute_output"] {
        assert_eq!(stats[part]["count"], 3, "{part}: {stats}");
    }
    assert!(stats["compute_infer"]["ns"].as_u64() > Some(0), "{stats}");
}

#[test]
fn what_goes_through_an_ensemble_within_another_counts_for_both() {
    let step = |model: &str, from: &str, to: &str, maps: [&str; 2]| {
        format!(
            "{{ model_name: \"{model}\" model_version: -1 input_map {{ key: \"{}\" value: \"{from}\" }} \
             output_map {{ key: \"{}\" value: \"{to}\" }} }}",
            maps[0], maps[1]
        )
    };
    let head = ENSEMBLE
        .split_once("ensemble_scheduling")
        .expect("has steps")
        .0;
    let ensemble = |steps: &[String]| {
        format!(
            "{head}ensemble_scheduling {{ step [ {} ] }}",
            steps.join(", ")
        )
    };
    // `e` twice and `a` between, `e` alone, and that alone.
    let outer = ensemble(&[
        step("e", "in", "s", ["in", "out"]),
        step("a", "s", "t", ["x", "y"]),
        step("e", "t", "out", ["in", "out"]),
    ]);
    let only = |model: &str| ensemble(&[step(model, "in", "out", ["in", "out"])]);
    let models = chain().file("outer/config.pbtxt", outer);
    let models = models
        .file("wrap/config.pbtxt", only("e"))
        .file("top/config.pbtxt", only("wrap"));
    let served = models.serve(false);
    assert_eq!(served.infer("outer", "in", 2).status, 200);
    assert_eq!(served.counts("outer"), [1, 2, 1]);
    assert_eq!(served.counts("e"), [2, 4, 2]);
    assert_eq!(served.counts("b"), [2, 4, 2]);
    assert_eq!(served.counts("a"), [3, 6, 3]);
    assert_eq!(served.infer("top", "in", 1).status, 200);
    assert_eq!(served.counts("wrap"), [1, 1, 1]);
    assert_eq!(served.counts("e"), [3, 5, 3]);
    let stats = served.get("/v2/models/e/stats").json();
    let compute = &stats["model_stats"][0]["inference_stats"]["compute_infer"];
    assert!(compute["ns"].as_u64() > Some(0), "{stats}");
}

#[test]
fn queues_are_told_as_the_configuration_has_them() {
    let models = Models::new().network(
        "a",
        "max_batch_size: 4 dynamic_batching { preferred_batch_size: 3\n\
         max_queue_delay_microseconds: 700 priority_levels: 3 default_priority_level: 2\n\
         default_queue_policy { max_queue_size: 8 }\n\
         priority_queue_policy { key: 1 value { timeout_action: DELAY\n\
         default_timeout_microseconds: 500 allow_timeout_override: true } } }",
    );
    let config = models.serve(false).get("/v2/models/a/config").json();
    let expected = json!({
        "preferred_batch_size": [3],
        "max_queue_delay_microseconds": 700,
        "preserve_ordering": false,
        "priority_levels": 3,
        "default_priority_level": 2,
        "default_queue_policy": {"timeout_action": "REJECT", "default_timeout_microseconds": 0,
            "allow_timeout_override": false, "max_queue_size": 8},
        "priority_queue_policy": {"1": {"timeout_action": "DELAY",
            "default_timeout_microseconds": 500, "allow_timeout_override": true,
            "max_queue_size": 0}},
    });
    assert_eq!(config["dynamic_batching"], expected);
}

#[test]
fn a_model_whose_new_files_cannot_be_read_is_served_and_the_index_says_why() {
    let served = Models::new().network("a", "max_batch_size: 4").serve(false);
    assert_eq!(served.reason("a"), "");
    let file = served.models.folder.path().join("a/1/model.onnx");
    fs::write(&file, "broken").expect("writes");
    assert_eq!(served.load("a", &json!({})).status, 400);
    let told = |served: &Served| served.changes.deployment().take_notices().join("\n");
    for refreshed in [false, true] {
        if refreshed {
            served.changes.refresh().expect("nothing changes");
        }
        let reason = served.reason("a");
        assert!(reason.contains("not a readable ONNX file"), "{reason}");
        assert_eq!(served.infer("a", "x", 1).status, 200);
        // It is told once.
        let told = told(&served);
        assert_eq!(
            told.contains("`a` is served as before"),
            !refreshed,
            "{told}"
        );
    }
    fs::write(&file, network("affine.onnx")).expect("writes");
    served.changes.refresh().expect("it is read");
    assert_eq!(served.reason("a"), "");
}

#[test]
fn a_repository_that_is_gone_for_a_moment_takes_no_model_with_it() {
    let served = Models::new().network("a", "max_batch_size: 4").serve(false);
    let folder = served.models.folder.path();
    let aside = tempfile::tempdir().expect("a folder");
    fs::rename(folder, aside.path().join("models")).expect("renames");
    let refused = served.changes.refresh().expect_err("it is gone");
    assert!(
        refused.to_string().ends_with("the served models stay"),
        "{refused}"
    );
    assert_eq!(served.infer("a", "x", 1).status, 200);
    fs::rename(aside.path().join("models"), folder).expect("renames");
    served.changes.refresh().expect("it is back");
    assert_eq!(served.infer("a", "x", 1).status, 200);
}

#[test]
fn a_load_while_the_repository_cannot_be_looked_at_says_so_and_keeps_the_model() {
    let served = chain().serve(false);
    let folder = served.models.folder.path();
    let aside = tempfile::tempdir().expect("a folder");
    fs::rename(folder, aside.path().join("models")).expect("renames");
    for name in ["a", "e"] {
        let refused = served.load(name, &json!({}));
        assert_eq!(refused.status, 503, "{refused:?}");
        let words = refused.error();
        assert!(words.ends_with("the served models stay"), "{words}");
        assert_eq!(served.reason(name), "");
    }
    assert_eq!(served.infer("e", "in", 1).status, 200);
    fs::rename(aside.path().join("models"), folder).expect("renames");
    assert_eq!(served.load("a", &json!({})).status, 200);
}

#[test]
fn a_model_is_loaded_with_another_configuration_until_it_is_loaded_again() {
    let models = Models::new().network("a", "max_batch_size: 4");
    let served = models.network("b", "max_batch_size: 4").serve(false);
    let most = || served.get("/v2/models/a/config").json()["max_batch_size"].clone();
    let config = json!({"name": "a", "maxBatchSize": "2"}).to_string();
    let loaded = served.load("a", &json!({"config": config}));
    assert_eq!(loaded.status, 200, "{loaded:?}");
    assert_eq!(most(), 2);
    let cases = [
        (json!({"config": "{"}), 400, "invalid JSON"),
        (
            json!({"config": "{\"max_batch\": 1}"}),
            400,
            "unknown field `max_batch`",
        ),
        (
            json!({"config": "{\"max_batch_size\": \"x\"}"}),
            400,
            "max_batch_size: expected a whole number",
        ),
        (
            json!({"config": "{\"name\": \"b\"}"}),
            400,
            "expected `a`, the name of its folder, found `b`",
        ),
        (
            json!({"config": 1}),
            400,
            "expected a configuration as JSON text",
        ),
        (
            json!({"other": "1"}),
            501,
            "parameter `other` of `load`: not supported",
        ),
        (
            json!({"config": "{}", "file:1/model.onnx": "AAAA"}),
            501,
            "this server accepts no model files; start it with `--load-files`",
        ),
    ];
    for (parameters, status, expected) in cases {
        let refused = served.load("a", &parameters);
        assert_eq!(refused.status, status, "{refused:?}");
        assert!(refused.error().contains(expected), "{refused:?}");
        assert_eq!(served.infer("a", "x", 1).status, 200, "it is served still");
        assert_eq!(served.load("b", &json!({})).status, 200);
        assert_eq!(most(), 2, "as it was wanted before");
    }
    assert_eq!(served.load("a", &json!({})).status, 200);
    assert_eq!(most(), 4);
}

#[test]
fn a_model_is_loaded_from_files_that_its_client_brings() {
    let served = Models::new().network("a", "max_batch_size: 4").serve(true);
    let file = STANDARD.encode(network("affine.onnx"));
    let config = json!({"max_batch_size": 3}).to_string();
    let brought = json!({"config": config, "file:7/model.onnx": file});
    for model in ["a", "new"] {
        let loaded = served.load(model, &brought);
        assert_eq!(loaded.status, 200, "{loaded:?}");
        let known = served.get(&format!("/v2/models/{model}")).json();
        assert_eq!(known["versions"], json!(["7"]));
        assert_eq!(served.infer(model, "x", 3).status, 200);
    }
    for (name, expected) in [
        ("file:../x", "expected a path such as 1/model.onnx"),
        ("file:/etc/passwd", "expected a path such as 1/model.onnx"),
        ("file:1/../../x", "expected a path such as 1/model.onnx"),
        ("file:", "expected a path such as 1/model.onnx"),
    ] {
        let refused = served.load("a", &json!({"config": config, name: file}));
        assert_eq!(refused.status, 400, "{refused:?}");
        assert!(refused.error().contains(expected), "{refused:?}");
    }
    let refused = served.load("a", &json!({"config": config, "file:1/model.onnx": "?"}));
    assert!(refused.error().contains("expected base64"), "{refused:?}");
    let refused = served.load("a", &json!({"file:1/model.onnx": file}));
    assert!(
        refused.error().contains("files require `config`"),
        "{refused:?}"
    );
    assert_eq!(served.infer("a", "x", 3).status, 200);
}

#[test]
fn what_an_ensemble_brought_at_the_start_goes_with_its_dependents() {
    let models = chain();
    let served = models.serve_by(only(&["e"]), false);
    assert_eq!(served.get("/v2/models/a/ready").status, 200);
    assert_eq!(served.unload("e", true).status, 200);
    for model in ["e", "a", "b"] {
        assert_ne!(served.get(&format!("/v2/models/{model}/ready")).status, 200);
    }
}

#[test]
fn a_model_without_a_batch_takes_one_sample_a_request() {
    let config = "max_batch_size: 0\ninput { name: \"x\" data_type: TYPE_FP32 dims: [ 2, 4 ] }\n\
                  output { name: \"y\" data_type: TYPE_FP32 dims: [ 2, 4 ] }";
    let served = Models::new().network("m", config).serve(false);
    assert_eq!(served.infer("m", "x", 2).status, 200);
    let body = json!({
        "inputs": [{"name": "x", "datatype": "FP32", "shape": [2, 4],
            "data": [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]}],
        "outputs": [{"name": "y", "parameters": {"classification": 3}}],
    });
    let output = served.post("/v2/models/m/infer", &body).json()["outputs"][0].clone();
    assert_eq!(output["shape"], json!([3]), "of the whole tensor: {output}");
    assert_eq!(served.counts("m"), [2, 2, 2]);
}
