//! Any bytes as a request in JSON with binary data behind it: a call within its bounds, or refused
//! in few words.

#![no_main]

use bytes::Bytes;
use divisi_inference::bounds::RequestBounds;
use divisi_inference::protocol::json::read_call;
use divisi_inference::protocol::{InputSource, ModelId, WireTensor};
use libfuzzer_sys::fuzz_target;

// The first two bytes say how long the JSON is.
fuzz_target!(|bytes: &[u8]| {
    let Some((length, rest)) = bytes.split_first_chunk::<2>() else {
        return;
    };
    let length = usize::from(u16::from_le_bytes(*length)).min(rest.len());
    let (head, tail) = rest.split_at(length);
    let limits = RequestBounds {
        elements: 1 << 16,
        ..RequestBounds::default()
    };
    match read_call(ModelId::new("m", ""), head, Bytes::copy_from_slice(tail).into(), &limits) {
        Ok(call) => {
            assert!(call.inputs.len() <= limits.tensors && call.outputs.len() <= limits.tensors);
            for input in call.inputs {
                let InputSource::Here(bytes) = input.source else {
                    continue;
                };
                // Eight bytes a value at most, and strings with their lengths.
                assert!(bytes.len() <= 8 * rest.len());
                let (name, dims) = (input.name, input.dims);
                let tensor = WireTensor::new(&name, input.data_type, dims, bytes, &limits);
                if let Ok(tensor) = tensor {
                    assert!(tensor.elements() <= limits.elements);
                }
            }
        }
        Err(error) => assert!(error.to_string().len() < 4096, "{error}"),
    }
});
