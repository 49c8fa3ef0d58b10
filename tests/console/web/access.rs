//! Only pages of this server connect, and their key decides what they may do.

use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;

use divisi_console::web::{WebError, WebListener, WebOptions};
use divisi_door::keys::Keys;
use divisi_door::notices::Notices;

use super::page::{BrowserPage, get, handshake, request};
use super::{here, served, served_with};

/// Keys with the tokens `watcher` (role read) and `editor` (role control).
const KEYS: &str = "\
read 0e7f3c5c909ce8afb978a208d639e85af2171df2ec0003a07f13ad97878ef053 wendy
control 1553cc62ff246044c683a61e203e65541990e7fcd4af9443d22b9557ecc9ac54 eve
";

fn with_keys() -> (WebOptions, tempfile::NamedTempFile) {
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(KEYS.as_bytes()).expect("written");
    let keys = Keys::read(file.path(), Notices::default()).expect("keys");
    let options = WebOptions {
        keys: Some(Arc::new(keys)),
        ..WebOptions::new(here())
    };
    (options, file)
}

#[test]
fn without_keys_a_page_of_this_machine_edits() {
    let served = served();
    let mut page = BrowserPage::join(served.address, None, (80, 24));
    assert_eq!(page.next_of("joined")["edits"], true);
    let viewers = served.viewers.lock().expect("no panic").clone();
    assert_eq!(viewers, [("browser@127.0.0.1".to_owned(), false)]);
}

#[test]
fn the_role_of_a_key_decides_whether_a_page_edits() {
    for (key, name, edits) in [("watcher", "wendy", false), ("editor", "eve", true)] {
        let (options, _file) = with_keys();
        let served = served_with(options);
        let mut page = BrowserPage::join(served.address, Some(key), (80, 24));
        assert_eq!(page.next_of("joined")["edits"], edits, "{key}");
        let viewers = served.viewers.lock().expect("no panic").clone();
        assert_eq!(viewers, [(format!("{name}@127.0.0.1"), !edits)]);
    }
}

#[test]
fn a_page_that_watches_changes_nothing() {
    let (options, _file) = with_keys();
    let served = served_with(options);
    let mut page = BrowserPage::join(served.address, Some("watcher"), (120, 40));
    page.paint();
    page.press("e");
    page.paint_until("read-only");
    assert!(served.desk.sent.lock().expect("no panic").is_empty());
}

#[test]
fn a_page_without_a_known_key_sees_nothing() {
    let (options, _file) = with_keys();
    let served = served_with(options);
    for key in [None, Some(""), Some("guess")] {
        let mut page = BrowserPage::join(served.address, key, (80, 24));
        let refused = page.next().expect("a reason");
        assert_eq!(refused["type"], "refused");
        assert_eq!(refused["key"], true);
        assert!(page.next().is_none(), "the connection is closed");
    }
    assert!(served.viewers.lock().expect("no panic").is_empty());
}

#[test]
fn a_removed_key_ends_its_pages() {
    let (mut options, file) = with_keys();
    options.limits.ping = std::time::Duration::from_millis(20);
    let served = served_with(options);
    let mut page = BrowserPage::join(served.address, Some("editor"), (80, 24));
    page.next_of("joined");
    let rest = KEYS.lines().next().expect("a line");
    std::fs::write(file.path(), format!("{rest}\n")).expect("written");
    assert_eq!(page.reason_of_end().as_deref(), Some("the key has changed"));
}

#[test]
fn another_host_is_refused() {
    let served = served();
    let port = served.address.port();
    let cases = [
        (format!("127.0.0.1:{port}"), true),
        (format!("localhost:{port}"), true),
        (format!("evil.example:{port}"), false),
        ("127.0.0.1".to_owned(), false),
        (format!("127.0.0.1:{port}.evil.example"), false),
        (format!("127.0.0.2:{port}"), false),
    ];
    for (host, accepted) in cases {
        for path in ["/", "/console.js", "/socket"] {
            let head = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close");
            let answer = request(served.address, &head);
            let refused = answer.starts_with("HTTP/1.1 421 ");
            assert_eq!(refused, !accepted, "{host} {path}: {answer}");
        }
    }
    let twice =
        format!("GET / HTTP/1.1\r\nHost: localhost:{port}\r\nHost: evil\r\nConnection: close");
    assert!(!request(served.address, &twice).starts_with("HTTP/1.1 200 "));
}

#[test]
fn another_origin_opens_no_socket() {
    let served = served();
    let own = format!("http://{}", served.address);
    let origins = [
        "http://evil.example".to_owned(),
        "null".to_owned(),
        String::new(),
        own.replace("http:", "https:"),
        format!("{own}.evil.example"),
        own.replace("127.0.0.1", "localhost"),
    ];
    for origin in origins {
        let head = handshake(&served.address.to_string(), &origin);
        let answer = request(served.address, &format!("{head}\r\nConnection: close"));
        assert!(answer.starts_with("HTTP/1.1 403 "), "{origin}: {answer}");
    }
    let head = handshake(&served.address.to_string(), &own).replace("Origin", "X-Origin");
    assert!(request(served.address, &head).starts_with("HTTP/1.1 403 "));
}

#[test]
fn a_named_host_is_accepted_with_its_origin() {
    let options = WebOptions {
        hosts: vec!["gpu7.example".to_owned()],
        ..WebOptions::new(here())
    };
    let served = served_with(options);
    let page = "GET / HTTP/1.1\r\nHost: GPU7.example\r\nConnection: close";
    assert!(request(served.address, page).starts_with("HTTP/1.1 200 "));
    let foreign = handshake("gpu7.example", "https://gpu8.example");
    let foreign = request(served.address, &foreign);
    assert!(foreign.starts_with("HTTP/1.1 403 "), "{foreign}");
}

#[test]
fn a_public_address_requires_keys_and_tls() {
    let public: SocketAddr = ([0, 0, 0, 0], 0).into();
    let (keyed, _file) = with_keys();
    let bind = |options| WebListener::bind(options).err();
    let bare = WebOptions {
        allow_remote: true,
        ..WebOptions::new(public)
    };
    assert!(matches!(bind(bare), Some(WebError::NoKeys(_))));
    let keyed = WebOptions {
        address: public,
        ..keyed
    };
    assert!(matches!(bind(keyed.clone()), Some(WebError::NoTls(_))));
    let allowed = WebOptions {
        allow_remote: true,
        ..keyed
    };
    assert!(bind(allowed).is_none());
}

#[test]
fn a_taken_address_is_reported() {
    let served = served();
    let error = WebListener::bind(WebOptions::new(served.address)).expect_err("taken");
    assert!(error.to_string().contains("in use"), "{error}");
}

#[test]
fn pages_run_only_files_of_the_server() {
    let served = served();
    for (path, kind) in [
        ("/", "text/html"),
        ("/console.js", "text/javascript"),
        ("/paint.js", "text/javascript"),
        ("/input.js", "text/javascript"),
        ("/console.css", "text/css"),
        ("/icon.svg", "image/svg+xml"),
        ("/nothing", "text/plain"),
    ] {
        let answer = get(served.address, path).to_ascii_lowercase();
        let policy = "content-security-policy: default-src 'self'; frame-ancestors 'none'";
        for header in [policy, kind, "nosniff", "no-referrer"] {
            assert!(answer.contains(header), "{path} lacks {header}: {answer}");
        }
        assert!(!answer.contains("unsafe-inline"), "{path}");
    }
}

/// The ways of a script to turn text into code or elements.
const DANGEROUS: [&str; 5] = [
    "innerHTML",
    "outerHTML",
    "insertAdjacentHTML",
    "document.write",
    "eval(",
];

#[test]
fn the_page_has_no_inline_code_and_sets_only_text() {
    let served = served();
    let html = get(served.address, "/");
    for inline in [
        " style=",
        " onclick=",
        "<style",
        "javascript:",
        "http://",
        "https://",
    ] {
        assert!(!html.contains(inline), "{inline}");
    }
    for path in ["/console.js", "/paint.js", "/input.js"] {
        let script = get(served.address, path);
        for dangerous in DANGEROUS {
            assert!(!script.contains(dangerous), "{path}: {dangerous}");
        }
    }
}

#[test]
fn only_get_is_answered() {
    let served = served();
    let address = served.address;
    for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
        let head = format!("{method} / HTTP/1.1\r\nHost: {address}\r\nConnection: close");
        let answer = request(address, &head);
        assert!(answer.starts_with("HTTP/1.1 405 "), "{method}: {answer}");
    }
}
