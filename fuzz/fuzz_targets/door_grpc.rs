//! Any bytes as a message of gRPC that asks a model: a call within its bounds, or refused in few
//! words.

#![no_main]

use bytes::Bytes;
use divisi_door::grpc::read_call;
use divisi_door::limits::ServerLimits;
use divisi_door::proto::inference::ModelInferRequest;
use libfuzzer_sys::fuzz_target;
use prost::Message;

fuzz_target!(|bytes: &[u8]| {
    let limits = ServerLimits {
        elements: 1 << 16,
        ..ServerLimits::default()
    };
    let Ok(request) = ModelInferRequest::decode(Bytes::copy_from_slice(bytes)) else {
        return;
    };
    match read_call(request, &limits) {
        Ok(call) => assert!(call.inputs.len() <= limits.tensors),
        Err(error) => assert!(error.to_string().len() < 4096, "{error}"),
    }
});
