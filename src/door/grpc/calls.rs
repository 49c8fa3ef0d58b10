//! The gRPC calls by path. Calls with large messages are read by this crate, the others by tonic
//! within a small bound.

use std::convert::Infallible;
use std::future::{Future, Ready, ready};
use std::sync::Arc;

use hyper::{Request, Response};
use prost::Message;
use tonic::body::Body;
use tonic::codegen::Service;
use tonic::server::{Grpc, StreamingService, UnaryService};
use tonic::{Status, Streaming};

use crate::gateway::Gateway;
use crate::keys::KeyRole;
use crate::limits::Allowance;
use crate::net::{PaceLimit, WaitedBody};
use crate::proto::health::health_server::HealthServer;
use crate::proto::inference::grpc_inference_service_server::GrpcInferenceServiceServer;
use crate::proto::inference::{ModelInferRequest, ModelStreamInferResponse};

use super::body::{BodyKind, CallBody, MessageSlot, MessagesTo};
use super::codec::{MessageCodec, ReceivedMessage};
use super::gather::MessageBounds;
use super::packed::CallEncoding;
use super::service::GrpcService;
use super::stream::{AnswerStream, SentKey};
use super::wire::BoundedMessage;

/// The paths of inference, streams and loading.
const INFER: &str = "/inference.GRPCInferenceService/ModelInfer";
const STREAM: &str = "/inference.GRPCInferenceService/ModelStreamInfer";
const LOAD: &str = "/inference.GRPCInferenceService/RepositoryModelLoad";

/// The path of health checks.
const HEALTH: &str = "/grpc.health.v1.Health/";

/// The maximum size of a control message in bytes.
const CONTROL: usize = 64 << 10;

/// The maximum size of a message that needs no key. It contains at most a name and does not count
/// as held memory, so that clients without keys cannot take memory from others.
const KEYLESS: usize = 4 << 10;

/// The gRPC calls of a connection.
#[derive(Clone)]
pub(super) struct GrpcCalls {
    gateway: Arc<Gateway>,
    /// The compression of this call's messages.
    encoding: CallEncoding,
    service: GrpcService,
    health: HealthServer<GrpcService>,
    inference: GrpcInferenceServiceServer<GrpcService>,
}

impl GrpcCalls {
    /// Creates the calls of a connection.
    pub(super) fn new(gateway: Arc<Gateway>) -> Self {
        let service = GrpcService(Arc::clone(&gateway));
        GrpcCalls {
            gateway,
            encoding: CallEncoding::default(),
            health: HealthServer::new(service.clone()),
            inference: GrpcInferenceServiceServer::new(service.clone())
                .max_encoding_message_size(usize::MAX),
            service,
        }
    }

    /// Answers an authorized call.
    ///
    /// # Errors
    /// Never fails: errors are answers.
    pub(super) async fn answer(
        mut self,
        mut request: Request<WaitedBody>,
        role: Option<KeyRole>,
    ) -> Result<Response<Body>, Infallible> {
        match CallEncoding::take(request.headers_mut()) {
            Ok(encoding) => self.encoding = encoding,
            Err(refused) => return Ok(refused.into_http()),
        }
        let encoding = self.encoding;
        let mut answer = self.of_path(request, role).await?;
        answer.extensions_mut().insert(encoding);
        Ok(answer)
    }

    async fn of_path(
        mut self,
        request: Request<WaitedBody>,
        role: Option<KeyRole>,
    ) -> Result<Response<Body>, Infallible> {
        match request.uri().path() {
            INFER => {
                let most = self.gateway.limits.body;
                let asked = |service: GrpcService, asked| service.model_infer(asked);
                Ok(self.unary(request, most, asked).await)
            }
            LOAD => {
                let most = match self.gateway.load_files {
                    true => self.gateway.limits.body,
                    false => CONTROL,
                };
                let asked = |service: GrpcService, asked| service.repository_model_load(asked);
                Ok(self.unary(request, most, asked).await)
            }
            STREAM => Ok(self.stream(request).await),
            path if path.starts_with(HEALTH) => {
                let request = request.map(|body| self.small(body, role));
                self.health.call(request).await
            }
            _ => {
                let request = request.map(|body| self.small(body, role));
                self.inference.call(request).await
            }
        }
    }

    /// Returns the body of a call that tonic reads.
    fn small(&self, body: WaitedBody, role: Option<KeyRole>) -> CallBody {
        let bounds = match role {
            None => MessageBounds {
                bodies: Allowance::with_limit(usize::MAX),
                most: KEYLESS,
            },
            Some(_) => self.bounds(CONTROL),
        };
        self.body(body, bounds, MessagesTo::Tonic, BodyKind::Unary)
    }

    fn body(
        &self,
        body: WaitedBody,
        bounds: MessageBounds,
        to: MessagesTo,
        kind: BodyKind,
    ) -> CallBody {
        let pace = PaceLimit::new(&self.gateway.limits, &self.gateway.clock);
        CallBody::new(body, bounds, to, kind, self.encoding.request, pace)
    }

    fn bounds(&self, most: usize) -> MessageBounds {
        let bodies = Arc::clone(&self.gateway.bodies);
        let most = most.min(self.gateway.limits.body);
        MessageBounds { bodies, most }
    }

    /// Returns a request whose messages are left in a slot, and their decoder.
    fn read<M: BoundedMessage, A: Message + 'static>(
        &self,
        request: Request<WaitedBody>,
        most: usize,
        kind: BodyKind,
    ) -> (Request<CallBody>, Grpc<MessageCodec<M, A>>) {
        let (slot, limits) = (MessageSlot::default(), self.gateway.limits);
        let codec = MessageCodec::new(slot.clone(), limits);
        let request = request.map(|body| {
            let to = MessagesTo::Slot(slot);
            self.body(body, self.bounds(most), to, kind)
        });
        (request, Grpc::new(codec))
    }

    async fn unary<M: BoundedMessage, A: Message + 'static, F>(
        self,
        request: Request<WaitedBody>,
        most: usize,
        answer: impl Fn(GrpcService, tonic::Request<ReceivedMessage<M>>) -> F + Send + Sync,
    ) -> Response<Body>
    where
        F: Future<Output = Result<tonic::Response<A>, Status>> + Send + 'static,
    {
        let (request, mut grpc) = self.read(request, most, BodyKind::Unary);
        let service = self.service.clone();
        let call = UnaryCall(move |asked| answer(service.clone(), asked));
        grpc.unary(call, request).await
    }

    async fn stream(self, request: Request<WaitedBody>) -> Response<Body> {
        let key = SentKey::from_headers(request.headers());
        let most = self.gateway.limits.body;
        let request = request.map(WaitedBody::of_stream);
        let (request, mut grpc) = self.read(request, most, BodyKind::Stream);
        let service = self.service.clone();
        grpc.streaming(StreamCall { service, key }, request).await
    }
}

/// A call with one request, answered by a function.
struct UnaryCall<F>(F);

impl<M, A, F, R> UnaryService<M> for UnaryCall<F>
where
    F: Fn(tonic::Request<M>) -> R,
    R: Future<Output = Result<tonic::Response<A>, Status>>,
{
    type Response = A;
    type Future = R;

    fn call(&mut self, request: tonic::Request<M>) -> R {
        (self.0)(request)
    }
}

/// A stream of requests.
struct StreamCall {
    service: GrpcService,
    key: SentKey,
}

impl StreamingService<ReceivedMessage<ModelInferRequest>> for StreamCall {
    type Response = ModelStreamInferResponse;
    type ResponseStream = AnswerStream;
    type Future = Ready<Result<tonic::Response<AnswerStream>, Status>>;

    fn call(
        &mut self,
        request: tonic::Request<Streaming<ReceivedMessage<ModelInferRequest>>>,
    ) -> Self::Future {
        let answers = self.service.model_stream_infer(request, self.key.clone());
        ready(Ok(tonic::Response::new(answers)))
    }
}
