//! Tasks as clients ask them, over HTTP.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use divisi_door::client::{ClientError, ClientOptions, HttpClient};
use divisi_door::{InferenceServer, ServerOptions};
use divisi_inference::protocol::{NamedTensor, WireTensor};
use divisi_inference::service::ModelService;
use divisi_modelless::goals::{LatencyGoal, QueryGoals};
use divisi_modelless::policies::PolicyChoice;
use divisi_modelless::quantities::Accuracy;
use divisi_modelless::variants::TaskIndex;
use divisi_runtime::tensor::DataType;
use divisi_tasks::routing::{LiveRouter, TaskRouter};
use divisi_tasks::scaling::LiveScaling;
use divisi_tasks::service::TaskService;
use serde_json::{Map, Value, json};

use crate::common::{
    MIDDLING, SMALL, WHOLE, contents, digits, open, registered, serving, serving_tasks,
};
use crate::errors::ask;
use crate::wait::wait_until;

/// A server of the task.
struct Served {
    address: String,
    router: Arc<TaskRouter>,
    _server: InferenceServer,
}

fn served() -> Served {
    served_by(serving(&[SMALL, MIDDLING, WHOLE]))
}

fn served_by(live: Arc<LiveRouter>) -> Served {
    let router = live.router();
    let service = TaskService::new(live);
    let options = ServerOptions {
        http: Some((Ipv4Addr::LOCALHOST, 0).into()),
        ..ServerOptions::default()
    };
    let server = InferenceServer::start(Arc::new(service), &options).expect("listens");
    let address = server.addresses().http.expect("an address").to_string();
    Served {
        address,
        router,
        _server: server,
    }
}

impl Served {
    /// Connects. The server closes connections that stay idle.
    fn client(&self) -> HttpClient {
        let address = self.address.parse().expect("an address");
        HttpClient::connect(&address, &ClientOptions::default()).expect("connects")
    }

    /// Returns the parameters of the answer to two samples, or the status and the words of a refusal.
    fn ask(&self, model: &str, parameters: Value) -> Result<Map<String, Value>, (u16, String)> {
        let values = vec![0_u8; 2 * 64 * 4];
        let tensor = WireTensor::of_values(DataType::Fp32, vec![2, 1, 8, 8], values.into());
        let name = "input".to_owned();
        let Value::Object(parameters) = parameters else {
            panic!("no object");
        };
        let answer = self
            .client()
            .infer_with(model, &[NamedTensor { name, tensor }], &parameters);
        match answer {
            Ok(answer) => {
                assert_eq!(answer.outputs[0].tensor.dims(), [2, 10]);
                Ok(answer.parameters)
            }
            Err(ClientError::Refused { status, words, .. }) => Err((status, words)),
            Err(other) => panic!("{other}"),
        }
    }
}

#[test]
fn an_answer_says_which_variant_it_is_of_and_what_that_costs() {
    let served = served();
    for (parameters, variant, accuracy) in [
        (json!({}), "numbers.sample.f32.all", 99.0),
        (json!({"prefer": "cost"}), "numbers.sample.bf16.mlp", 90.0),
        (
            json!({"accuracy": 95, "latency_ms": 10_000}),
            "numbers.sample.int8.cnn-s+cnn-m",
            97.0,
        ),
        (json!({"accuracy": 97.5}), "numbers.sample.f32.all", 99.0),
        (
            json!({"prefer": "accuracy"}),
            "numbers.sample.f32.all",
            99.0,
        ),
        (
            json!({"task": "numbers", "max_cost": 1.5}),
            "numbers.sample.bf16.mlp",
            90.0,
        ),
    ] {
        let told = served
            .ask("numbers", parameters.clone())
            .expect("an answer");
        assert_eq!(told["divisi_variant"], variant, "{parameters}");
        let found = told["divisi_accuracy"].as_f64().expect("a number");
        assert!((found - accuracy).abs() < 1e-9, "{parameters}: {found}");
        assert!(told["divisi_cost"].as_f64().expect("a number") > 0.0);
        assert!(!told.contains_key("divisi_missed"), "{parameters}");
    }
}

#[test]
fn a_query_that_may_wait_is_answered_by_a_variant_that_is_loaded_on_its_arrival() {
    let live = serving(&[SMALL, MIDDLING, WHOLE]);
    let scaling = LiveScaling::start(Arc::clone(&live), PolicyChoice::Divisi).expect("starts");
    let served = served_by(live);
    for parameters in [json!({"accuracy": 97.5}), json!({})] {
        wait_until("variants without queries are unloaded", || {
            served.router.running().len() < 3
        });
        let told = served.ask("numbers", parameters).expect("an answer");
        assert_eq!(told["divisi_variant"], "numbers.sample.f32.all");
        assert!(!told.contains_key("divisi_missed"), "{told:?}");
        assert!(scaling.router().loads().waiting() == 0);
    }
}

#[test]
fn an_answer_says_which_goal_it_missed() {
    let served = served();
    let goals = json!({"accuracy": 95, "latency_ms": 30});
    served.ask("numbers", goals.clone()).expect("an answer");
    let wanted = QueryGoals {
        accuracy: Some(Accuracy::percent(95.0).expect("percent")),
        latency: LatencyGoal::new(Duration::from_millis(30)).ok(),
        ..QueryGoals::default()
    };
    // Four queries of 4 ms wait: one that is as accurate would answer after 30 ms.
    let held: Vec<_> = (0..4)
        .map(|_| served.router.route(TaskIndex(0), &wanted, 1))
        .collect();
    let told = served.ask("numbers", goals).expect("an answer");
    assert_eq!(told["divisi_variant"], "numbers.sample.bf16.mlp");
    let missed = told["divisi_missed"].as_str().expect("words");
    assert!(missed.starts_with("5.00 points less accurate"), "{missed}");
    drop(held);
}

#[test]
fn requests_by_the_name_of_an_ensemble_are_in_the_metrics() {
    let served = served();
    served.ask("sample", json!({})).expect("an answer");
    let address = served.address.parse().expect("an address");
    let metrics = ask(address, "GET", "/metrics", "");
    let answered = "nv_inference_request_success{model=\"sample\",version=\"1\"} 1";
    assert!(metrics.contains(answered), "{metrics}");
}

#[test]
fn an_invalid_request_is_no_missed_goal() {
    let live = serving(&[SMALL]);
    let served = served_by(Arc::clone(&live));
    let (address, wrong) = (served.address.parse().expect("an address"), vec![0_u8; 4]);
    let tensor = WireTensor::of_values(DataType::Fp32, vec![1, 1, 1, 1], wrong.into());
    let name = "input".to_owned();
    let client = HttpClient::connect(&address, &ClientOptions::default());
    let asked = client.expect("connects").infer_with(
        "numbers",
        &[NamedTensor { name, tensor }],
        &Map::new(),
    );
    assert!(matches!(
        asked,
        Err(ClientError::Refused { status: 400, .. })
    ));
    let counts = live.counts();
    assert!(counts.variants.values().all(|tally| tally.unanswered == 0));
}

#[test]
fn metrics_have_the_price_of_the_devices_at_any_load() {
    let live = serving(&[SMALL]);
    let service = TaskService::new(live);
    let paid = || {
        let mut gauges = service.gauges().into_iter();
        let paid = gauges.find(|gauge| gauge.name == "divisi_task_paid_cost_total");
        let paid = paid.expect("a counter");
        assert_eq!(paid.labels, [("device", "1 core".to_owned())]);
        assert!(paid.counts);
        paid.value
    };
    let before = paid();
    wait_until("it rises without queries", || paid() > before);
}

#[test]
fn the_index_names_an_ensemble_that_is_left_out() {
    let mut changed = registered(&digits(), &[SMALL]);
    changed.name = "changed".to_owned();
    changed.record.members[0].calibration = Some("another".to_owned());
    let mut contents = contents("numbers", registered(&digits(), &[SMALL]));
    let models = contents.tasks.get_mut("numbers").expect("the task");
    models.push(changed);
    let tasks = open(&contents, "numbers", &["cpu:0"]).expect("one is served");
    let served = served_by(serving_tasks(Arc::new(tasks)));
    let mut client = served.client();
    assert!(client.is_ready().expect("an answer"));
    let why = "`changed` of task `numbers` is stale: the network, weights or calibration of member \
               `mlp` changed; register it again";
    let expected = [("numbers".to_owned(), why.to_owned())];
    assert_eq!(client.not_served().expect("an answer"), expected);
}

#[test]
fn ensembles_of_a_task_are_asked_by_their_names_too() {
    let served = served();
    for (model, parameters) in [
        ("sample", json!({})),
        ("sample", json!({"accuracy": 95})),
        ("sample", json!({"task": "numbers"})),
        ("numbers.sample.f32.all", json!({})),
        // A model ignores the parameters that it does not know.
        ("numbers.sample.f32.all", json!({"min_accuracy": 95})),
        ("numbers", json!({"mask": 1})),
    ] {
        let told = served.ask(model, parameters.clone());
        assert!(told.is_ok(), "{model} {parameters}: {told:?}");
    }
}

#[test]
fn what_nothing_meets_is_refused_with_the_nearest() {
    let served = served();
    for (model, parameters, status, words) in [
        (
            "numbers",
            json!({"accuracy": 99.5}),
            400,
            "task `numbers`: no variant meets the goals; the nearest is numbers.sample.f32.all in \
             batches of 8 on 1 core: 0.50 points less accurate",
        ),
        (
            "numbers",
            json!({"accuracy": 0.95}),
            400,
            "the request: parameter `accuracy`: expected percent, above 1 and up to 100, found 0.95",
        ),
        (
            "numbers",
            json!({"accuracy": "high"}),
            400,
            "the request: parameter `accuracy`: expected a number, found the text `high`",
        ),
        (
            "numbers",
            json!({"latency_ms": 0}),
            400,
            "the request: parameter `latency_ms`: expected milliseconds, above 0 and up to a day, \
             found 0",
        ),
        (
            "numbers",
            json!({"max_cost": -1}),
            400,
            "the request: parameter `max_cost`: expected the cost of a million queries, 0 or more, \
             found -1",
        ),
        (
            "numbers",
            json!({"prefer": "speed"}),
            400,
            "the request: parameter `prefer`: expected `cost` or `accuracy`, found `speed`",
        ),
        (
            "numbers",
            json!({"latency": 20}),
            400,
            "the request: parameter `latency`: unknown goal; did you mean `latency_ms`, in \
             milliseconds?",
        ),
        (
            "sample",
            json!({"min_accuracy": 95}),
            400,
            "the request: parameter `min_accuracy`: unknown goal; did you mean `accuracy`, in \
             percent?",
        ),
        (
            "numbers",
            json!({"task": "letters"}),
            400,
            "the request: parameter `task`: expected one of numbers, found `letters`",
        ),
        (
            "numbers.sample.f32.all",
            json!({"task": "numbers"}),
            400,
            "the request: parameter `task`: expected the task `numbers` or one of its ensembles \
             (sample) as the model, found `numbers.sample.f32.all`",
        ),
        (
            "numbers.sample.f32.all",
            json!({"accuracy": 95}),
            400,
            "model `numbers.sample.f32.all`: not a task; the parameters `accuracy`, \
             `latency_ms`, `max_cost`, `prefer` and `task` are not supported",
        ),
        ("letters", json!({}), 404, "no model `letters` is served"),
    ] {
        let refused = served.ask(model, parameters.clone());
        let expected = (status, words.to_owned());
        assert_eq!(refused, Err(expected), "{model} {parameters}");
    }
    let refused = served.router.task_tallies()[0].unreachable;
    assert_eq!(refused, 1);
}
