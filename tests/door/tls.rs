//! TLS, over connections of clients that trust the test's certificates.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use divisi_door::client::{ClientOptions, HttpClient, ServerAddress};
use divisi_door::limits::ServerLimits;
use divisi_door::notices::Notices;
use divisi_door::tls::{TlsError, TlsFiles};
use divisi_door::{InferenceServer, ServerOptions};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::version::{TLS12, TLS13};
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, StreamOwned, SupportedProtocolVersion,
};

use crate::service::{Echo, options};
use crate::wait::wait_until;

/// A folder with a certificate and its key, which can be changed.
struct Pair {
    folder: tempfile::TempDir,
    told: Arc<Mutex<Vec<String>>>,
}

fn shipped(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/door/certificates");
    folder.join(name)
}

impl Pair {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let pair = Pair {
            folder,
            told: Arc::default(),
        };
        pair.becomes("first");
        pair
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn becomes(&self, which: &str) {
        let copy = |from: String, to| fs::copy(shipped(&from), self.path(to)).expect("a copy");
        copy(format!("{which}.key.pem"), "key.pem");
        copy(format!("{which}.pem"), "certificate.pem");
    }

    fn files(&self) -> Result<TlsFiles, TlsError> {
        let told = Arc::clone(&self.told);
        let notices = Notices::to(move |words| told.lock().unwrap().push(words.to_owned()));
        TlsFiles::read(
            &self.path("certificate.pem"),
            &self.path("key.pem"),
            notices,
        )
    }

    fn serve(&self) -> InferenceServer {
        let options = ServerOptions {
            tls: Some(Arc::new(self.files().expect("a pair"))),
            ..options(ServerLimits::default())
        };
        InferenceServer::start(Arc::new(Echo::default()), &options).expect("starts")
    }
}

/// Agrees on TLS with a server. Returns the connection, or what is wrong with it.
fn agree(
    address: SocketAddr,
    trusted: &str,
    version: &'static SupportedProtocolVersion,
    alpn: &[u8],
) -> Result<StreamOwned<ClientConnection, TcpStream>, String> {
    let mut roots = RootCertStore::empty();
    let certificate = CertificateDer::from_pem_file(shipped(trusted)).expect("a certificate");
    roots.add(certificate).expect("a certificate");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[version])
        .expect("a version")
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![alpn.to_owned()];
    let name = ServerName::try_from("localhost").expect("a name");
    let client = ClientConnection::new(Arc::new(config), name).expect("a client");
    let stream = TcpStream::connect(address).expect("connects");
    let mut stream = StreamOwned::new(client, stream);
    while stream.conn.is_handshaking() {
        stream
            .conn
            .complete_io(&mut stream.sock)
            .map_err(|e| e.to_string())?;
    }
    Ok(stream)
}

#[test]
fn both_versions_of_tls_are_spoken_and_each_protocol_names_itself() {
    let pair = Pair::new();
    let server = pair.serve();
    let addresses = server.addresses();
    let (http, grpc) = (addresses.http.unwrap(), addresses.grpc.unwrap());
    for version in [&TLS12, &TLS13] {
        let mut client = agree(http, "first.pem", version, b"http/1.1").expect("agrees");
        let request = b"GET /v2/health/live HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
        client.write_all(request).expect("is sent");
        let mut answer = String::new();
        let _ = client.read_to_string(&mut answer);
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        let client = agree(grpc, "first.pem", version, b"h2").expect("agrees");
        assert_eq!(client.conn.alpn_protocol(), Some(&b"h2"[..]));
    }
    assert!(agree(grpc, "first.pem", &TLS13, b"http/1.1").is_err());
    assert!(agree(http, "second.pem", &TLS13, b"http/1.1").is_err());
}

#[test]
fn a_client_without_tls_is_no_client() {
    let pair = Pair::new();
    let server = pair.serve();
    let mut client = TcpStream::connect(server.addresses().http.unwrap()).expect("connects");
    client
        .write_all(b"GET /v2/health/live HTTP/1.1\r\nhost: x\r\n\r\n")
        .expect("is sent");
    let mut answer = Vec::new();
    let _ = client.read_to_end(&mut answer);
    assert!(!answer.starts_with(b"HTTP"), "it was answered");
}

#[test]
fn a_certificate_is_read_again_when_it_changes_and_a_wrong_one_is_told() {
    let pair = Pair::new();
    let server = pair.serve();
    let http = server.addresses().http.unwrap();
    let agrees = |which| agree(http, which, &TLS13, b"http/1.1").is_ok();
    assert!(agrees("first.pem") && !agrees("second.pem"));
    pair.becomes("second");
    wait_until("the new certificate", || agrees("second.pem"));
    fs::write(pair.path("key.pem"), "nonsense").expect("is written");
    let told = |words: &str| pair.told.lock().unwrap().iter().any(|t| t.contains(words));
    wait_until("it is told", || {
        agrees("second.pem") && told("expected a private key")
    });
}

#[test]
fn files_that_are_no_pair_are_refused_by_name() {
    let pair = Pair::new();
    fs::copy(shipped("second.key.pem"), pair.path("key.pem")).expect("a copy");
    let error = pair.files().expect_err("no pair");
    assert!(matches!(error, TlsError::NoPair { .. }), "{error}");
    fs::write(pair.path("certificate.pem"), "").expect("is written");
    let error = pair.files().expect_err("no certificate").to_string();
    assert!(
        error.contains("certificate.pem: expected a certificate"),
        "{error}"
    );
    fs::remove_file(pair.path("certificate.pem")).expect("is removed");
    let error = pair.files().expect_err("no file");
    assert!(matches!(error, TlsError::Unreadable { .. }), "{error}");
}

#[test]
fn the_client_of_the_program_trusts_whom_it_is_told_to() {
    let pair = Pair::new();
    let server = pair.serve();
    let port = server.addresses().http.unwrap().port();
    let address: ServerAddress = format!("https://localhost:{port}")
        .parse()
        .expect("an address");
    let trusting = |which| ClientOptions {
        trusted: Some(shipped(which)),
        ..ClientOptions::default()
    };
    let asks = |which| {
        let mut client = HttpClient::connect(&address, &trusting(which)).expect("connects");
        client.infer("echo", &[])
    };
    assert_eq!(asks("first.pem").expect("answers"), []);
    assert!(asks("second.pem").is_err());
}

#[test]
fn a_server_that_does_not_speak_tls_is_told_as_such() {
    let options = options(ServerLimits::default());
    let server = InferenceServer::start(Arc::new(Echo::default()), &options).expect("starts");
    let port = server.addresses().http.unwrap().port();
    let address: ServerAddress = format!("https://127.0.0.1:{port}")
        .parse()
        .expect("an address");
    let asking = ClientOptions {
        trusted: Some(shipped("first.pem")),
        ..ClientOptions::default()
    };
    let asked = HttpClient::connect(&address, &asking);
    let answer = asked.and_then(|mut client| client.infer("echo", &[]));
    let words = format!(
        "https://127.0.0.1:{port}: the server does not speak TLS there: try http://127.0.0.1:{port}"
    );
    assert_eq!(answer.expect_err("no TLS").to_string(), words);
}

/// Asks a server whose certificate is one of those that are shipped, trusting another file of them.
fn asked(host: &str, own: &str, trusted: &str) -> Result<(), String> {
    let pair = Pair::new();
    pair.becomes(own);
    let server = pair.serve();
    let port = server.addresses().http.unwrap().port();
    let address = format!("https://{host}:{port}");
    let address: ServerAddress = address.parse().expect("an address");
    let options = ClientOptions {
        trusted: Some(shipped(trusted)),
        ..ClientOptions::default()
    };
    let mut client = HttpClient::connect(&address, &options).map_err(|e| e.to_string())?;
    let answer = client.infer("echo", &[]);
    answer.map(drop).map_err(|e| e.to_string())
}

#[test]
fn a_certificate_that_is_an_authority_s_is_trusted_where_it_is_the_one_that_was_named() {
    assert_eq!(asked("localhost", "authority", "authority.pem"), Ok(()));
    for (host, own, trusted, words) in [
        ("localhost", "authority", "first.pem", "CaUsedAsEndEntity"),
        ("localhost", "first", "authority.pem", "UnknownIssuer"),
        ("localhost", "expired", "expired.pem", "expired"),
        (
            "127.0.0.1",
            "authority",
            "authority.pem",
            "not valid for name",
        ),
    ] {
        let refused = asked(host, own, trusted).expect_err("no trust");
        assert!(refused.contains(words), "{host} {own} {trusted}: {refused}");
    }
}

#[test]
fn tls_alone_lets_other_machines_be_listened_to() {
    let pair = Pair::new();
    let wanted = ServerOptions {
        http: "0.0.0.0:0".parse().ok(),
        tls: Some(Arc::new(pair.files().expect("a pair"))),
        ..ServerOptions::default()
    };
    assert!(InferenceServer::start(Arc::new(Echo::default()), &wanted).is_ok());
}
