//! Tensors in system shared memory.

use std::fs::File;
use std::io::Write;
use std::net::SocketAddr;

use divisi_door::limits::ServerLimits;
use divisi_door::proto::inference as proto;
use prost::Message;
use serde_json::{Value, json};

use crate::client::ask;
use crate::grpc;
use crate::service::TestServer;
use crate::wait::wait_until;

/// A file in shared memory with a name of its own; removed when dropped.
struct SharedFile(tempfile::NamedTempFile);

impl SharedFile {
    fn of(bytes: &[u8]) -> Self {
        let mut file = tempfile::NamedTempFile::new_in("/dev/shm").expect("shared memory");
        file.write_all(bytes).expect("is written");
        SharedFile(file)
    }

    fn key(&self) -> String {
        let name = self.0.path().file_name().expect("a name");
        format!("/{}", name.to_string_lossy())
    }

    fn bytes(&self) -> Vec<u8> {
        std::fs::read(self.0.path()).expect("is read")
    }

    fn file(&self) -> &File {
        self.0.as_file()
    }
}

fn post(address: SocketAddr, path: &str, body: &Value) -> (u16, String) {
    let answer = ask(address, "POST", path, body.to_string().as_bytes());
    let said = String::from_utf8_lossy(&answer.body).into_owned();
    (answer.status, said)
}

fn register(address: SocketAddr, key: &str, size: usize) -> (u16, String) {
    let path = "/v2/systemsharedmemory/region/r/register";
    post(
        address,
        path,
        &json!({"key": key, "offset": 0, "byte_size": size}),
    )
}

fn infer(address: SocketAddr, offset: usize, size: usize) -> (u16, String) {
    ask_model(address, "echo", offset, size)
}

fn ask_model(address: SocketAddr, model: &str, offset: usize, size: usize) -> (u16, String) {
    let place = |offset| {
        json!({"shared_memory_region": "r", "shared_memory_offset": offset,
            "shared_memory_byte_size": size})
    };
    let body = json!({
        "inputs": [{"name": "x", "datatype": "UINT8", "shape": [size], "parameters": place(offset)}],
        "outputs": [{"name": "x", "parameters": place(4)}],
    });
    post(address, &format!("/v2/models/{model}/infer"), &body)
}

#[test]
fn inputs_are_read_from_and_outputs_written_to_a_region() {
    let server = TestServer::start();
    let address = server.server.addresses().http.expect("an address");
    let file = SharedFile::of(b"abcd....");
    assert_eq!(register(address, &file.key(), 8).0, 200);
    let status = ask(address, "GET", "/v2/systemsharedmemory/status", b"").json();
    assert_eq!(status[0]["byte_size"], 8);
    let (status, said) = infer(address, 0, 4);
    assert_eq!(status, 200, "{said}");
    assert_eq!(file.bytes(), b"abcdabcd");
}

#[test]
fn what_is_outside_of_a_region_is_refused() {
    let server = TestServer::start();
    let address = server.server.addresses().http.expect("an address");
    let file = SharedFile::of(&[7; 8]);
    assert_eq!(register(address, &file.key(), 9).0, 400);
    assert_eq!(register(address, &file.key(), 0).0, 400);
    assert_eq!(register(address, &file.key(), 8).0, 200);
    assert_eq!(
        register(address, &file.key(), 8).0,
        400,
        "it is registered already"
    );
    assert_eq!(infer(address, 5, 4).0, 400);
    assert_eq!(infer(address, usize::MAX, 4).0, 400);
    let path = "/v2/systemsharedmemory/region/r/unregister";
    assert_eq!(post(address, path, &json!({})).0, 200);
    assert_eq!(infer(address, 0, 4).0, 404);
}

#[test]
fn a_region_needs_a_name_that_is_not_taken() {
    let server = TestServer::start();
    let addresses = server.server.addresses();
    let address = addresses.http.expect("an address");
    let file = SharedFile::of(&[7; 8]);
    let body = json!({"key": file.key(), "offset": 0, "byte_size": 8});
    let path = "/v2/systemsharedmemory/region//register";
    let (status, said) = post(address, path, &body);
    assert_eq!(status, 400, "{said}");
    assert!(said.contains("expected a name for the region"), "{said}");

    assert_eq!(register(address, &file.key(), 8).0, 200);
    let asked = proto::SystemSharedMemoryRegisterRequest {
        name: "r".into(),
        key: file.key(),
        offset: 0,
        byte_size: 8,
    };
    let path = format!("{}/SystemSharedMemoryRegister", grpc::INFERENCE);
    let address = addresses.grpc.expect("an address");
    let answer = grpc::ask(address, &path, &[asked.encode_to_vec()]);
    assert_eq!(answer.status, "6", "ALREADY_EXISTS: {}", answer.words);
}

#[test]
fn a_request_under_way_keeps_a_region_that_is_unregistered() {
    let server = TestServer::start();
    let address = server.server.addresses().http.expect("an address");
    let file = SharedFile::of(b"abcd....");
    assert_eq!(register(address, &file.key(), 8).0, 200);
    let under_way = std::thread::spawn(move || ask_model(address, "never", 0, 4));
    wait_until("the request waits", || server.waits(1));
    let path = "/v2/systemsharedmemory/region/r/unregister";
    assert_eq!(post(address, path, &json!({})).0, 200);
    server.release.notify_one();
    let (status, said) = under_way.join().expect("no panic");
    assert_eq!(status, 200, "{said}");
    assert_eq!(file.bytes(), b"abcdabcd");
    assert_eq!(infer(address, 0, 4).0, 404);
}

#[test]
fn a_region_that_shrinks_is_an_error_and_nothing_else() {
    let server = TestServer::start();
    let address = server.server.addresses().http.expect("an address");
    let file = SharedFile::of(&[7; 8]);
    assert_eq!(register(address, &file.key(), 8).0, 200);
    file.file().set_len(2).expect("shrinks");
    let (status, said) = infer(address, 0, 4);
    assert_eq!(status, 400, "{said}");
    assert!(said.contains("beyond the end"), "{said}");
    assert_eq!(file.bytes().len(), 2);
}

#[test]
fn a_key_is_a_name_and_leads_nowhere_else() {
    let server = TestServer::start();
    let address = server.server.addresses().http.expect("an address");
    for key in [
        "",
        "/",
        "..",
        "/../etc/passwd",
        "a/b",
        "nothing_of_this_name",
        "a\0b",
    ] {
        let (status, said) = register(address, key, 8);
        assert_eq!(status, 400, "{key}: {said}");
    }
    let link = format!("/dev/shm/divisi_link_{}", std::process::id());
    std::os::unix::fs::symlink("/etc/passwd", &link).expect("a link");
    let (status, said) = register(address, link.trim_start_matches("/dev/shm"), 8);
    std::fs::remove_file(&link).expect("is removed");
    assert_eq!(status, 400, "{said}");
}

/// A region of so many bytes, and a server that holds bodies of so many at once.
fn serve(bodies: usize, region: usize) -> (TestServer, SocketAddr, SharedFile) {
    let limits = ServerLimits {
        bodies,
        ..ServerLimits::default()
    };
    let server = TestServer::within(limits);
    let address = server.server.addresses().http.expect("an address");
    let file = SharedFile::of(&vec![7; region]);
    assert_eq!(register(address, &file.key(), region).0, 200);
    (server, address, file)
}

/// Asks `model` for nothing of inputs that are each a part of the region of so many bytes.
fn read_parts(address: SocketAddr, model: &str, parts: usize, size: usize) -> (u16, String) {
    let place = json!({"shared_memory_region": "r", "shared_memory_byte_size": size});
    let input = |number| {
        json!({"name": format!("x{number}"), "datatype": "UINT8", "shape": [size],
            "parameters": place})
    };
    let inputs: Vec<Value> = (0..parts).map(input).collect();
    let body = json!({"inputs": inputs, "outputs": [{"name": "none"}]});
    post(address, &format!("/v2/models/{model}/infer"), &body)
}

#[test]
fn a_small_request_cannot_name_more_of_a_region_than_all_requests_may_hold() {
    let (_server, address, _file) = serve(1 << 20, 512 << 10);
    let (status, said) = read_parts(address, "echo", 256, 512 << 10);
    assert_eq!(status, 413, "{said}");
    assert!(
        said.contains("expected at most 1048576 bytes in all"),
        "{said}"
    );
    assert_eq!(read_parts(address, "echo", 1, 512 << 10).0, 200);
}

#[test]
fn a_copy_of_a_region_is_counted_as_long_as_it_is_there() {
    let (server, address, _file) = serve(1 << 20, 600 << 10);
    let ask = move || read_parts(address, "never", 1, 600 << 10);
    let under_way = std::thread::spawn(ask);
    wait_until("the request waits", || server.waits(1));
    let (status, said) = read_parts(address, "echo", 1, 600 << 10);
    assert_eq!(status, 503, "{said}");
    assert!(
        said.contains("use all memory allowed for requests"),
        "{said}"
    );
    server.release.notify_one();
    assert_eq!(under_way.join().expect("no panic").0, 200);
    wait_until("its room is free", || {
        read_parts(address, "echo", 1, 600 << 10).0 == 200
    });
}

#[test]
fn a_part_of_another_size_than_its_shape_takes_no_room() {
    let (server, address, _file) = serve(1 << 20, 600 << 10);
    let under_way = std::thread::spawn(move || read_parts(address, "never", 1, 600 << 10));
    wait_until("the request waits", || server.waits(1));
    let place = json!({"shared_memory_region": "r", "shared_memory_byte_size": 600 << 10});
    let input = json!({"name": "x", "datatype": "FP32", "shape": [3], "parameters": place});
    let body = json!({"inputs": [input]});
    let (status, said) = post(address, "/v2/models/echo/infer", &body);
    assert_eq!(status, 400, "{said}");
    assert!(said.contains("has 12 bytes, found 614400"), "{said}");
    server.release.notify_one();
    assert_eq!(under_way.join().expect("no panic").0, 200);
}
