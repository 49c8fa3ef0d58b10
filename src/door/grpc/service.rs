//! The calls of the gRPC protocol.

use std::collections::HashMap;
use std::sync::Arc;

use divisi_engine::deployment::ModelOverride;
use tonic::{Request, Response, Status, Streaming};

use crate::calls::CallRecord;
use crate::describe::{EXTENSIONS, VERSION};
use crate::gateway::Gateway;
use crate::proto::health::health_check_response::ServingStatus;
use crate::proto::health::health_server::Health;
use crate::proto::health::{HealthCheckRequest, HealthCheckResponse};
use crate::proto::inference as proto;
use crate::proto::inference::grpc_inference_service_server::GrpcInferenceService;
use crate::regions::RegionStatus;
use divisi_inference::error::{ErrorKind, ServiceError};
use divisi_inference::protocol::{LoadParameter, ModelId, load_parameters};
use divisi_inference::service::ModelState;

use super::answer::HeldBytes;
use super::codec::ReceivedMessage;
use super::infer::{RequestNames, read_received, write_reply};
use super::status::{deadline, status};
use super::stream::{AnswerStream, SentKey};
use super::views;

/// The gRPC calls and their models.
#[derive(Clone)]
pub(super) struct GrpcService(pub Arc<Gateway>);

/// An answer, or the status of an error.
type Answered<T> = Result<Response<T>, Status>;

fn unsupported<T>(what: &str) -> Answered<T> {
    let message = format!("{what}: not supported");
    Err(status(ServiceError::unsupported(message)))
}

/// Returns the requested model, or `None` for all models.
fn one(name: String, version: String) -> Option<ModelId> {
    Some(ModelId::new(name, version)).filter(|model| !model.name.is_empty())
}

/// Returns whether the pipelines that use a model are to be unloaded with it.
fn dependents(
    parameters: &HashMap<String, proto::ModelRepositoryParameter>,
) -> Result<bool, ServiceError> {
    use proto::model_repository_parameter::ParameterChoice;
    let mut wanted = false;
    for (name, parameter) in parameters {
        match (&**name, &parameter.parameter_choice) {
            ("unload_dependents", Some(ParameterChoice::BoolParam(value))) => wanted = *value,
            _ => {
                return Err(ServiceError::bad(format!(
                    "parameter `{name}` of `unload`: expected `unload_dependents`, true or false"
                )));
            }
        }
    }
    Ok(wanted)
}

/// Returns the record of a call.
fn record<T>(request: &Request<T>) -> CallRecord {
    request.extensions().get().cloned().unwrap_or_default()
}

/// Returns the parameters of a load request.
fn load(
    parameters: HashMap<String, proto::ModelRepositoryParameter>,
    with_files: bool,
) -> Result<ModelOverride, ServiceError> {
    use proto::model_repository_parameter::ParameterChoice;
    let parameters = parameters.into_iter().map(|(name, parameter)| {
        let value = match parameter.parameter_choice {
            Some(ParameterChoice::StringParam(text)) => LoadParameter::Text(text),
            Some(ParameterChoice::BytesParam(bytes)) => LoadParameter::Bytes(bytes),
            _ => LoadParameter::Other,
        };
        (name, value)
    });
    load_parameters(parameters, with_files)
}

/// The calls whose messages are read by this crate.
impl GrpcService {
    pub(super) async fn model_infer(
        self,
        request: Request<ReceivedMessage<proto::ModelInferRequest>>,
    ) -> Answered<proto::ModelInferResponse> {
        let record = record(&request);
        let within = deadline(request.metadata());
        let ReceivedMessage { read, held } = request.into_inner();
        let names = RequestNames::from_read(&read);
        let read =
            within.and_then(|within| Ok((within, read_received(read, &self.0.limits.request)?)));
        let (within, call) = read
            .inspect_err(|error| self.0.count_refusal(&names.model(), error, &record))
            .map_err(status)?;
        let reply = self.0.infer(call, within, &record).await.map_err(status)?;
        let mut response = Response::new(write_reply(reply));
        response.extensions_mut().insert(HeldBytes::new(held));
        Ok(response)
    }

    pub(super) fn model_stream_infer(
        &self,
        request: Request<Streaming<ReceivedMessage<proto::ModelInferRequest>>>,
        key: SentKey,
    ) -> AnswerStream {
        let record = record(&request);
        AnswerStream::new(Arc::clone(&self.0), request.into_inner(), record, key)
    }

    pub(super) async fn repository_model_load(
        self,
        request: Request<ReceivedMessage<proto::RepositoryModelLoadRequest>>,
    ) -> Answered<proto::RepositoryModelLoadResponse> {
        let ReceivedMessage { read, held } = request.into_inner();
        let asked = read.map_err(|refused| refused.error).map_err(status)?;
        let by = load(asked.parameters, self.0.load_files).map_err(status)?;
        self.0
            .load(asked.model_name, by, held)
            .await
            .map_err(status)?;
        Ok(Response::new(proto::RepositoryModelLoadResponse {}))
    }
}

#[tonic::async_trait]
impl GrpcInferenceService for GrpcService {
    async fn server_live(
        &self,
        _: Request<proto::ServerLiveRequest>,
    ) -> Answered<proto::ServerLiveResponse> {
        Ok(Response::new(proto::ServerLiveResponse { live: true }))
    }

    async fn server_ready(
        &self,
        _: Request<proto::ServerReadyRequest>,
    ) -> Answered<proto::ServerReadyResponse> {
        let ready = self.0.is_ready();
        Ok(Response::new(proto::ServerReadyResponse { ready }))
    }

    async fn model_ready(
        &self,
        request: Request<proto::ModelReadyRequest>,
    ) -> Answered<proto::ModelReadyResponse> {
        let asked = request.into_inner();
        let model = ModelId::new(asked.name, asked.version);
        // A missing model is not ready, as clients of Triton expect.
        let ready = match self.0.service.state(&model) {
            Err(error) if error.kind() == ErrorKind::NotFound => false,
            state => state.map_err(status)? == ModelState::Ready,
        };
        Ok(Response::new(proto::ModelReadyResponse { ready }))
    }

    async fn server_metadata(
        &self,
        _: Request<proto::ServerMetadataRequest>,
    ) -> Answered<proto::ServerMetadataResponse> {
        Ok(Response::new(proto::ServerMetadataResponse {
            name: self.0.service.server_name(),
            version: VERSION.to_owned(),
            extensions: EXTENSIONS.map(str::to_owned).into(),
        }))
    }

    async fn model_metadata(
        &self,
        request: Request<proto::ModelMetadataRequest>,
    ) -> Answered<proto::ModelMetadataResponse> {
        let asked = request.into_inner();
        let asked = ModelId::new(asked.name, asked.version);
        let model = self.0.service.describe(&asked).map_err(status)?;
        Ok(Response::new(views::metadata(&model, &asked)))
    }

    async fn model_config(
        &self,
        request: Request<proto::ModelConfigRequest>,
    ) -> Answered<proto::ModelConfigResponse> {
        let asked = request.into_inner();
        let model = ModelId::new(asked.name, asked.version);
        let config = Some(self.0.config(&model).map_err(status)?);
        Ok(Response::new(proto::ModelConfigResponse { config }))
    }

    async fn model_statistics(
        &self,
        request: Request<proto::ModelStatisticsRequest>,
    ) -> Answered<proto::ModelStatisticsResponse> {
        let asked = request.into_inner();
        let all = self
            .0
            .statistics(one(asked.name, asked.version).as_ref())
            .map_err(status)?;
        let model_stats = all.iter().map(views::statistics).collect();
        Ok(Response::new(proto::ModelStatisticsResponse {
            model_stats,
        }))
    }

    async fn repository_index(
        &self,
        request: Request<proto::RepositoryIndexRequest>,
    ) -> Answered<proto::RepositoryIndexResponse> {
        let ready = request.into_inner().ready;
        let all = self.0.service.index().into_iter();
        let wanted = all.filter(|listed| !ready || listed.state == ModelState::Ready);
        let models = wanted.map(|listed| proto::repository_index_response::ModelIndex {
            reason: listed.reason().to_owned(),
            name: listed.model.name,
            version: listed.model.version.unwrap_or_default(),
            state: listed.state.name().to_owned(),
        });
        let models = models.collect();
        Ok(Response::new(proto::RepositoryIndexResponse { models }))
    }

    async fn repository_model_unload(
        &self,
        request: Request<proto::RepositoryModelUnloadRequest>,
    ) -> Answered<proto::RepositoryModelUnloadResponse> {
        let asked = request.into_inner();
        let dependents = dependents(&asked.parameters).map_err(status)?;
        self.0
            .unload(asked.model_name, dependents)
            .await
            .map_err(status)?;
        Ok(Response::new(proto::RepositoryModelUnloadResponse {}))
    }

    async fn system_shared_memory_status(
        &self,
        request: Request<proto::SystemSharedMemoryStatusRequest>,
    ) -> Answered<proto::SystemSharedMemoryStatusResponse> {
        let all = self
            .0
            .regions()
            .status(&request.into_inner().name)
            .map_err(status)?;
        Ok(Response::new(views::regions(all)))
    }

    async fn system_shared_memory_register(
        &self,
        request: Request<proto::SystemSharedMemoryRegisterRequest>,
    ) -> Answered<proto::SystemSharedMemoryRegisterResponse> {
        let asked = request.into_inner();
        self.0
            .register(RegionStatus {
                name: asked.name,
                key: asked.key,
                offset: asked.offset,
                size: asked.byte_size,
            })
            .map_err(status)?;
        Ok(Response::new(proto::SystemSharedMemoryRegisterResponse {}))
    }

    async fn system_shared_memory_unregister(
        &self,
        request: Request<proto::SystemSharedMemoryUnregisterRequest>,
    ) -> Answered<proto::SystemSharedMemoryUnregisterResponse> {
        self.0.regions().unregister(&request.into_inner().name);
        Ok(Response::new(
            proto::SystemSharedMemoryUnregisterResponse {},
        ))
    }

    async fn cuda_shared_memory_status(
        &self,
        _: Request<proto::CudaSharedMemoryStatusRequest>,
    ) -> Answered<proto::CudaSharedMemoryStatusResponse> {
        // Such regions cannot be registered.
        Ok(Response::new(
            proto::CudaSharedMemoryStatusResponse::default(),
        ))
    }

    async fn cuda_shared_memory_register(
        &self,
        _: Request<proto::CudaSharedMemoryRegisterRequest>,
    ) -> Answered<proto::CudaSharedMemoryRegisterResponse> {
        unsupported("GPU shared memory")
    }

    async fn cuda_shared_memory_unregister(
        &self,
        _: Request<proto::CudaSharedMemoryUnregisterRequest>,
    ) -> Answered<proto::CudaSharedMemoryUnregisterResponse> {
        Ok(Response::new(proto::CudaSharedMemoryUnregisterResponse {}))
    }

    async fn trace_setting(
        &self,
        _: Request<proto::TraceSettingRequest>,
    ) -> Answered<proto::TraceSettingResponse> {
        unsupported("trace settings")
    }

    async fn log_settings(
        &self,
        _: Request<proto::LogSettingsRequest>,
    ) -> Answered<proto::LogSettingsResponse> {
        unsupported("log settings")
    }
}

#[tonic::async_trait]
impl Health for GrpcService {
    async fn check(&self, request: Request<HealthCheckRequest>) -> Answered<HealthCheckResponse> {
        let service = request.into_inner().service;
        let ready = match &*service {
            "" | "inference.GRPCInferenceService" => self.0.is_ready(),
            unknown => {
                let message = format!("no service `{unknown}` is served");
                return Err(status(ServiceError::new(ErrorKind::NotFound, message)));
            }
        };
        let status = match ready {
            true => ServingStatus::Serving,
            false => ServingStatus::NotServing,
        };
        let status = status.into();
        Ok(Response::new(HealthCheckResponse { status }))
    }
}
