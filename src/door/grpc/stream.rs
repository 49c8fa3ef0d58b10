//! Streams of requests: several run at once, and answers are in the order of requests.

use std::future::{Future, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{self, Context, Poll};

use hyper::header::{AUTHORIZATION, HeaderMap};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tonic::codegen::tokio_stream::Stream;
use tonic::{Status, Streaming};

use crate::calls::CallRecord;
use crate::gateway::Gateway;
use crate::keys::KeyRole;
use crate::limits::AllowanceShare;
use crate::proto::inference::{ModelInferRequest, ModelInferResponse, ModelStreamInferResponse};
use divisi_inference::error::{ServiceError, shortened};
use divisi_inference::protocol::ParameterValue;

use super::codec::{ReceivedMessage, RefusedMessage};
use super::infer::{RequestNames, parameter, read_received, write_reply};
use super::status::status;

/// The name of a stream's request in records.
const REQUEST: &str = "ModelStreamInfer request";

/// The maximum number of concurrent requests of a stream.
const AT_ONCE: usize = 256;

/// The header `authorization` of a stream. Its key is checked again for each request.
#[derive(Clone, Debug)]
pub(super) struct SentKey(Option<Arc<[u8]>>);

impl SentKey {
    /// Returns the header among `headers`.
    pub(super) fn from_headers(headers: &HeaderMap) -> Self {
        let key = headers.get(AUTHORIZATION);
        SentKey(key.map(|key| key.as_bytes().into()))
    }

    fn is_allowed(&self, gateway: &Gateway, record: &CallRecord) -> Result<(), ServiceError> {
        gateway.authorize(self.0.as_deref(), Some(KeyRole::Infer), record)
    }
}

/// A task that is aborted when this is dropped.
struct OwnedTask<T>(JoinHandle<T>);

impl<T> Drop for OwnedTask<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// An answer, or an error that ends the stream.
struct StreamAnswer {
    answer: Result<ModelStreamInferResponse, Status>,
    /// The memory of its request, held until the answer is sent.
    _held: Option<AllowanceShare>,
}

impl From<Status> for StreamAnswer {
    fn from(status: Status) -> Self {
        StreamAnswer {
            answer: Err(status),
            _held: None,
        }
    }
}

/// A pending answer.
type AnswerTask = OwnedTask<StreamAnswer>;

/// A request of a stream.
type StreamMessage = ReceivedMessage<ModelInferRequest>;

/// The answers of a stream. Dropping it cancels all pending requests.
pub(super) struct AnswerStream {
    tasks: mpsc::Receiver<AnswerTask>,
    next: Option<AnswerTask>,
    _reader: OwnedTask<()>,
}

impl AnswerStream {
    /// Answers the requests of a stream.
    pub(super) fn new(
        gateway: Arc<Gateway>,
        requests: Streaming<StreamMessage>,
        record: CallRecord,
        key: SentKey,
    ) -> Self {
        let (begun, tasks) = mpsc::channel(AT_ONCE);
        let reader = tokio::spawn(read(gateway, requests, begun, record, key));
        AnswerStream {
            tasks,
            next: None,
            _reader: OwnedTask(reader),
        }
    }
}

/// Starts each request until the stream ends or its client has left.
async fn read(
    gateway: Arc<Gateway>,
    mut requests: Streaming<StreamMessage>,
    begun: mpsc::Sender<AnswerTask>,
    record: CallRecord,
    key: SentKey,
) {
    loop {
        // Waits for room first, so that further requests stay with the client.
        let Ok(room) = begun.reserve().await else {
            return;
        };
        let task = match requests.message().await {
            Ok(None) => return,
            Ok(Some(request)) => begin(&gateway, request, &record, &key),
            Err(status) => {
                // The start of the next message is unknown.
                room.send(OwnedTask(tokio::spawn(ready(status.into()))));
                return;
            }
        };
        room.send(OwnedTask(task));
    }
}

/// Starts a request, unless the stream's key is no longer valid.
fn begin(
    gateway: &Arc<Gateway>,
    request: StreamMessage,
    stream: &CallRecord,
    key: &SentKey,
) -> JoinHandle<StreamAnswer> {
    let record = stream.within(REQUEST);
    match key.is_allowed(gateway, &record) {
        Ok(()) => tokio::spawn(answer(Arc::clone(gateway), request, record)),
        Err(error) => {
            record.fails(error.kind().grpc().into(), &error);
            tokio::spawn(ready(status(error).into()))
        }
    }
}

/// Answers a request. An error is part of the answer, and the stream continues.
async fn answer(
    gateway: Arc<Gateway>,
    ReceivedMessage { read, held }: StreamMessage,
    record: CallRecord,
) -> StreamAnswer {
    let names = RequestNames::from_read(&read);
    let answered = answered(&gateway, read, &names, &record).await;
    match &answered {
        Ok(_) => record.is_answered(0),
        Err(error) => record.fails(error.kind().grpc().into(), error),
    }
    StreamAnswer {
        answer: Ok(written(answered, names.id)),
        _held: Some(held),
    }
}

/// Returns an answer or an error message.
fn written(
    answered: Result<ModelInferResponse, ServiceError>,
    id: String,
) -> ModelStreamInferResponse {
    let (error_message, mut reply) = match answered {
        Ok(reply) => (String::new(), reply),
        Err(error) => {
            let reply = ModelInferResponse {
                id: shortened(id),
                ..ModelInferResponse::default()
            };
            (error.to_string(), reply)
        }
    };
    // Clients that support several answers to a request wait for the final one.
    let (name, last) = parameter(FINAL, ParameterValue::Bool(true));
    reply.parameters.insert(name, last);
    ModelStreamInferResponse {
        error_message,
        infer_response: Some(reply),
    }
}

/// The parameter that marks the last answer to a request.
const FINAL: &str = "triton_final_response";

async fn answered(
    gateway: &Gateway,
    read: Result<ModelInferRequest, RefusedMessage>,
    names: &RequestNames,
    record: &CallRecord,
) -> Result<ModelInferResponse, ServiceError> {
    let call = read_received(read, &gateway.limits.request)
        .inspect_err(|error| gateway.count_refusal(&names.model(), error, record))?;
    Ok(write_reply(gateway.infer(call, None, record).await?))
}

impl Stream for AnswerStream {
    type Item = Result<ModelStreamInferResponse, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.next.is_none() {
            self.next = task::ready!(self.tasks.poll_recv(context));
        }
        let Some(task) = &mut self.next else {
            return Poll::Ready(None);
        };
        let done = task::ready!(Pin::new(&mut task.0).poll(context));
        self.next = None;
        let failed = |_| Status::internal("the answer stopped unexpectedly").into();
        Poll::Ready(Some(done.unwrap_or_else(failed).answer))
    }
}
