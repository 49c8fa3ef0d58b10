//! The address of a trace collector.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::client::ServerAddress;

/// A collector: `http://host:4318` for OTLP over HTTP, `grpc://host:4317` for OTLP over gRPC;
/// `https` and `grpcs` with TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceEndpoint {
    /// Its address.
    pub address: ServerAddress,
    /// Its HTTP path; `None` for gRPC.
    pub path: Option<String>,
}

/// The text is not a valid collector.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "expected a collector such as http://127.0.0.1:4318, grpc://127.0.0.1:4317, https://host or \
     grpcs://host, found `{0}`"
)]
pub struct EndpointError(String);

/// The HTTP path of OTLP.
const PATH: &str = "/v1/traces";

impl FromStr for TraceEndpoint {
    type Err = EndpointError;

    fn from_str(text: &str) -> Result<Self, EndpointError> {
        parse(text).ok_or_else(|| EndpointError(text.chars().take(200).collect()))
    }
}

fn parse(text: &str) -> Option<TraceEndpoint> {
    let (scheme, rest) = text.split_once("://")?;
    let (address, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let (usual, is_http) = match scheme {
        "http" | "https" => ("4318", true),
        "grpc" | "grpcs" => ("4317", false),
        _ => return None,
    };
    let has_port = address.rsplit(']').next()?.contains(':');
    let address: ServerAddress = match has_port {
        true => address.parse().ok()?,
        false => format!("{address}:{usual}").parse().ok()?,
    };
    let tls = scheme.ends_with('s');
    let address = ServerAddress { tls, ..address };
    let is_path = |path: &str| path.bytes().all(|b| b.is_ascii_graphic());
    let path = match (is_http, path) {
        (true, "" | "/") => Some(PATH.to_owned()),
        (true, path) if is_path(path) => Some(path.to_owned()),
        (false, "" | "/") => None,
        _ => return None,
    };
    Some(TraceEndpoint { address, path })
}

impl TraceEndpoint {
    /// Returns its host and port.
    pub(super) fn authority(&self) -> String {
        let address = ServerAddress {
            tls: false,
            ..self.address.clone()
        };
        address.to_string()
    }
}

impl fmt::Display for TraceEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (secure, host) = (if self.address.tls { "s" } else { "" }, self.authority());
        match &self.path {
            Some(path) => write!(f, "http{secure}://{host}{path}"),
            None => write!(f, "grpc{secure}://{host}"),
        }
    }
}
