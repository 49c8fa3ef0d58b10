//! Any bytes on a connection of HTTP: answered by answers of HTTP, or the connection ends; and the
//! server goes on.

#![no_main]

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::{Arc, OnceLock};

use divisi_door::{InferenceServer, ServerOptions};
use divisi_inference::error::ServiceError;
use divisi_inference::protocol::ModelId;
use divisi_inference::service::{
    InferenceAnswer, InferenceFuture, InferenceRequest, InferenceTimes, ListedModel,
    ModelDescription, ModelService, ModelState, ResolvedModel,
};
use divisi_runtime::tensor::{DataType, Signature, TensorSpec};
use libfuzzer_sys::fuzz_target;

/// Answers every tensor that it is sent.
struct Echo;

impl ModelService for Echo {
    fn index(&self) -> Vec<ListedModel> {
        vec![ListedModel {
            model: ModelId::new("m", "1"),
            state: ModelState::Ready,
            failure: None,
        }]
    }

    fn describe(&self, _: &ModelId) -> Result<Arc<ModelDescription>, ServiceError> {
        let tensor = TensorSpec::fixed("x", DataType::Fp32, &[3]);
        Ok(Arc::new(ModelDescription {
            resolved: ResolvedModel::default(),
            name: "m".into(),
            versions: vec!["1".into()],
            version: "1".into(),
            signature: Signature {
                inputs: vec![tensor.clone()],
                outputs: vec![tensor],
                lengths: None,
            },
            batch: Some(8),
            exactly: None,
            one_sample: false,
            batch_sizes: Vec::new(),
            delay: std::time::Duration::ZERO,
            labels: Vec::new(),
            cached: true,
            queueing: None,
            composing: Vec::new(),
            inner: Vec::new(),
            config: Arc::default(),
            steps: Vec::new(),
            devices: Vec::new(),
        }))
    }

    fn state(&self, _: &ModelId) -> Result<ModelState, ServiceError> {
        Ok(ModelState::Ready)
    }

    fn infer(&self, request: InferenceRequest) -> InferenceFuture {
        let model = self.describe(&request.model);
        Box::pin(std::future::ready(model.map(|model| InferenceAnswer {
            model,
            outputs: request.inputs,
            samples: 1,
            times: InferenceTimes::default(),
            parameters: Vec::new(),
            runs: Vec::new(),
        })))
    }
}

fn address() -> SocketAddr {
    static SERVER: OnceLock<InferenceServer> = OnceLock::new();
    let server = SERVER.get_or_init(|| {
        let options = ServerOptions {
            http: "127.0.0.1:0".parse().ok(),
            cache: std::num::NonZeroUsize::new(1 << 20),
            ..ServerOptions::default()
        };
        InferenceServer::start(Arc::new(Echo), &options).expect("starts")
    });
    server.addresses().http.expect("an address")
}

fuzz_target!(|bytes: &[u8]| {
    let mut client = TcpStream::connect(address()).expect("connects");
    // The server may have ended the connection by then.
    let _ = client
        .write_all(bytes)
        .and_then(|()| client.shutdown(Shutdown::Write));
    let mut answer = Vec::new();
    let _ = client.read_to_end(&mut answer);
    assert!(
        answer.is_empty() || answer.starts_with(b"HTTP/1."),
        "{answer:?}"
    );
});
