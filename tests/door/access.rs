//! The access log.

use std::fs;
use std::io::Write;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use divisi_door::calls::access::{AccessFormat, AccessOptions, LineBuffer, RateSampler};
use divisi_door::keys::Keys;
use divisi_door::limits::ServerLimits;
use divisi_door::notices::Notices;
use divisi_door::{ConnectionClock, InferenceServer, ServerOptions, StartError};
use divisi_inference::error::ServiceError;
use divisi_inference::protocol::ModelId;
use divisi_inference::service::{
    InferenceFuture, InferenceRequest, ListedModel, ModelDescription, ModelService, ModelState,
};
use proptest::prelude::*;
use serde_json::Value;

use crate::client::{ask, ask_with, read};
use crate::service::{Echo, advance_until_told, options};
use crate::wait::wait_until;

const INFER: &str = "/v2/models/echo/infer";

const BODY: &[u8] =
    br#"{"id":"seven","inputs":[{"name":"x","datatype":"UINT8","shape":[1,3],"data":[1,2,3]}]}"#;

/// The hash of the token `test`.
const TEST: &str = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

#[test]
fn a_rate_lets_so_many_through_and_tells_how_many_it_left_out() {
    let mut sampler = RateSampler::new(Some(2));
    let at = Duration::from_millis;
    let times = [0, 1, 2, 3, 600, 1200, 5000, 5001, 5002];
    let admitted = times.map(|millis| sampler.admit(at(millis)));
    let expected = [
        Some(0),
        Some(0),
        None,
        None,
        Some(2),
        Some(0),
        Some(0),
        Some(0),
        None,
    ];
    assert_eq!(admitted, expected);
    let mut all = RateSampler::new(None);
    assert!((0..1000).all(|_| all.admit(at(0)) == Some(0)));
    let mut none = RateSampler::new(Some(0));
    assert!((0..10).all(|second| none.admit(Duration::from_secs(second)).is_none()));
}

/// A server with a log.
struct Logged {
    folder: tempfile::TempDir,
    server: InferenceServer,
}

impl Logged {
    fn new(format: AccessFormat, rate: Option<u32>, keys: Option<Keys>) -> Self {
        Logged::of(Echo::default(), format, rate, keys)
    }

    fn of(
        models: impl ModelService,
        format: AccessFormat,
        rate: Option<u32>,
        keys: Option<Keys>,
    ) -> Self {
        Logged::within(ServerLimits::default(), models, (format, rate), keys)
    }

    fn within(
        limits: ServerLimits,
        models: impl ModelService,
        log: (AccessFormat, Option<u32>),
        keys: Option<Keys>,
    ) -> Self {
        Logged::by(options(limits), models, log, keys)
    }

    fn by(
        options: ServerOptions,
        models: impl ModelService,
        (format, rate): (AccessFormat, Option<u32>),
        keys: Option<Keys>,
    ) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let access = AccessOptions {
            file: Some(folder.path().join("log")),
            format,
            rate,
        };
        let options = ServerOptions {
            keys: keys.map(Arc::new),
            access: Some(access),
            ..options
        };
        let server = InferenceServer::start(Arc::new(models), &options).expect("starts");
        Logged { folder, server }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    /// The lines, once there are `count`.
    fn lines(&self, count: usize) -> Vec<String> {
        let read = || fs::read_to_string(self.path()).unwrap_or_default();
        wait_until("the lines", || read().lines().count() >= count);
        read().lines().map(str::to_owned).collect()
    }
}

#[test]
fn a_call_is_a_line_that_tells_who_asked_what_and_how_it_went() {
    let folder = tempfile::tempdir().expect("a folder");
    let keys = folder.path().join("keys");
    fs::write(&keys, format!("infer {TEST} alice\n")).expect("is written");
    let keys = Keys::read(&keys, Notices::default()).expect("keys");
    let logged = Logged::new(AccessFormat::Json, None, Some(keys));
    let address = logged.server.addresses().http.expect("an address");
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let headers = [
        ("authorization", "Bearer test".to_owned()),
        ("traceparent", trace.to_owned()),
    ];
    assert_eq!(ask_with(address, "POST", INFER, &headers, BODY).status, 200);
    assert_eq!(ask(address, "POST", INFER, BODY).status, 401);
    let lines = logged.lines(2);
    let line: Value = serde_json::from_str(&lines[0]).expect("JSON");
    let expected = [
        ("protocol", "http"),
        ("call", "POST /v2/models/echo/infer"),
        ("key", "alice"),
        ("model", "echo"),
        ("version", "1"),
        ("id", "seven"),
    ];
    for (name, value) in expected {
        assert_eq!(line[name], value, "{name}");
    }
    assert_eq!(line["status"], 200);
    assert_eq!(line["rows"], 1);
    assert_eq!(
        (&line["queue_us"], &line["compute_us"]),
        (&2.into(), &3.into())
    );
    assert!(
        line["client"]
            .as_str()
            .is_some_and(|c| c.starts_with("127.0.0.1:"))
    );
    let told = line["traceparent"].as_str().expect("a trace");
    assert!(told.starts_with("00-0af7651916cd43dd8448eb211c80319c-") && told.ends_with("-01"));
    let time = line["time"].as_str().expect("a time");
    assert!(
        time.len() == 24 && time.starts_with("20") && time.ends_with('Z'),
        "{time}"
    );
    let refused: Value = serde_json::from_str(&lines[1]).expect("JSON");
    assert_eq!(refused["status"], 401);
    assert!(
        refused["reason"]
            .as_str()
            .is_some_and(|r| r.contains("key"))
    );
}

/// Models that are not ready.
struct Starting(Echo);

impl ModelService for Starting {
    fn is_ready(&self) -> bool {
        false
    }

    fn index(&self) -> Vec<ListedModel> {
        self.0.index()
    }

    fn describe(&self, model: &ModelId) -> Result<Arc<ModelDescription>, ServiceError> {
        self.0.describe(model)
    }

    fn state(&self, _: &ModelId) -> Result<ModelState, ServiceError> {
        Ok(ModelState::Unavailable("it starts".into()))
    }

    fn infer(&self, request: InferenceRequest) -> InferenceFuture {
        self.0.infer(request)
    }
}

#[test]
fn a_question_whether_something_is_ready_has_the_status_of_its_answer() {
    let logged = Logged::of(Starting(Echo::default()), AccessFormat::Json, None, None);
    let address = logged.server.addresses().http.expect("an address");
    let paths = [
        "/v2/health/live",
        "/v2/health/ready",
        "/v2/models/echo/ready",
    ];
    let told = paths.map(|path| ask(address, "GET", path, b"").status);
    assert_eq!(told, [200, 400, 400]);
    let status =
        |line: &String| serde_json::from_str::<Value>(line).expect("JSON")["status"].clone();
    let written: Vec<Value> = logged.lines(3).iter().map(status).collect();
    assert_eq!(written, told);
}

#[test]
fn heads_that_are_refused_have_lines_and_are_counted_by_their_reason() {
    let limits = ServerLimits {
        headers: 8,
        ..ServerLimits::default()
    };
    let format = (AccessFormat::Json, None);
    let (clock, hand) = ConnectionClock::still();
    let options = ServerOptions {
        clock,
        ..options(limits)
    };
    let logged = Logged::by(options, Echo::default(), format, None);
    let address = logged.server.addresses().http.expect("an address");
    let long = format!("GET /{} HTTP/1.1\r\nhost: x\r\n\r\n", "a".repeat(70_000));
    let many = format!("GET /v2 HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(9));
    let heads = ["GET /v2/hea", &long, &many, "nonsense\r\n\r\n"];
    let told = heads.map(|head| {
        let mut client = TcpStream::connect(address).expect("connects");
        client.write_all(head.as_bytes()).expect("is sent");
        if !head.contains("\r\n") {
            advance_until_told(&hand, &client);
        }
        read(&mut client).status
    });
    assert_eq!(told, [408, 414, 431, 400]);
    let lines = logged.lines(4);
    let lines = lines.iter().map(|l| serde_json::from_str(l).expect("JSON"));
    let lines: Vec<Value> = lines.collect();
    let statuses: Vec<&Value> = lines.iter().map(|line| &line["status"]).collect();
    assert_eq!(statuses, told);
    for line in &lines {
        assert_eq!(line["call"], "head", "{line}");
        assert!(
            line["reason"].as_str().is_some_and(|why| !why.is_empty()),
            "{line}"
        );
        let client = line["client"].as_str().expect("an address");
        assert!(client.starts_with("127.0.0.1:"), "{line}");
    }
    let metrics = ask(address, "GET", "/metrics", b"");
    let text = String::from_utf8(metrics.body).expect("text");
    for (reason, count) in [
        ("slow", 1),
        ("too_large", 2),
        ("bad_input", 1),
        ("exists", 0),
    ] {
        let line = format!("divisi_calls_refused_total{{reason=\"{reason}\"}} {count}\n");
        assert!(text.contains(&line), "{line}: {text}");
    }
}

#[test]
fn every_call_is_a_line_or_is_counted_as_lost() {
    let access = AccessOptions {
        file: Some("/dev/full".into()),
        format: AccessFormat::Json,
        rate: None,
    };
    let options = ServerOptions {
        access: Some(access),
        ..options(ServerLimits::default())
    };
    let server = InferenceServer::start(Arc::new(Echo::default()), &options).expect("starts");
    let address = server.addresses().http.expect("an address");
    for _ in 0..20 {
        assert_eq!(ask(address, "POST", INFER, BODY).status, 200);
    }
    let lost = || {
        let metrics = ask(address, "GET", "/metrics", b"");
        let text = String::from_utf8(metrics.body).expect("text");
        let line = text
            .lines()
            .find(|l| l.starts_with("divisi_access_log_lost_total"));
        let value = line.and_then(|line| line.rsplit(' ').next());
        value.and_then(|value| value.parse().ok()).unwrap_or(0)
    };
    // A call asks for the metrics, and is the next one that is lost.
    let mut asked = 20;
    wait_until("the lines are lost", || {
        asked += 1;
        let lost: u64 = lost();
        assert!(lost < asked, "{lost} of {asked}");
        lost >= 20
    });
}

/// A file that takes so many bytes more.
struct Disk {
    bytes: Vec<u8>,
    free: usize,
}

impl Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let count = bytes.len().min(self.free);
        if count == 0 {
            return Err(std::io::ErrorKind::StorageFull.into());
        }
        self.free -= count;
        self.bytes.extend_from_slice(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

proptest! {
    #[test]
    fn a_line_is_written_whole_or_lost_and_never_both(
        steps in prop::collection::vec((0..40usize, prop::bool::ANY, 0..60usize), 0..40),
    ) {
        let mut disk = Disk { bytes: Vec::new(), free: 0 };
        let (mut lines, mut lost) = (LineBuffer::default(), 0);
        for (number, (length, writes, room)) in steps.iter().enumerate() {
            lines.push(&format!("{number} {}\n", "x".repeat(*length)));
            if *writes {
                disk.free = *room;
                lost += lines.write_to(&mut disk).map_or_else(|lost| lost.lines, |()| 0);
            }
            let text = String::from_utf8(disk.bytes.clone()).expect("text");
            let whole = text.matches('\n').count();
            prop_assert_eq!(whole + lost as usize + lines.len(), number + 1);
        }
        disk.free = usize::MAX;
        prop_assert!(lines.write_to(&mut disk).is_ok());
        let text = String::from_utf8(disk.bytes).expect("text");
        prop_assert_eq!(text.lines().count() + lost as usize, steps.len());
        let mut last = None;
        for line in text.lines() {
            let (number, rest) = line.split_once(' ').expect("a line");
            let number: usize = number.parse().expect("a number");
            prop_assert_eq!(rest.len(), steps[number].0, "{} is not whole", line);
            prop_assert!(last < Some(number));
            last = Some(number);
        }
    }
}

#[test]
fn what_a_client_names_is_cut_in_the_log() {
    let logged = Logged::new(AccessFormat::Json, None, None);
    let address = logged.server.addresses().http.expect("an address");
    let id = "i".repeat(4000);
    let body = format!(r#"{{"id":"{id}","inputs":[]}}"#);
    let answer = ask(address, "POST", INFER, body.as_bytes());
    assert_eq!(
        (answer.status, &answer.json()["id"]),
        (200, &Value::from(id))
    );
    let path = format!("/v2/{}", "p".repeat(20_000));
    assert_eq!(ask(address, "GET", &path, b"").status, 404);
    for line in logged.lines(2) {
        assert!(line.len() < 4000, "{line}");
    }
}

#[test]
fn text_stays_on_its_line() {
    let logged = Logged::new(AccessFormat::Text, None, None);
    let address = logged.server.addresses().http.expect("an address");
    let body = br#"{"id":"a\n\"b\u001b[31m","inputs":[]}"#;
    assert_eq!(ask(address, "POST", INFER, body).status, 200);
    let lines = logged.lines(1);
    assert!(lines[0].contains(r#"id="a·'b·[31m""#), "{}", lines[0]);
    assert!(
        lines[0].contains(r#" "POST /v2/models/echo/infer" 200 "#),
        "{}",
        lines[0]
    );
    assert_eq!(lines.len(), 1);
}

#[test]
fn beyond_the_rate_lines_are_left_out_and_counted() {
    let logged = Logged::new(AccessFormat::Json, Some(1), None);
    let address = logged.server.addresses().http.expect("an address");
    let mut asked = 0;
    let told = || {
        let text = fs::read_to_string(logged.path()).unwrap_or_default();
        let lines = text.lines().map(|l| serde_json::from_str(l).expect("JSON"));
        lines.collect::<Vec<Value>>()
    };
    wait_until("a line tells what was left out", || {
        asked += 1;
        ask(address, "POST", INFER, BODY);
        told()
            .iter()
            .any(|line| line["left_out"].as_u64() > Some(0))
    });
    assert!(told().len() < asked);
    let metrics = ask(address, "GET", "/metrics", b"");
    let text = String::from_utf8(metrics.body).expect("text");
    assert!(text.contains("divisi_access_log_left_out_total "), "{text}");
}

#[test]
fn a_client_that_hangs_up_is_told_too() {
    let logged = Logged::new(AccessFormat::Json, None, None);
    let address = logged.server.addresses().http.expect("an address");
    let mut client = TcpStream::connect(address).expect("connects");
    let never = crate::client::request("POST", "/v2/models/never/infer", &[], b"{\"inputs\":[]}");
    client.write_all(&never).expect("is sent");
    let metrics = || ask(address, "GET", "/metrics", b"").body;
    let pending = br#"nv_inference_pending_request_count{model="never",version="1"} 1"#;
    wait_until("it waits", || {
        metrics().windows(pending.len()).any(|w| w == pending)
    });
    drop(client);
    wait_until("its line", || {
        let text = fs::read_to_string(logged.path()).unwrap_or_default();
        text.lines()
            .any(|l| l.contains("\"status\":499") && l.contains("never"))
    });
}

#[test]
fn a_log_that_cannot_be_written_is_refused_at_the_start() {
    let access = AccessOptions {
        file: Some(Path::new("/nothing/there/log").to_owned()),
        format: AccessFormat::Json,
        rate: None,
    };
    let options = ServerOptions {
        access: Some(access),
        ..options(ServerLimits::default())
    };
    let refused = InferenceServer::start(Arc::new(Echo::default()), &options);
    assert!(matches!(refused.err(), Some(StartError::AccessLog(_))));
}
