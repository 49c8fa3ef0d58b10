//! The paths of the protocol.

use hyper::Method;
use percent_encoding::percent_decode_str;

use crate::keys::KeyRole;
use divisi_inference::error::{ErrorKind, ServiceError};
use divisi_inference::protocol::ModelId;

use super::serve::HttpScope;

/// A call of the protocol.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Route {
    Live,
    Ready,
    Server,
    Model(ModelId),
    ModelReady(ModelId),
    Config(ModelId),
    Statistics(Option<ModelId>),
    Infer(ModelId),
    Index,
    Load(String),
    Unload(String),
    RegionStatus(String),
    RegionRegister(String),
    RegionUnregister(String),
    GpuRegionStatus,
    GpuRegionRegister,
    GpuRegionUnregister(String),
    Metrics,
    /// A part of the protocol that is not supported, by its name.
    Unsupported(&'static str),
}

impl Route {
    /// Returns the role that the call requires, or `None` if it needs no key.
    pub(super) fn role(&self) -> Option<KeyRole> {
        match self {
            Route::Live | Route::Ready => None,
            Route::Infer(_)
            | Route::RegionRegister(_)
            | Route::RegionUnregister(_)
            | Route::GpuRegionRegister
            | Route::GpuRegionUnregister(_) => Some(KeyRole::Infer),
            Route::Load(_) | Route::Unload(_) | Route::Unsupported(_) => Some(KeyRole::Control),
            Route::Server
            | Route::Model(_)
            | Route::ModelReady(_)
            | Route::Config(_)
            | Route::Statistics(_)
            | Route::Index
            | Route::RegionStatus(_)
            | Route::GpuRegionStatus
            | Route::Metrics => Some(KeyRole::Read),
        }
    }
}

/// Returns the call for a method and a path.
///
/// # Errors
/// Returns an error if there is no such call or the path is not valid text.
pub(super) fn route(method: &Method, path: &str, scope: HttpScope) -> Result<Route, ServiceError> {
    let parts = path.trim_matches('/').split('/');
    let parts = parts.map(|part| percent_decode_str(part).decode_utf8());
    let parts: Vec<_> = parts
        .collect::<Result<_, _>>()
        .map_err(|_| ServiceError::bad("the path is not valid UTF-8"))?;
    let parts: Vec<&str> = parts.iter().map(|part| &**part).collect();
    let get = match (method, scope, &parts[..]) {
        (_, _, ["metrics"]) => Route::Metrics,
        (_, HttpScope::Protocol, ["v2", rest @ ..]) => {
            return protocol(method, rest).ok_or_else(|| unknown(path))?;
        }
        _ => return Err(unknown(path)),
    };
    of_method(method, &Method::GET, get)
}

/// Returns the methods that a path supports.
pub(super) fn allowed(path: &str, scope: HttpScope) -> &'static str {
    match route(&Method::GET, path, scope) {
        Ok(_) => "GET, HEAD",
        Err(_) => "POST",
    }
}

fn unknown(path: &str) -> ServiceError {
    ServiceError::new(ErrorKind::NotFound, format!("no path `{path}` is served"))
}

/// Returns the route if the method is the expected one; HEAD is treated as GET.
fn of_method(method: &Method, expected: &Method, route: Route) -> Result<Route, ServiceError> {
    let fits = method == expected || (method == Method::HEAD && expected == Method::GET);
    match fits {
        true => Ok(route),
        false => Err(ServiceError::new(
            ErrorKind::Method,
            format!("expected the method {expected}, found {method}"),
        )),
    }
}

fn protocol(method: &Method, parts: &[&str]) -> Option<Result<Route, ServiceError>> {
    if let Some(unsupported) = settings(parts) {
        return Some(Ok(unsupported));
    }
    let (expected, route) = match parts {
        ["models", "stats"] => (Method::GET, Route::Statistics(None)),
        ["models", name, "versions", version, call @ ..] => {
            return model(method, ModelId::new(*name, *version), call);
        }
        ["models", name, call @ ..] => return model(method, ModelId::new(*name, ""), call),
        _ => fixed(parts).or_else(|| shared_memory(parts))?,
    };
    Some(of_method(method, &expected, route))
}

/// Returns the unsupported settings, for any method.
fn settings(parts: &[&str]) -> Option<Route> {
    match parts {
        ["logging"] => Some(Route::Unsupported("log settings")),
        ["trace", "setting"] | ["models", _, "trace", "setting"] => {
            Some(Route::Unsupported("trace settings"))
        }
        _ => None,
    }
}

fn fixed(parts: &[&str]) -> Option<(Method, Route)> {
    Some(match parts {
        [] => (Method::GET, Route::Server),
        ["health", "live"] => (Method::GET, Route::Live),
        ["health", "ready"] => (Method::GET, Route::Ready),
        ["repository", "index"] => (Method::POST, Route::Index),
        ["repository", _, "index"] => (Method::POST, Route::Index),
        ["repository", "models", name, "load"] | ["repository", _, "models", name, "load"] => {
            (Method::POST, Route::Load((*name).to_owned()))
        }
        ["repository", "models", name, "unload"] | ["repository", _, "models", name, "unload"] => {
            (Method::POST, Route::Unload((*name).to_owned()))
        }
        _ => return None,
    })
}

fn shared_memory(parts: &[&str]) -> Option<(Method, Route)> {
    let (kind, name, call) = match parts {
        [kind, call] => (*kind, "", *call),
        [kind, "region", name, call] => (*kind, *name, *call),
        _ => return None,
    };
    let name = name.to_owned();
    Some(match (kind, call) {
        ("systemsharedmemory", "status") => (Method::GET, Route::RegionStatus(name)),
        ("systemsharedmemory", "register") => (Method::POST, Route::RegionRegister(name)),
        ("systemsharedmemory", "unregister") => (Method::POST, Route::RegionUnregister(name)),
        ("cudasharedmemory", "status") => (Method::GET, Route::GpuRegionStatus),
        ("cudasharedmemory", "register") => (Method::POST, Route::GpuRegionRegister),
        ("cudasharedmemory", "unregister") => (Method::POST, Route::GpuRegionUnregister(name)),
        _ => return None,
    })
}

fn model(method: &Method, model: ModelId, call: &[&str]) -> Option<Result<Route, ServiceError>> {
    let (expected, route) = match call {
        [] => (Method::GET, Route::Model(model)),
        ["ready"] => (Method::GET, Route::ModelReady(model)),
        ["config"] => (Method::GET, Route::Config(model)),
        ["stats"] => (Method::GET, Route::Statistics(Some(model))),
        ["infer"] => (Method::POST, Route::Infer(model)),
        ["generate" | "generate_stream"] => (Method::POST, Route::Unsupported("generation")),
        _ => return None,
    };
    Some(of_method(method, &expected, route))
}
