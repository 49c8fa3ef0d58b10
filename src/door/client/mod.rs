//! A client of inference over HTTP, for programs that send samples to a server.

mod address;
mod connection;
mod index;
mod trust;
mod webhook;

use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use divisi_runtime::tensor::DataType;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use thiserror::Error;

use crate::limits::ServerLimits;
use divisi_inference::error::ServiceError;
use divisi_inference::protocol::{NamedTensor, WireTensor};

pub use address::{AddressError, ServerAddress};
pub(crate) use connection::client_config;
use connection::{Connection, connect, is_no_tls};
pub use webhook::{Webhook, WebhookError};

/// The time limit for an answer.
const PATIENCE: Duration = Duration::from_secs(120);

/// The maximum size of an answer's headers in bytes.
const MOST_HEAD: u64 = 64 << 10;

/// The reasons why a request to a server failed.
#[derive(Debug, Error)]
pub enum ClientError {
    /// The connection failed.
    #[error("{address}: {}", failed_connection(error))]
    Connection {
        /// The server's address.
        address: ServerAddress,
        /// The error of the system.
        error: io::Error,
    },
    /// The server's answer to TLS is not TLS.
    #[error(
        "{address}: the server does not speak TLS there: try http://{}",
        address.authority()
    )]
    NoTls {
        /// The server's address.
        address: ServerAddress,
    },
    /// The server refused the request, or failed.
    #[error("{address} answered {status}: {words}")]
    Refused {
        /// The server's address.
        address: ServerAddress,
        /// The HTTP status.
        status: u16,
        /// The server's error message.
        words: String,
    },
    /// The answer does not follow the protocol.
    #[error("{address} sent an answer that violates the protocol: {why}")]
    Foreign {
        /// The server's address.
        address: ServerAddress,
        /// The reason.
        why: String,
    },
}

fn failed_connection(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => format!("no server listens there: {error}"),
        _ => error.to_string(),
    }
}

impl ClientError {
    fn of_connection(address: &ServerAddress, error: io::Error) -> Self {
        let address = address.clone();
        match is_no_tls(&error) {
            true => ClientError::NoTls { address },
            false => ClientError::Connection { address, error },
        }
    }
}

/// Options of a connection to a server.
#[derive(Clone, Debug, Default)]
pub struct ClientOptions {
    /// The key to send.
    pub key: Option<String>,
    /// A file of trusted certificates; `None` for those that this machine trusts.
    pub trusted: Option<PathBuf>,
}

/// A connection to a server.
pub struct HttpClient {
    address: ServerAddress,
    key: Option<String>,
    stream: BufReader<Box<dyn Connection>>,
    limits: ServerLimits,
}

/// An HTTP answer.
struct HttpAnswer {
    status: u16,
    /// The length of the JSON if binary data follows it.
    json: Option<usize>,
    body: Bytes,
}

#[derive(Deserialize)]
struct ToldModel {
    inputs: Vec<ToldInput>,
}

#[derive(Deserialize)]
struct ToldInput {
    name: String,
}

/// The answer of a model.
#[derive(Clone, Debug)]
pub struct ClientAnswer {
    /// All of its outputs.
    pub outputs: Vec<NamedTensor>,
    /// The parameters of the answer.
    pub parameters: Map<String, Value>,
}

#[derive(Deserialize)]
struct AnsweredJson {
    #[serde(default)]
    parameters: Map<String, Value>,
    outputs: Vec<AnsweredOutput>,
}

#[derive(Deserialize)]
struct AnsweredOutput {
    name: String,
    datatype: DataType,
    shape: Vec<usize>,
    parameters: OutputSize,
}

#[derive(Deserialize)]
struct OutputSize {
    binary_data_size: usize,
}

impl HttpClient {
    /// Connects to a server.
    ///
    /// # Errors
    /// Returns an error if no server listens there, or its certificate is not trusted.
    pub fn connect(address: &ServerAddress, options: &ClientOptions) -> Result<Self, ClientError> {
        let stream = connect(address, options.trusted.as_ref(), PATIENCE);
        let stream = stream.map_err(|error| ClientError::of_connection(address, error))?;
        Ok(HttpClient {
            address: address.clone(),
            key: options.key.clone(),
            stream: BufReader::new(stream),
            limits: ServerLimits::default(),
        })
    }

    /// Sends a request to a model and returns all of its outputs.
    ///
    /// # Errors
    /// Returns an error if the connection fails, or if the server refuses or sends an invalid
    /// answer.
    pub fn infer(
        &mut self,
        model: &str,
        inputs: &[NamedTensor],
    ) -> Result<Vec<NamedTensor>, ClientError> {
        let answer = self.infer_with(model, inputs, &Map::new())?;
        Ok(answer.outputs)
    }

    /// Sends a request with parameters to a model.
    ///
    /// # Errors
    /// Returns an error if the connection fails, or if the server refuses or sends an invalid
    /// answer.
    pub fn infer_with(
        &mut self,
        model: &str,
        inputs: &[NamedTensor],
        parameters: &Map<String, Value>,
    ) -> Result<ClientAnswer, ClientError> {
        let answer = self.ask(model, inputs, parameters);
        let answer = self.accepted(answer)?;
        self.answer(answer)
    }

    /// Returns the names of a model's inputs, in the server's order.
    ///
    /// # Errors
    /// Returns an error if the connection fails, or if the server refuses or sends an invalid
    /// answer.
    pub fn input_names(&mut self, model: &str) -> Result<Vec<String>, ClientError> {
        let answer = self.describe(model);
        let answer = self.accepted(answer)?;
        let described: Result<ToldModel, _> = serde_json::from_slice(&answer.body);
        let described = described.map_err(|e| self.foreign(e.to_string()))?;
        let inputs = described.inputs.into_iter();
        Ok(inputs.map(|input| input.name).collect())
    }

    /// Returns whether the server is ready: every configured model is loaded.
    ///
    /// # Errors
    /// Returns an error if the server does not answer.
    pub fn is_ready(&mut self) -> Result<bool, ClientError> {
        let (host, port) = (&self.address.host, self.address.port);
        let request = format!("GET /v2/health/ready HTTP/1.1\r\nhost: {host}:{port}\r\n\r\n");
        let answer = self.sent(&request);
        let answer = answer.map_err(|error| ClientError::of_connection(&self.address, error))?;
        Ok(answer.status == 200)
    }

    /// Returns the answer, or an error if it is a refusal.
    fn accepted(&self, answer: io::Result<HttpAnswer>) -> Result<HttpAnswer, ClientError> {
        let answer = answer.map_err(|error| ClientError::of_connection(&self.address, error))?;
        match answer.status {
            200 => Ok(answer),
            status => Err(ClientError::Refused {
                address: self.address.clone(),
                status,
                words: words(&answer.body),
            }),
        }
    }

    fn ask(
        &mut self,
        model: &str,
        inputs: &[NamedTensor],
        parameters: &Map<String, Value>,
    ) -> io::Result<HttpAnswer> {
        let tensors: Vec<Value> = inputs.iter().map(written).collect();
        let mut parameters = parameters.clone();
        parameters.insert("binary_data_output".to_owned(), true.into());
        let head = json!({"inputs": tensors, "parameters": parameters});
        let head = head.to_string();
        let data: usize = inputs.iter().map(|input| input.tensor.size()).sum();
        let start = self.start("POST", model, "/infer")?;
        let request = format!(
            "{start}inference-header-content-length: {}\r\ncontent-length: {}\r\n\r\n{head}",
            head.len(),
            head.len() + data,
        );
        let stream = self.stream.get_mut();
        stream.write_all(request.as_bytes())?;
        for input in inputs {
            stream.write_all(&input.tensor.bytes())?;
        }
        stream.flush()?;
        self.read()
    }

    fn describe(&mut self, model: &str) -> io::Result<HttpAnswer> {
        let request = self.start("GET", model, "")? + "\r\n";
        self.sent(&request)
    }

    /// Sends a request without a body and reads its answer.
    fn sent(&mut self, request: &str) -> io::Result<HttpAnswer> {
        let stream = self.stream.get_mut();
        stream.write_all(request.as_bytes())?;
        stream.flush()?;
        self.read()
    }

    /// Returns the first lines of a request about a model.
    fn start(&self, method: &str, model: &str, what: &str) -> io::Result<String> {
        let name = percent_encoding::utf8_percent_encode(model, percent_encoding::NON_ALPHANUMERIC);
        self.begin(method, &format!("/v2/models/{name}{what}"))
    }

    /// Returns the first lines of a request.
    fn begin(&self, method: &str, path: &str) -> io::Result<String> {
        let key = self.key.as_ref();
        if key.is_some_and(|key| key.chars().any(char::is_control)) {
            let words = "a key must not contain control characters";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, words));
        }
        let key = key.map_or(String::new(), |key| {
            format!("authorization: Bearer {key}\r\n")
        });
        let (host, port) = (&self.address.host, self.address.port);
        Ok(format!(
            "{method} {path} HTTP/1.1\r\nhost: {host}:{port}\r\n{key}"
        ))
    }

    /// Reads an answer with a body of the length in its head, within a bound.
    fn read(&mut self) -> io::Result<HttpAnswer> {
        let broken = |why: &str| io::Error::new(io::ErrorKind::InvalidData, why.to_owned());
        let mut head = (&mut self.stream).take(MOST_HEAD);
        let mut line = String::new();
        head.read_line(&mut line)?;
        let status = line.split(' ').nth(1).and_then(|text| text.parse().ok());
        let status = status.ok_or_else(|| broken("no HTTP status"))?;
        let (mut length, mut json) = (None, None);
        loop {
            line.clear();
            head.read_line(&mut line)?;
            let Some((name, value)) = line.split_once(':') else {
                break;
            };
            match &*name.to_ascii_lowercase() {
                "content-length" => length = value.trim().parse::<usize>().ok(),
                "inference-header-content-length" => json = value.trim().parse().ok(),
                _ => {}
            }
        }
        let length = length.filter(|length| *length <= self.limits.bodies);
        let length = length.ok_or_else(|| broken("the body's length is missing or too large"))?;
        let mut body = Vec::new();
        let read = (&mut self.stream)
            .take(length as u64)
            .read_to_end(&mut body)?;
        match read == length {
            true => Ok(HttpAnswer {
                status,
                json,
                body: body.into(),
            }),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    fn answer(&self, answer: HttpAnswer) -> Result<ClientAnswer, ClientError> {
        let mut head = answer.body;
        let length = answer.json.unwrap_or(head.len()).min(head.len());
        let mut tail = head.split_off(length);
        let read: Result<AnsweredJson, _> = serde_json::from_slice(&head);
        let read = read.map_err(|e| self.foreign(e.to_string()))?;
        let tensor = |output: AnsweredOutput| {
            let size = output.parameters.binary_data_size;
            let (name, dims) = (output.name, output.shape);
            let short = || ServiceError::bad(format!("output `{name}` is incomplete"));
            let bytes = (size <= tail.len()).then(|| tail.split_to(size));
            let bytes = bytes.ok_or_else(short)?;
            let tensor =
                WireTensor::new(&name, output.datatype, dims, bytes, &self.limits.request)?;
            Ok(NamedTensor { name, tensor })
        };
        let outputs = read.outputs.into_iter().map(tensor);
        let outputs: Result<_, ServiceError> = outputs.collect();
        Ok(ClientAnswer {
            outputs: outputs.map_err(|e| self.foreign(e.to_string()))?,
            parameters: read.parameters,
        })
    }

    fn foreign(&self, why: String) -> ClientError {
        ClientError::Foreign {
            address: self.address.clone(),
            why,
        }
    }
}

fn written(input: &NamedTensor) -> Value {
    let tensor = &input.tensor;
    json!({
        "name": input.name,
        "datatype": tensor.data_type().name(),
        "shape": tensor.dims(),
        "parameters": {"binary_data_size": tensor.size()},
    })
}

/// Returns an error message without control characters, which could affect the terminal.
fn words(body: &[u8]) -> String {
    let json: Option<Value> = serde_json::from_slice(body).ok();
    let said = json.as_ref().and_then(|json| json["error"].as_str());
    let said = said.unwrap_or("no words");
    said.chars().filter(|c| !c.is_control()).take(500).collect()
}
