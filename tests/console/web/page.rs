//! A page without a browser: a small client of the WebSocket that keeps the picture.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::protocol::Role;
use tokio_tungstenite::tungstenite::{Message, WebSocket};

use crate::wait::LIMIT;

/// The nonce of the handshake, and the answer to it (RFC 6455, section 1.3).
const NONCE: &str = "dGhlIHNhbXBsZSBub25jZQ==";
const ACCEPT: &str = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";

/// Sends a request, and returns the answer as text until the server closes the connection.
pub fn request(address: SocketAddr, head: &str) -> String {
    let mut stream = connect(address);
    // The server may close the connection before.
    let _ = write!(stream, "{head}\r\n\r\n");
    let mut answer = Vec::new();
    // A reset connection ends the answer too.
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

/// Returns the answer to GET at the server's own host.
pub fn get(address: SocketAddr, path: &str) -> String {
    request(
        address,
        &format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close"),
    )
}

pub fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("connects");
    let limit: Option<Duration> = Some(LIMIT);
    stream.set_read_timeout(limit).expect("a limit");
    stream
}

/// Returns the head of a handshake with this host and origin.
pub fn handshake(host: &str, origin: &str) -> String {
    format!(
        "GET /socket HTTP/1.1\r\nHost: {host}\r\nOrigin: {origin}\r\nConnection: Upgrade\r\n\
         Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {NONCE}"
    )
}

pub struct BrowserPage {
    socket: WebSocket<TcpStream>,
    cells: HashMap<(u64, u64), String>,
    pub size: (u64, u64),
    /// The number of the last frame.
    pub frame: u64,
}

impl BrowserPage {
    /// Opens a WebSocket as a page of the server does.
    pub fn open(address: SocketAddr) -> Self {
        let mut stream = connect(address);
        let head = handshake(&address.to_string(), &format!("http://{address}"));
        write!(stream, "{head}\r\n\r\n").expect("is sent");
        let mut answer = Vec::new();
        while !answer.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).expect("an answer");
            answer.extend(byte);
        }
        let answer = String::from_utf8(answer).expect("text");
        assert!(answer.starts_with("HTTP/1.1 101 "), "{answer}");
        assert!(answer.contains(ACCEPT), "{answer}");
        BrowserPage {
            socket: WebSocket::from_raw_socket(stream, Role::Client, None),
            cells: HashMap::new(),
            size: (0, 0),
            frame: 0,
        }
    }

    /// Opens a page and introduces it.
    pub fn join(address: SocketAddr, key: Option<&str>, size: (u16, u16)) -> Self {
        let mut page = BrowserPage::open(address);
        page.send(&json!({"key": key, "size": size, "dark": true, "plain": false}));
        page
    }

    pub fn send(&mut self, message: &Value) {
        self.send_raw(Message::text(message.to_string()));
    }

    /// Sends a message. Whether the server takes it shows in its answers.
    pub fn send_raw(&mut self, message: Message) {
        let _ = self.socket.send(message);
    }

    pub fn press(&mut self, key: &str) {
        self.send(&json!({"type": "key", "key": key}));
    }

    /// Returns the next message, or `None` once the server has closed the connection.
    pub fn next(&mut self) -> Option<Value> {
        loop {
            match self.socket.read().ok()? {
                Message::Text(text) => return serde_json::from_str(&text).ok(),
                Message::Close(_) => return None,
                _ => {}
            }
        }
    }

    /// Returns the next message of a kind.
    pub fn next_of(&mut self, kind: &str) -> Value {
        loop {
            let message = self
                .next()
                .unwrap_or_else(|| panic!("closed before {kind}"));
            if message["type"] == "frame" {
                self.apply(&message);
            }
            if message["type"] == kind {
                return message;
            }
        }
    }

    /// Applies the next frame and confirms that it is painted.
    pub fn paint(&mut self) -> Value {
        let frame = self.next_of("frame");
        self.confirm();
        frame
    }

    pub fn confirm(&mut self) {
        let frame = self.frame;
        self.send(&json!({"type": "painted", "frame": frame}));
    }

    /// Paints frames until the screen has a text.
    pub fn paint_until(&mut self, text: &str) {
        while !self.text().contains(text) {
            self.paint();
        }
    }

    fn apply(&mut self, frame: &Value) {
        self.frame = frame["number"].as_u64().expect("a number");
        if let Some(size) = frame["size"].as_array() {
            self.size = (size[0].as_u64().expect("n"), size[1].as_u64().expect("n"));
            self.cells.clear();
        }
        for run in frame["runs"].as_array().expect("runs") {
            let at = |i: usize| run[i].as_u64().expect("a number");
            let text = run[3].as_str().expect("text");
            let wide = run.get(4).is_some();
            let symbols: Vec<String> = match wide {
                true => vec![text.to_owned()],
                false => text.chars().map(String::from).collect(),
            };
            for (column, symbol) in (at(1)..).zip(symbols) {
                self.cells.insert((at(0), column), symbol);
            }
        }
    }

    /// Returns the picture as text.
    pub fn text(&self) -> String {
        let symbol = |row, column| self.cells.get(&(row, column)).map_or(" ", String::as_str);
        let rows = (0..self.size.1).map(|row| {
            let line: String = (0..self.size.0).map(|column| symbol(row, column)).collect();
            format!("{}\n", line.trim_end())
        });
        rows.collect()
    }

    /// Reads until the server closes the connection, and returns the reason that it sent.
    pub fn reason_of_end(&mut self) -> Option<String> {
        let mut reason = None;
        while let Some(message) = self.next() {
            if message["type"] == "refused" {
                reason = message["why"].as_str().map(str::to_owned);
            }
        }
        reason
    }
}
