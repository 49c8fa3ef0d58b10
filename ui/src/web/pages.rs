//! The files of the page, embedded in the program.

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use hyper::{Response, StatusCode};

/// An answer with a body in memory.
pub(super) type PageResponse = Response<Full<Bytes>>;

/// The path of the WebSocket.
pub(super) const SOCKET: &str = "/socket";

/// The files: path, type and content.
const FILES: [(&str, &str, &str); 6] = [
    (
        "/",
        "text/html; charset=utf-8",
        include_str!("page/console.html"),
    ),
    (
        "/console.js",
        "text/javascript; charset=utf-8",
        include_str!("page/console.js"),
    ),
    (
        "/paint.js",
        "text/javascript; charset=utf-8",
        include_str!("page/paint.js"),
    ),
    (
        "/input.js",
        "text/javascript; charset=utf-8",
        include_str!("page/input.js"),
    ),
    (
        "/console.css",
        "text/css; charset=utf-8",
        include_str!("page/console.css"),
    ),
    ("/icon.svg", "image/svg+xml", include_str!("page/icon.svg")),
];

/// The headers of all answers. Only files of this server run, and no page may contain this one.
const HEADERS: [(HeaderName, &str); 6] = [
    (
        CONTENT_SECURITY_POLICY,
        "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    ),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (REFERRER_POLICY, "no-referrer"),
    (CACHE_CONTROL, "no-cache"),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
];

/// Returns the answer to a request for a file.
pub(super) fn file(path: &str) -> PageResponse {
    let found = FILES.iter().find(|(known, _, _)| *known == path);
    let Some((_, kind, content)) = found else {
        return plain(StatusCode::NOT_FOUND, "no such page");
    };
    let body = Full::new(Bytes::from_static(content.as_bytes()));
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    guarded(response)
}

/// Returns an answer with a line of text.
pub(super) fn plain(status: StatusCode, words: &'static str) -> PageResponse {
    let mut response = Response::new(Full::new(Bytes::from_static(words.as_bytes())));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    guarded(response)
}

/// Adds the headers of all answers.
pub(super) fn guarded(mut response: PageResponse) -> PageResponse {
    for (name, value) in HEADERS {
        let value = HeaderValue::from_static(value);
        response.headers_mut().insert(name, value);
    }
    response
}
