//! The statistics of models: the batches that ran, by their sizes.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use divisi_door::limits::ServerLimits;
use divisi_door::proto::inference as proto;
use divisi_door::{Addresses, InferenceServer};
use divisi_engine::serving::{BatchOfRun, StepRun};
use divisi_inference::error::ServiceError;
use divisi_inference::protocol::ModelId;
use divisi_inference::service::{
    DescribedStep, InferenceAnswer, InferenceFuture, InferenceRequest, ListedModel,
    ModelDescription, ModelService, ModelState,
};
use divisi_model::dataflow::StepIndex;
use divisi_runtime::device::DeviceIndex;
use prost::Message;
use serde_json::{Value, json};

use crate::client::ask;
use crate::ensemble::{engine, infer, serve};
use crate::grpc;
use crate::repository::{Models, network};
use crate::service::{Echo, options};
use crate::wait::wait_until;

fn rows(input: &str, shape: &[usize]) -> Value {
    let data = vec![0.5; shape.iter().product()];
    json!({"inputs": [{"name": input, "datatype": "FP32", "shape": shape, "data": data}]})
}

fn statistics(addresses: Addresses, model: &str) -> Value {
    let address = addresses.http.expect("an address");
    let path = format!("/v2/models/{model}/stats");
    ask(address, "GET", &path, b"").json()["model_stats"][0].clone()
}

/// The sizes of batches, each with how many there were.
fn sizes(statistics: &Value) -> Vec<(u64, u64)> {
    let number = |value: &Value| value.as_u64().expect("a number");
    let batches = statistics["batch_stats"].as_array().expect("a list");
    let size = |batch: &Value| {
        let count = |part: &str| number(&batch[part]["count"]);
        let parts = ["compute_input", "compute_infer", "compute_output"].map(count);
        assert_eq!(parts, [parts[0]; 3], "each part once a batch");
        assert!(number(&batch["compute_infer"]["ns"]) > 0);
        (number(&batch["batch_size"]), parts[0])
    };
    batches.iter().map(size).collect()
}

#[test]
fn each_size_of_the_batches_that_ran_has_its_times() {
    let engine = engine("sample_ensembles/digits-onnx/mlp.onnx");
    let server = serve(&engine, true);
    let input = engine.ensemble().members[0].graph.signature().inputs[0]
        .name
        .clone();
    assert_eq!(sizes(&statistics(server.addresses(), "mlp")), []);
    for count in [1, 1, 5] {
        assert_eq!(
            infer(&server, "mlp", &rows(&input, &[count, 1, 8, 8])).status,
            200
        );
    }
    let statistics = statistics(server.addresses(), "mlp");
    assert_eq!(sizes(&statistics), [(1, 2), (5, 1)]);
    assert_eq!(statistics["execution_count"], 3);
    assert_eq!(statistics["inference_count"], 7);

    let address = server.addresses().grpc.expect("an address");
    let path = format!("{}/ModelStatistics", grpc::INFERENCE);
    let all = proto::ModelStatisticsRequest::default();
    let all: proto::ModelStatisticsResponse =
        grpc::ask(address, &path, &[all.encode_to_vec()]).only();
    let batches = all.model_stats[0].batch_stats.iter();
    let batches = batches.map(|batch| {
        let infer = batch.compute_infer.as_ref().expect("times");
        assert!(infer.ns > 0);
        (batch.batch_size, infer.count)
    });
    assert_eq!(batches.collect::<Vec<_>>(), [(1, 2), (5, 1)]);
}

#[test]
fn an_ensemble_has_the_batches_of_its_members_where_these_are_no_models() {
    let engine = engine("sample_ensembles/digits");
    let server = serve(&engine, false);
    assert_eq!(
        infer(&server, "digits", &rows("input", &[4, 1, 8, 8])).status,
        200
    );
    let members = engine.ensemble().members.len() as u64;
    assert_eq!(
        sizes(&statistics(server.addresses(), "digits")),
        [(4, members)]
    );
}

/// Answers as [`Echo`] does, each request by a batch that is larger than that of the one before.
#[derive(Default)]
struct Growing(Echo);

fn batch(samples: usize) -> StepRun {
    StepRun {
        step: StepIndex::new(0),
        rows: 1,
        arrived: Duration::ZERO,
        queued: Duration::ZERO,
        input: Duration::from_nanos(1),
        computed: Duration::from_nanos(1),
        output: Duration::from_nanos(1),
        failed: None,
        batch: Some(BatchOfRun {
            number: samples as u64,
            device: DeviceIndex::new(0),
            samples,
            is_first: true,
        }),
    }
}

impl ModelService for Growing {
    fn index(&self) -> Vec<ListedModel> {
        self.0.index()
    }

    fn describe(&self, model: &ModelId) -> Result<Arc<ModelDescription>, ServiceError> {
        let mut description = ModelDescription::clone(&*self.0.describe(model)?);
        description.steps = vec![DescribedStep {
            name: "only".into(),
            model: Some(ModelId::new(&*description.name, "1")),
            one_sample: false,
        }];
        Ok(Arc::new(description))
    }

    fn state(&self, model: &ModelId) -> Result<ModelState, ServiceError> {
        self.0.state(model)
    }

    fn infer(&self, request: InferenceRequest) -> InferenceFuture {
        let model = self.describe(&request.model);
        let answer = self.0.infer(request);
        let samples = self.0.asked.load(Ordering::SeqCst);
        Box::pin(async move {
            Ok(InferenceAnswer {
                model: model?,
                runs: vec![batch(samples)],
                ..answer.await?
            })
        })
    }
}

#[test]
fn of_very_many_sizes_the_first_are_told_and_every_batch_is_an_execution() {
    let options = options(ServerLimits::default());
    let server = InferenceServer::start(Arc::new(Growing::default()), &options).expect("starts");
    for _ in 0..300 {
        assert_eq!(infer(&server, "echo", &rows("x", &[1, 3])).status, 200);
    }
    let statistics = statistics(server.addresses(), "echo");
    let sizes = sizes(&statistics);
    assert_eq!(sizes.len(), 256);
    assert_eq!((sizes[0], sizes[255]), ((1, 1), (256, 1)));
    assert_eq!(statistics["execution_count"], 300);
}

#[test]
fn a_model_without_a_version_has_the_statistics_of_all_of_them() {
    let models = Models::new().network("a", "max_batch_size: 4 version_policy { all {} }");
    let served = models
        .file("a/2/model.onnx", network("affine.onnx"))
        .serve(false);
    let path = "/v2/models/a/versions/1/infer";
    assert_eq!(served.post(path, &rows("x", &[1, 4])).status, 200);
    let counted = |path: &str| {
        let statistics = served.get(path).json();
        let all = statistics["model_stats"].as_array().expect("a list").iter();
        let count = |of: &Value| of["inference_stats"]["success"]["count"].as_u64();
        let each = all.map(|of| (of["version"].as_str().map(str::to_owned), count(of)));
        each.collect::<Vec<_>>()
    };
    let version = |number: &str, count| (Some(number.to_owned()), Some(count));
    let both = [version("1", 1), version("2", 0)];
    assert_eq!(counted("/v2/models/a/stats"), both);
    assert_eq!(counted("/v2/models/stats"), both);
    assert_eq!(counted("/v2/models/a/versions/2/stats"), both[1..]);

    let address = served.server.addresses().grpc.expect("an address");
    let path = format!("{}/ModelStatistics", grpc::INFERENCE);
    let asked = proto::ModelStatisticsRequest {
        name: "a".into(),
        version: String::new(),
    };
    let told: proto::ModelStatisticsResponse =
        grpc::ask(address, &path, &[asked.encode_to_vec()]).only();
    let versions = told.model_stats.iter().map(|of| &*of.version);
    assert_eq!(versions.collect::<Vec<_>>(), ["1", "2"]);
}

/// A chain of `a`, and of `n`, whose integers are not answered where they are large.
const COUNTS: &str = r#"
platform: "ensemble"
max_batch_size: 4
input { name: "in" data_type: TYPE_FP32 dims: 4 }
output { name: "out" data_type: TYPE_INT64 dims: 4 }
ensemble_scheduling { step [
  { model_name: "a" model_version: -1 input_map { key: "x" value: "in" } output_map { key: "y" value: "t" } },
  { model_name: "n" model_version: -1 input_map { key: "x" value: "t" } output_map { key: "n" value: "out" } }
] }
"#;

#[test]
fn the_models_that_ran_for_a_request_that_failed_later_were_executed() {
    let models = Models::new().network("a", "max_batch_size: 4");
    let models = models.network("n", "max_batch_size: 4");
    let models = models.file("n/1/model.onnx", network("counted.onnx"));
    let served = models.file("e/config.pbtxt", COUNTS).serve(false);
    let ask = |model: &str, input: &str| {
        let data = vec![1e9; 8];
        let body = json!({"inputs": [{"name": input, "datatype": "FP32", "shape": [2, 4],
            "data": data}]});
        let answer = served.post(&format!("/v2/models/{model}/infer"), &body);
        assert_eq!(answer.status, 501, "{answer:?}");
    };
    let executed =
        |model: &str| statistics(served.server.addresses(), model)["execution_count"].clone();
    // Its runs are counted once nothing of the request is under way any more.
    ask("e", "in");
    wait_until("both ran", || executed("a") == 1 && executed("n") == 1);
    let of_a = statistics(served.server.addresses(), "a");
    assert_eq!(of_a["inference_count"], 2);
    assert_eq!(sizes(&of_a), [(2, 1)]);
    // The failure is the second's, and the request's.
    let counts = |of: &Value| {
        let stats = &of["inference_stats"];
        ["success", "fail"].map(|how| stats[how]["count"].as_u64())
    };
    assert_eq!(counts(&of_a), [Some(1), Some(0)]);
    assert_eq!(
        counts(&statistics(served.server.addresses(), "n")),
        [Some(0), Some(1)]
    );
    let of_e = statistics(served.server.addresses(), "e");
    assert_eq!(counts(&of_e), [Some(0), Some(1)]);
    assert_eq!(of_e["inference_count"], 0);
    assert_eq!(of_e["execution_count"], 0);
    ask("n", "x");
    wait_until("it ran again", || executed("n") == 2);
    assert_eq!(executed("a"), 1);
}
