//! Any bytes as a message of gRPC that asks a model: a call within its bounds, or refused in few
//! words. Its size is told before it is decoded, and no message that can be is said to be none.

#![no_main]

use bytes::Bytes;
use divisi_door::grpc::{WireFault, decoded_size, read_call};
use divisi_door::limits::ServerLimits;
use divisi_door::proto::inference::ModelInferRequest;
use divisi_inference::bounds::RequestBounds;
use libfuzzer_sys::fuzz_target;
use prost::Message;

fuzz_target!(|bytes: &[u8]| {
    let limits = ServerLimits {
        request: RequestBounds {
            elements: 1 << 16,
            ..RequestBounds::default()
        },
        ..ServerLimits::default()
    };
    let size = decoded_size::<ModelInferRequest>(bytes, &limits);
    if !matches!(size, Ok(_) | Err(WireFault::Malformed)) {
        return;
    }
    let Ok(request) = ModelInferRequest::decode(Bytes::copy_from_slice(bytes)) else {
        return;
    };
    assert!(size.is_ok(), "a message is said to be none");
    match read_call(request, &limits.request) {
        Ok(call) => assert!(call.inputs.len() <= limits.request.tensors),
        Err(error) => assert!(error.to_string().len() < 4096, "{error}"),
    }
});
