//! Bodies that come in pieces: they are those that were sent, wherever they are cut.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};

use bytes::Bytes;
use divisi_engine::serving::Request;
use divisi_inference::protocol::ByteRope;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::json;

use crate::client::{Answer, read, request};
use crate::ensemble::{engine, serve};

proptest! {
    /// A rope is the bytes of its pieces, before and after any of them are taken off.
    #[test]
    fn a_rope_is_the_bytes_of_its_pieces(
        pieces in vec(vec(any::<u8>(), 0..6), 0..8),
        taken in vec(0usize..12, 0..5),
    ) {
        let mut left: Vec<u8> = pieces.concat();
        let mut rope = ByteRope::default();
        pieces.into_iter().for_each(|piece| rope.push(piece.into()));
        for count in taken {
            let now: Vec<u8> = left.drain(..count.min(left.len())).collect();
            let split = rope.split_to(count);
            prop_assert_eq!(split.joined(), &now);
            prop_assert_eq!(&split, &ByteRope::from(Bytes::from(now)));
            prop_assert_eq!((rope.len(), rope.is_empty()), (left.len(), left.is_empty()));
        }
        prop_assert_eq!(rope.joined(), left);
    }
}

/// Sends a request in pieces of so many bytes.
fn ask_in_pieces(address: SocketAddr, whole: &[u8], piece: usize) -> Answer {
    let mut stream = TcpStream::connect(address).expect("connects");
    stream.set_nodelay(true).expect("is set");
    for bytes in whole.chunks(piece) {
        stream.write_all(bytes).expect("is sent");
    }
    read(&mut stream)
}

#[test]
fn a_large_request_is_answered_alike_however_it_comes() {
    let engine = engine("sample_ensembles/digits");
    let server = serve(&engine, false);
    let address = server.addresses().http.expect("an address");
    let samples = engine.ensemble().calibration.clone().expect("samples");
    let rows: Vec<f32> = (0..1500)
        .flat_map(|at| samples.row(at % samples.len()).to_vec())
        .collect();
    let expected = engine.predict(Request::new(&rows)).expect("let in");
    let expected = expected.expect("answered");
    let tail: Vec<u8> = rows.iter().flat_map(|v| v.to_le_bytes()).collect();
    let head = json!({"inputs": [{"name": "input", "datatype": "FP32", "shape": [1500, 1, 8, 8],
        "parameters": {"binary_data_size": tail.len()}}]})
    .to_string();
    let headers = [("inference-header-content-length", head.len().to_string())];
    let body = [head.as_bytes(), &tail].concat();
    let whole = request("POST", "/v2/models/digits/infer", &headers, &body);
    for piece in [usize::MAX, 100_003, 40_001, 4099] {
        let answer = ask_in_pieces(address, &whole, piece.min(whole.len())).json();
        let found = answer["outputs"][0]["data"].as_array().expect("a list");
        assert_eq!(found.len(), 15_000);
        for (found, expected) in found.iter().zip(expected.rows().flatten()) {
            let found = found.as_f64().expect("a number");
            assert!((found - f64::from(*expected)).abs() < 1e-5, "{piece}");
        }
    }
}
