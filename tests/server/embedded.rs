//! A program serves models without the command line, and ends the server.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::thread;

use divisi_door::ServerOptions;
use divisi_door::client::{ClientError, ClientOptions, HttpClient};
use divisi_inference::protocol::{NamedTensor, WireTensor};
use divisi_runtime::tensor::DataType;
use divisi_server::{
    DeviceChoice, ModelSelection, SelectedModels, ServeError, ServeOptions, Server, StartLoad,
};
use divisi_session::Session;

use crate::wait::wait_until;

pub fn digits() -> SelectedModels {
    let selection = ModelSelection {
        devices: DeviceChoice {
            names: vec!["cpu:0".to_owned()],
            memory: None,
        },
        ..ModelSelection::from_path("digits".as_ref())
    };
    SelectedModels::read(&selection).expect("a built-in ensemble")
}

pub fn at(http: Option<SocketAddr>) -> ServeOptions {
    ServeOptions {
        door: ServerOptions {
            http,
            ..ServerOptions::default()
        },
        ..ServeOptions::default()
    }
}

fn client(server: &Server) -> HttpClient {
    let address = server.door.addresses().http.expect("an address");
    let address = address.to_string().parse().expect("an address");
    HttpClient::connect(&address, &ClientOptions::default()).expect("connects")
}

/// Returns an input of so many samples of zeros.
fn samples(count: usize) -> [NamedTensor; 1] {
    let values = vec![0_u8; count * 64 * 4];
    let tensor = WireTensor::of_values(DataType::Fp32, vec![count, 1, 8, 8], values.into());
    let name = "input".to_owned();
    [NamedTensor { name, tensor }]
}

pub const ANY_PORT: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 0);

#[test]
fn a_built_in_ensemble_is_served_to_clients_and_shown_to_consoles() {
    let server = Server::start(digits(), at(Some(ANY_PORT.into())));
    let mut server = server.expect("starts");
    let answer = client(&server).infer("digits", &samples(1));
    assert_eq!(answer.expect("an answer")[0].tensor.dims(), [1, 10]);
    let shown = server.session.snapshot();
    assert_eq!((&*shown.ensemble, shown.members.len()), ("digits", 6));
}

#[test]
fn a_server_that_is_dropped_refuses_no_request_that_it_received() {
    let server = Server::start(digits(), at(Some(ANY_PORT.into())));
    let mut server = server.expect("starts");
    let asking: Vec<_> = (0..4)
        .map(|_| {
            let mut client = client(&server);
            thread::spawn(move || {
                loop {
                    match client.infer("digits", &samples(64)) {
                        Ok(answer) => assert_eq!(answer[0].tensor.dims(), [64, 10]),
                        Err(over) => return over,
                    }
                }
            })
        })
        .collect();
    wait_until("requests flow", || {
        server.session.snapshot().counters.answered > 20
    });
    drop(server);
    for client in asking {
        let over = client.join().expect("no panic");
        let is_refused = matches!(over, ClientError::Refused { .. });
        assert!(!is_refused, "{over}");
    }
}

#[test]
fn a_server_that_is_dropped_leaves_its_address() {
    let server = Server::start(digits(), at(Some(ANY_PORT.into()))).expect("starts");
    let address = server.door.addresses().http.expect("an address");
    drop(server);
    TcpListener::bind(address).expect("the address is free");
}

#[test]
fn a_server_without_addresses_has_a_closed_door() {
    let server = Server::start(digits(), at(None)).expect("starts");
    assert_eq!(server.door.addresses().http, None);
}

#[test]
fn the_usual_load_is_sent_from_the_start() {
    let options = ServeOptions {
        load: StartLoad::Usual,
        ..at(None)
    };
    let mut server = Server::start(digits(), options).expect("starts");
    assert!(server.session.snapshot().load.pattern.is_some());
}

#[test]
fn an_address_that_is_taken_is_named() {
    let other = TcpListener::bind(ANY_PORT).expect("a port");
    let address = other.local_addr().expect("an address");
    let refused = Server::start(digits(), at(Some(address))).err();
    let refused = refused.expect("the address is taken");
    assert!(matches!(refused, ServeError::Listening(_)), "{refused:?}");
    let text = refused.to_string();
    assert!(text.contains(&address.to_string()), "{text}");
}

#[test]
fn a_recording_is_never_written_over_a_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("kept");
    std::fs::write(&path, "kept").expect("writes");
    let options = ServeOptions {
        record: Some(path.clone()),
        ..at(None)
    };
    let refused = Server::start(digits(), options).err().expect("it exists");
    assert!(
        refused.to_string().contains("the file already exists"),
        "{refused}"
    );
    assert_eq!(std::fs::read(&path).expect("reads"), b"kept");
}
