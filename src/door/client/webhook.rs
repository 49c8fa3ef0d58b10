//! Sends notifications by HTTP: see [`Webhook`].

use std::fmt;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::str::FromStr;
use std::time::Duration;

use thiserror::Error;

use super::address::ServerAddress;
use super::connection::connect;

/// The time limit for an answer.
const PATIENCE: Duration = Duration::from_secs(30);
/// The maximum size of an answer's first line in bytes.
const MOST_LINE: u64 = 4 << 10;

/// A server that receives notifications by `POST`: `http://host/path` or `https://host:port/path`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Webhook {
    address: ServerAddress,
    path: String,
}

/// The text is not a valid webhook address.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("expected an address such as http://127.0.0.1:8080/jobs or https://host/jobs, found `{0}`")]
pub struct WebhookError(String);

impl FromStr for Webhook {
    type Err = WebhookError;

    fn from_str(text: &str) -> Result<Self, WebhookError> {
        parse(text).ok_or_else(|| WebhookError(text.chars().take(200).collect()))
    }
}

fn parse(text: &str) -> Option<Webhook> {
    let host = text.find("://")? + 3;
    let end = text[host..].find('/').map_or(text.len(), |at| host + at);
    let (server, path) = text.split_at(end);
    let path = if path.is_empty() { "/" } else { path };
    // No spaces or line ends, which could change the request.
    path.bytes().all(|b| b.is_ascii_graphic()).then_some(())?;
    Some(Webhook {
        address: server.parse().ok()?,
        path: path.to_owned(),
    })
}

impl Webhook {
    /// Posts JSON, and waits until the server confirms it.
    ///
    /// # Errors
    /// Returns an error if the server cannot be reached, its certificate is not trusted, or it does
    /// not answer with success.
    pub fn post(&self, json: &str) -> io::Result<()> {
        let mut stream = connect(&self.address, None, PATIENCE)?;
        let (authority, length) = (self.address.authority(), json.len());
        write!(
            stream,
            "POST {} HTTP/1.1\r\nhost: {authority}\r\ncontent-type: application/json\r\n\
             content-length: {length}\r\nconnection: close\r\n\r\n{json}",
            self.path
        )?;
        stream.flush()?;
        let mut line = String::new();
        BufReader::new(stream.take(MOST_LINE)).read_line(&mut line)?;
        let status = line.split(' ').nth(1).and_then(|text| text.parse().ok());
        match status {
            Some(200..=299) => Ok(()),
            Some::<u16>(status) => Err(io::Error::other(format!(
                "it answered with status {status}"
            ))),
            None => Err(io::Error::new(ErrorKind::InvalidData, "no HTTP status")),
        }
    }
}

impl fmt::Display for Webhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let secure = if self.address.tls { "s" } else { "" };
        write!(
            f,
            "http{secure}://{}{}",
            self.address.authority(),
            self.path
        )
    }
}
