//! The HTTP calls other than inference.

use std::fmt;

use bytes::Bytes;
use divisi_engine::deployment::ModelOverride;
use hyper::header::{ACCEPT, CONNECTION, CONTENT_TYPE, HeaderValue, WWW_AUTHENTICATE};
use hyper::{Request, Response, StatusCode};
use serde::{Deserialize, Serialize};

use crate::calls::CallRecord;
use crate::gateway::Gateway;
use crate::metrics::{MetricsFormat, PROTOBUF, TEXT, protobuf, text};
use crate::net::WaitedBody;
use crate::regions::RegionStatus;
use divisi_inference::error::{ErrorKind, ServiceError};
use divisi_inference::protocol::{CallParameters, LoadParameter, ParameterValue, load_parameters};
use divisi_inference::service::ModelState;

use super::body::{ChunkedBody, HeldBody, gather};
use super::config::config;
use super::infer::infer;
use super::object::JsonObject;
use super::route::Route;
use super::views::{
    ErrorView, IndexView, LiveView, ModelView, ReadyView, RegionView, ServerView, StatisticsView,
};

/// The maximum size of a control body in bytes.
const CONTROL: usize = 64 << 10;

/// Answers a call.
pub(super) async fn answer(
    gateway: &Gateway,
    route: Route,
    request: Request<WaitedBody>,
    record: &CallRecord,
) -> Result<Response<ChunkedBody>, ServiceError> {
    match route {
        Route::Infer(model) => infer(gateway, model, request, record).await,
        Route::RegionRegister(name) => {
            let wanted: RegionRequest = control(gateway, request).await?;
            gateway.register(wanted.named(name))?;
            Ok(empty())
        }
        Route::Index => {
            let wanted: IndexRequest = control(gateway, request).await?;
            Ok(index(gateway, wanted.ready))
        }
        Route::Load(name) => {
            let (by, held) = load(gateway, request).await?;
            gateway.load(name, by, held).await.map(|()| empty())
        }
        Route::Metrics => {
            let accept = request.headers().get(ACCEPT);
            Ok(metrics(
                gateway,
                accept.and_then(|accept| accept.to_str().ok()),
            ))
        }
        Route::Unload(name) => {
            let wanted: UnloadRequest = control(gateway, request).await?;
            let dependents = wanted.parameters.0.unload_dependents;
            gateway.unload(name, dependents).await.map(|()| empty())
        }
        other => at_once(gateway, other),
    }
}

/// Answers a call without a body.
fn at_once(gateway: &Gateway, route: Route) -> Result<Response<ChunkedBody>, ServiceError> {
    let service = &gateway.service;
    Ok(match route {
        Route::Live => json(&LiveView { live: true }),
        Route::Ready => health(gateway.is_ready()),
        Route::ModelReady(model) => health(service.state(&model)? == ModelState::Ready),
        Route::Server => json(&ServerView::new(service.server_name())),
        Route::Model(model) => json(&ModelView::new(&*service.describe(&model)?, &model)),
        Route::Config(model) => json(&config(&gateway.config(&model)?)),
        Route::Statistics(model) => {
            let all = gateway.statistics(model.as_ref())?;
            json(&StatisticsView::new(&all))
        }
        Route::RegionStatus(name) => {
            let all = gateway.regions().status(&name)?;
            json(&all.iter().map(RegionView::new).collect::<Vec<_>>())
        }
        Route::RegionUnregister(name) => {
            gateway.regions().unregister(&name);
            empty()
        }
        // There are never any, so all of them are gone.
        Route::GpuRegionStatus => json(&[(); 0]),
        Route::GpuRegionUnregister(_) => empty(),
        Route::GpuRegionRegister => return Err(unsupported("GPU shared memory")),
        Route::Unsupported(what) => return Err(unsupported(what)),
        Route::Infer(_)
        | Route::Metrics
        | Route::RegionRegister(_)
        | Route::Index
        | Route::Load(_)
        | Route::Unload(_) => return Err(unsupported("this call")),
    })
}

fn unsupported(what: &str) -> ServiceError {
    ServiceError::unsupported(format!("{what}: not supported"))
}

fn index(gateway: &Gateway, ready: bool) -> Response<ChunkedBody> {
    let all = gateway.service.index();
    let wanted = all.iter();
    let wanted = wanted.filter(|listed| !ready || listed.state == ModelState::Ready);
    json(&wanted.map(IndexView::new).collect::<Vec<_>>())
}

/// Reads a JSON body; an empty one is the default value.
async fn control<T: Default + for<'de> Deserialize<'de>>(
    gateway: &Gateway,
    request: Request<WaitedBody>,
) -> Result<T, ServiceError> {
    read(gateway, request, CONTROL).await.map(|(read, _)| read)
}

/// Reads a JSON body of limited size; its memory is held as long as the result.
async fn read<T: Default + for<'de> Deserialize<'de>>(
    gateway: &Gateway,
    request: Request<WaitedBody>,
    most: usize,
) -> Result<(T, HeldBody), ServiceError> {
    let body = gather(gateway, request.into_body(), most).await?;
    let bytes = body.bytes.joined();
    if bytes.is_empty() {
        return Ok((T::default(), body));
    }
    let mut json = serde_json::Deserializer::from_slice(&bytes);
    // The error names the field.
    let read = serde_path_to_error::deserialize(&mut json);
    let wrong = |e: &dyn fmt::Display| ServiceError::bad(format!("the request's JSON: {e}"));
    let JsonObject(read) = read.map_err(|e| wrong(&e))?;
    json.end().map_err(|e| wrong(&e))?;
    Ok((read, body))
}

#[derive(Default, Deserialize)]
struct IndexRequest {
    #[serde(default)]
    ready: bool,
}

#[derive(Default, Deserialize)]
struct LoadRequest {
    #[serde(default)]
    parameters: CallParameters,
}

#[derive(Default, Deserialize)]
struct UnloadRequest {
    #[serde(default)]
    parameters: JsonObject<UnloadParameters>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct UnloadParameters {
    #[serde(default)]
    unload_dependents: bool,
}

/// Returns the parameters of a load request, whose body is held until the model is loaded.
async fn load(
    gateway: &Gateway,
    request: Request<WaitedBody>,
) -> Result<(ModelOverride, HeldBody), ServiceError> {
    let most = match gateway.load_files {
        true => gateway.limits.body,
        false => CONTROL,
    };
    let (wanted, held): (LoadRequest, _) = read(gateway, request, most).await?;
    let parameters = wanted.parameters.values.into_iter().map(|(name, value)| {
        let value = match value {
            ParameterValue::Text(text) => LoadParameter::Text(text),
            _ => LoadParameter::Other,
        };
        (name, value)
    });
    Ok((load_parameters(parameters, gateway.load_files)?, held))
}

#[derive(Default, Deserialize)]
struct RegionRequest {
    #[serde(default)]
    key: String,
    #[serde(default)]
    offset: u64,
    #[serde(default)]
    byte_size: u64,
}

impl RegionRequest {
    fn named(self, name: String) -> RegionStatus {
        RegionStatus {
            name,
            key: self.key,
            offset: self.offset,
            size: self.byte_size,
        }
    }
}

/// Returns the answer to a readiness check; the protocol uses 4xx for not ready.
fn health(ready: bool) -> Response<ChunkedBody> {
    let mut response = json(&ReadyView { ready });
    if !ready {
        *response.status_mut() = StatusCode::BAD_REQUEST;
    }
    response
}

fn empty() -> Response<ChunkedBody> {
    Response::new(ChunkedBody::default())
}

fn metrics(gateway: &Gateway, accept: Option<&str>) -> Response<ChunkedBody> {
    let families = gateway.metrics();
    let (kind, bytes) = match MetricsFormat::preferred(accept) {
        MetricsFormat::Text => (TEXT, text(&families).into()),
        MetricsFormat::Protobuf => (PROTOBUF, protobuf(&families).into()),
    };
    response(StatusCode::OK, kind, bytes)
}

fn json(value: &impl Serialize) -> Response<ChunkedBody> {
    // Views consist of texts and numbers, which can be serialized.
    let bytes = serde_json::to_vec(value).unwrap_or_default();
    response(StatusCode::OK, "application/json", bytes.into())
}

fn response(status: StatusCode, kind: &'static str, bytes: Bytes) -> Response<ChunkedBody> {
    let mut response = Response::new(ChunkedBody::from_pieces([bytes]));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static(kind);
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

/// Returns the JSON of an error.
pub(super) fn error_bytes(error: &ServiceError) -> Vec<u8> {
    let view = ErrorView {
        error: error.to_string(),
    };
    serde_json::to_vec(&view).unwrap_or_default()
}

/// Returns the answer for an error.
pub(super) fn error_response(error: &ServiceError) -> Response<ChunkedBody> {
    let status = StatusCode::from_u16(error.kind().http());
    let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = response(status, "application/json", error_bytes(error).into());
    let more = match error.kind() {
        // The rest of the body is not read.
        ErrorKind::Slow => Some((CONNECTION, "close")),
        // RFC 9110, section 11.6.1.
        ErrorKind::Unauthenticated => Some((WWW_AUTHENTICATE, "Bearer")),
        _ => None,
    };
    if let Some((name, value)) = more {
        let value = HeaderValue::from_static(value);
        response.headers_mut().insert(name, value);
    }
    response
}
