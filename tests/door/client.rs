//! A client of HTTP that sends bytes as they are, and reads the answer.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use serde_json::Value;

/// An answer of HTTP.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("JSON")
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        let mut found = lines.filter(|(known, _)| known.eq_ignore_ascii_case(name));
        found.next().map(|(_, value)| value)
    }

    /// The words of an error.
    #[track_caller]
    pub fn error(&self) -> String {
        let json = self.json();
        let words = json["error"].as_str();
        words
            .unwrap_or_else(|| panic!("no error in {json}"))
            .to_owned()
    }
}

/// Sends a request and reads the answer.
pub fn ask(address: SocketAddr, method: &str, path: &str, body: &[u8]) -> Answer {
    ask_with(address, method, path, &[], body)
}

pub fn ask_with(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, String)],
    body: &[u8],
) -> Answer {
    let mut stream = TcpStream::connect(address).expect("connects");
    stream
        .write_all(&request(method, path, headers, body))
        .expect("is sent");
    read(&mut stream)
}

/// The bytes of a request.
pub fn request(method: &str, path: &str, headers: &[(&str, String)], body: &[u8]) -> Vec<u8> {
    let mut text = format!("{method} {path} HTTP/1.1\r\nhost: test\r\n");
    for (name, value) in headers {
        text += &format!("{name}: {value}\r\n");
    }
    text += &format!("content-length: {}\r\n\r\n", body.len());
    [text.as_bytes(), body].concat()
}

/// Reads an answer; an empty one where the connection ended.
pub fn read(stream: &mut TcpStream) -> Answer {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    loop {
        if let Some(answer) = whole(&bytes) {
            return answer;
        }
        match stream.read(&mut piece) {
            Ok(n) if n > 0 => bytes.extend_from_slice(&piece[..n]),
            _ => {
                return Answer {
                    status: 0,
                    head: String::new(),
                    body: bytes,
                };
            }
        }
    }
}

fn whole(bytes: &[u8]) -> Option<Answer> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = String::from_utf8(bytes[..end].to_vec()).expect("text");
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let mut answer = Answer {
        status,
        head,
        body: Vec::new(),
    };
    let length: usize = answer.header("content-length")?.parse().ok()?;
    let body = bytes.get(end + 4..end + 4 + length)?;
    answer.body = body.to_vec();
    Some(answer)
}
