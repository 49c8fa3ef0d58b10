//! A server's address: a host, a port, and whether it uses TLS.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// A server's address, as `host:port`, `http://host:port` or `https://host`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerAddress {
    /// Its name or address; an IPv6 address has no brackets.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Whether it uses TLS.
    pub tls: bool,
}

/// The text is not a valid server address.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "expected the address of a server such as 127.0.0.1:8000, host:8000 or https://host, found \
     `{0}`"
)]
pub struct AddressError(String);

impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.tls { "https://" } else { "" };
        write!(f, "{scheme}{}", self.authority())
    }
}

impl ServerAddress {
    /// Returns the host and the port as after a URL scheme.
    pub(super) fn authority(&self) -> String {
        match self.host.contains(':') {
            true => format!("[{}]:{}", self.host, self.port),
            false => format!("{}:{}", self.host, self.port),
        }
    }
}

impl FromStr for ServerAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        parse(text).ok_or_else(|| AddressError(text.chars().take(200).collect()))
    }
}

fn parse(text: &str) -> Option<ServerAddress> {
    let (tls, usual, rest) = match text.split_once("://") {
        None => (false, None, text),
        Some(("http", rest)) => (false, Some(80), rest),
        Some(("https", rest)) => (true, Some(443), rest),
        Some(_) => return None,
    };
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    let (host, port) = match rest.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => rest.split_at(rest.find(':').unwrap_or(rest.len())),
    };
    let port = match port.strip_prefix(':') {
        Some(port) => port.parse().ok()?,
        None if port.is_empty() => usual?,
        None => return None,
    };
    let is_host = |c: char| c.is_ascii_alphanumeric() || ".-_:%".contains(c);
    let host = Some(host).filter(|host| !host.is_empty() && host.chars().all(is_host))?;
    Some(ServerAddress {
        host: host.to_owned(),
        port,
        tls,
    })
}
