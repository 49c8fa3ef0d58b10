//! Priorities and queue policies behind the door.

use std::fs;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use candle_core::Tensor;
use divisi_door::InferenceServer;
use divisi_engine::serving::{BuildError, Engine, EngineOptions, PipelineIndex, PredictorFactory};
use divisi_model::allocation::{Frame, Matrix};
use divisi_model::ensemble::{BatchSize, ComputedMember, Ensemble, Files};
use divisi_runtime::compute::{ComputeError, Predictor, read_rows, write_rows};
use divisi_runtime::device::ThreadTeam;
use divisi_runtime::device::{Devices, Host};
use serde_json::json;

use crate::client::{Answer, ask};
use crate::ensemble::serve;
use crate::wait::wait_until;

/// The longest that a busy machine takes to begin a sample.
const LIMIT: Duration = Duration::from_secs(120);

/// Networks that answer a sample once they are let, and say which it was.
struct Gated {
    let_go: Arc<Mutex<Receiver<()>>>,
    seen: Sender<f32>,
}

struct GatedNetwork {
    let_go: Arc<Mutex<Receiver<()>>>,
    seen: Sender<f32>,
}

impl Predictor for GatedNetwork {
    fn predict(&mut self, _: usize, input: &Tensor, output: &Tensor) -> Result<(), ComputeError> {
        let mut first = 0.0;
        read_rows(input, |rows| first = rows[0])?;
        self.seen.send(first).expect("the test listens");
        // Nobody to let it go: the test is over.
        let _ = self.let_go.lock().expect("whole").recv();
        write_rows(output, |rows| rows.fill(0.5))
    }
}

impl PredictorFactory for Gated {
    fn build(
        &self,
        _: ComputedMember,
        _: BatchSize,
        _: Option<Arc<ThreadTeam>>,
    ) -> Result<Box<dyn Predictor>, BuildError> {
        Ok(Box::new(GatedNetwork {
            let_go: Arc::clone(&self.let_go),
            seen: self.seen.clone(),
        }))
    }
}

/// A server of one model, whose batches of one sample wait to be let go.
struct Queue {
    engine: Arc<Engine>,
    server: InferenceServer,
    go: Sender<()>,
    began: Receiver<f32>,
}

fn written(folder: &Path, queue: &str) -> Ensemble {
    let text = format!(
        "name = \"m\"\nclasses = 2\nbatch_sizes = [1]\nqueue = {queue}\n[input]\nshape = [1]\n\
         [[members]]\nname = \"a\"\nnetwork = {{ builder = \"perceptron\", hidden = [2] }}\n"
    );
    fs::write(folder.join("ensemble.toml"), text).expect("written");
    Ensemble::read(&Files::from_path(folder)).expect("an ensemble")
}

impl Queue {
    fn of(queue: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let ensemble = Arc::new(written(folder.path(), queue));
        let devices = Devices::default_of(&Host {
            cores: vec![0],
            memory_bytes: 4 << 30,
        });
        let matrix = Matrix::from_rows(Frame::from_ensemble(&ensemble, &devices), &[vec![1]])
            .expect("valid");
        let ((go, let_go), (seen, began)) = (channel(), channel());
        let factory = Arc::new(Gated {
            let_go: Arc::new(Mutex::new(let_go)),
            seen,
        });
        let options = EngineOptions::default();
        let engine = Engine::start(ensemble, devices, &matrix, factory, options).expect("starts");
        let engine = Arc::new(engine);
        let server = serve(&engine, false);
        Queue {
            engine,
            server,
            go,
            began,
        }
    }

    fn waiting(&self) -> usize {
        let levels = self.engine.telemetry().queue_of(PipelineIndex(0));
        levels.iter().map(|level| level.waiting).sum()
    }

    /// Sends the sample `value`; returns who waits for its answer.
    fn send(&self, value: f32, parameters: serde_json::Value) -> JoinHandle<Answer> {
        let address = self.server.addresses().http.expect("an address");
        let body = json!({"parameters": parameters, "inputs": [{"name": "input",
            "datatype": "FP32", "shape": [1, 1], "data": [value]}]});
        let body = body.to_string();
        thread::spawn(move || ask(address, "POST", "/v2/models/m/infer", body.as_bytes()))
    }

    /// Sends a sample and waits until it waits.
    fn queue(&self, value: f32, parameters: serde_json::Value) -> JoinHandle<Answer> {
        let before = self.waiting();
        let sent = self.send(value, parameters);
        wait_until("it waits", || self.waiting() > before);
        sent
    }

    /// Sends a sample that runs until it is let go.
    fn occupy(&self) -> JoinHandle<Answer> {
        let sent = self.send(0.0, json!({}));
        assert_eq!(self.begun(), 0.0);
        sent
    }

    /// Returns the next sample that begins.
    fn begun(&self) -> f32 {
        self.began.recv_timeout(LIMIT).expect("a sample begins")
    }

    /// Lets batches go on; returns the samples that began, in order.
    fn let_go(&self, count: usize) -> Vec<f32> {
        let began = (0..count).map(|_| {
            self.go.send(()).expect("it runs");
            self.begun()
        });
        let began = began.collect();
        self.go.send(()).expect("the last one runs");
        began
    }

    fn metrics(&self) -> String {
        let address = self.server.addresses().http.expect("an address");
        String::from_utf8(ask(address, "GET", "/metrics", b"").body).expect("text")
    }
}

fn status(sent: JoinHandle<Answer>) -> u16 {
    sent.join().expect("an answer").status
}

#[test]
fn the_most_urgent_request_goes_first_and_one_too_many_is_refused() {
    let queue = Queue::of("{ levels = 3, default = 2, most = 2 }");
    let mut sent = vec![queue.occupy()];
    for (value, priority) in [(1.0, 3), (2.0, 0), (3.0, 2), (4.0, 1)] {
        sent.push(queue.queue(value, json!({"priority": priority})));
    }
    let refused = queue.send(5.0, json!({"priority": 2}));
    let refused = refused.join().expect("an answer");
    assert_eq!(refused.status, 503, "{refused:?}");
    let expected = "the queue is full: at most 2 requests of priority 2 may wait";
    assert_eq!(refused.error(), expected);
    assert_eq!(queue.let_go(4), [4.0, 2.0, 3.0, 1.0]);
    assert!(sent.into_iter().all(|sent| status(sent) == 200));
    let metrics = queue.metrics();
    for line in [
        "divisi_queue_refused_total{model=\"m\",version=\"1\",priority=\"2\"} 1",
        "nv_inference_request_failure{model=\"m\",version=\"1\",reason=\"REJECTED\"} 1",
    ] {
        assert!(metrics.contains(line), "{line} is not in\n{metrics}");
    }
}

#[test]
fn a_request_that_waits_too_long_is_rejected() {
    // The first one may wait for as long as a busy machine takes to begin it.
    let queue = Queue::of("{ levels = 2, default = 1, level = { 2 = { timeout_ms = 1 } } }");
    let first = queue.occupy();
    let late = queue.send(1.0, json!({"priority": 2}));
    let late = late.join().expect("an answer");
    assert_eq!(late.status, 503, "{late:?}");
    let expected = "it exceeded its model's queue timeout";
    assert_eq!(late.error(), expected);
    queue.let_go(0);
    assert_eq!(status(first), 200);
}

#[test]
fn a_request_that_waits_too_long_is_answered_after_the_others() {
    let queue = Queue::of("{ timeout_ms = 3600000, on_timeout = \"delay\", shorter = true }");
    let mut sent = vec![queue.occupy()];
    sent.push(queue.queue(1.0, json!({"timeout": 1})));
    let delayed = || queue.engine.telemetry().queue_of(PipelineIndex(0))[0].delayed;
    wait_until("it is delayed", || delayed() == 1);
    sent.push(queue.queue(2.0, json!({})));
    assert_eq!(queue.let_go(2), [2.0, 1.0]);
    assert!(sent.into_iter().all(|sent| status(sent) == 200));
}
