//! The bounds of a page: its size, its messages, and the time without any.

use std::io::{Read, Write};
use std::time::Duration;

use divisi_console::web::WebOptions;
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use super::page::{BrowserPage, connect, get, request};
use super::{here, served, served_with};

const SOON: Duration = Duration::from_millis(50);

/// A page that works shows that nothing harmed the server.
fn works(address: std::net::SocketAddr) {
    let mut page = BrowserPage::join(address, None, (80, 24));
    page.paint();
    page.press("?");
    page.paint();
}

#[test]
fn a_screen_has_at_most_500_columns_and_200_rows() {
    let served = served();
    let mut page = BrowserPage::join(served.address, None, (u16::MAX, u16::MAX));
    page.paint();
    assert_eq!(page.size, (500, 200));
    page.send(&json!({"type": "resize", "size": [0, 0]}));
    while page.size != (1, 1) {
        page.paint();
    }
}

#[test]
fn a_message_that_is_too_long_ends_its_page_alone() {
    let served = served();
    let mut page = BrowserPage::join(served.address, None, (80, 24));
    page.paint();
    page.send(&json!({"type": "paste", "text": "x".repeat(65 << 10)}));
    // The connection may be reset before the reason arrives.
    page.reason_of_end();
    works(served.address);
}

#[test]
fn too_many_messages_end_their_page_alone() {
    let served = served();
    let mut page = BrowserPage::join(served.address, None, (80, 24));
    page.paint();
    for _ in 0..20_000 {
        page.press("j");
    }
    // The connection may be reset before the reason arrives.
    page.reason_of_end();
    works(served.address);
}

#[test]
fn invalid_messages_end_their_page_alone() {
    let served = served();
    let invalid = [
        Message::text("{"),
        Message::text("{}"),
        Message::text(r#"{"type":"key"}"#),
        Message::text(r#"{"type":"key","key":"a","more":1}"#),
        Message::text(r#"{"type":"quit"}"#),
        Message::binary(vec![0, 1, 2]),
    ];
    for message in invalid {
        let mut page = BrowserPage::join(served.address, None, (80, 24));
        page.paint();
        page.send_raw(message.clone());
        assert!(page.reason_of_end().is_some(), "{message:?}");
    }
    works(served.address);
}

#[test]
fn unknown_keys_and_places_outside_do_nothing() {
    let served = served();
    let mut page = BrowserPage::join(served.address, None, (80, 24));
    page.paint();
    for key in ["", "Shift", "F99", "F0", "Unidentified", "\u{1b}", "ab"] {
        page.press(key);
    }
    for kind in ["down", "drag", "up", "wheel_up", "wheel_down"] {
        page.send(&json!({"type": "mouse", "kind": kind, "column": 65535, "row": 65535}));
    }
    page.press(":");
    page.press("z");
    page.paint_until(": z");
}

#[test]
fn an_unmasked_frame_ends_the_connection() {
    let served = served();
    let mut stream = connect(served.address);
    let address = served.address;
    let head = super::page::handshake(&address.to_string(), &format!("http://{address}"));
    write!(stream, "{head}\r\n\r\n").expect("sent");
    stream.write_all(b"\x81\x02{}").expect("sent");
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest);
    works(address);
}

#[test]
fn a_connection_that_sends_nothing_is_closed() {
    let mut options = WebOptions::new(here());
    options.limits.greeting = Duration::from_secs(2);
    let served = served_with(options);
    let mut silent = connect(served.address);
    let mut bytes = Vec::new();
    let _ = silent.read_to_end(&mut bytes);
    let mut page = BrowserPage::open(served.address);
    assert!(page.next().is_none(), "no introduction");
}

#[test]
fn a_page_without_a_sign_of_life_is_disconnected() {
    let mut options = WebOptions::new(here());
    options.limits.viewers = 1;
    options.limits.ping = SOON;
    options.limits.silence = SOON;
    let served = served_with(options);
    // This page reads nothing, so it answers no ping.
    let _silent = BrowserPage::join(served.address, None, (80, 24));
    crate::wait::wait_until("its place is free", || {
        let mut next = BrowserPage::join(served.address, None, (80, 24));
        next.next()
            .is_some_and(|message| message["type"] == "joined")
    });
}

#[test]
fn too_many_pages_are_refused_and_the_others_go_on() {
    let mut options = WebOptions::new(here());
    options.limits.viewers = 2;
    let served = served_with(options);
    let mut first = BrowserPage::join(served.address, None, (80, 24));
    let mut second = BrowserPage::join(served.address, None, (80, 24));
    first.paint();
    second.paint();
    let mut third = BrowserPage::join(served.address, None, (80, 24));
    let refused = third.reason_of_end();
    assert_eq!(refused.as_deref(), Some("too many pages are connected"));
    first.press(":");
    first.press("z");
    first.paint_until(": z");
    drop(second);
    crate::wait::wait_until("a place is free", || {
        let mut next = BrowserPage::join(served.address, None, (80, 24));
        next.next()
            .is_some_and(|message| message["type"] == "joined")
    });
}

#[test]
fn silent_connections_leave_connected_pages_alone() {
    let mut options = WebOptions::new(here());
    options.limits.connections = 4;
    let served = served_with(options);
    let mut page = BrowserPage::join(served.address, None, (80, 24));
    page.paint();
    let silent: Vec<_> = (0..20).map(|_| connect(served.address)).collect();
    page.press(":");
    page.press("z");
    page.paint_until(": z");
    drop(silent);
    crate::wait::wait_until("new connections are served", || {
        get(served.address, "/").starts_with("HTTP/1.1 200 ")
    });
}

#[test]
fn a_long_head_is_refused() {
    let served = served();
    let address = served.address;
    let long = "x".repeat(64 << 10);
    let head = format!("GET / HTTP/1.1\r\nHost: {address}\r\nX-Long: {long}");
    assert!(!request(address, &head).starts_with("HTTP/1.1 200 "));
    works(address);
}
