//! What is answered, and to whom. The address has a token that nobody can guess; requests must name
//! this server as their host, so that no other name can be made to lead here; and what is more than
//! reading must come from the page itself.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, Method, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use engine::MAX_REQUEST_BYTES;

use super::engine::Process;
use super::files::Files;

/// How long a request may take to arrive.
const ARRIVES: Duration = Duration::from_secs(10);

/// What every answer says: it may be shown by nothing but itself, and asks for nothing but what is
/// here.
const HEADERS: [(HeaderName, &str); 5] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
         connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
];

pub(super) struct Server {
    files: Files,
    token: String,
    /// The names by which this server is reached, with its port.
    hosts: [String; 2],
    engine: Process,
}

impl Server {
    pub(super) fn new(files: Files, token: String, port: u16, engine: Process) -> Self {
        Self {
            files,
            token,
            hosts: ["127.0.0.1", "localhost"].map(|name| format!("{name}:{port}")),
            engine,
        }
    }

    pub(super) fn routes(self) -> Router {
        Router::new().fallback(answer).with_state(Arc::new(self))
    }

    /// Whether a request names this server as its host.
    fn is_for_us(&self, headers: &HeaderMap) -> bool {
        let host = headers.get(header::HOST).and_then(|h| h.to_str().ok());
        host.is_some_and(|host| self.hosts.iter().any(|known| known == host))
    }

    /// Whether a request comes from the page of this server. Browsers say of every request that is
    /// more than reading where it comes from, and no page can have them say otherwise.
    fn is_ours(&self, headers: &HeaderMap) -> bool {
        let origin = headers.get(header::ORIGIN).and_then(|o| o.to_str().ok());
        let origin = origin.and_then(|origin| origin.strip_prefix("http://"));
        origin.is_some_and(|origin| self.hosts.iter().any(|known| known == origin))
    }

    /// What is asked for below the token; nothing without the right one.
    fn below<'a>(&self, path: &'a str) -> Option<&'a str> {
        let rest = path.strip_prefix('/')?;
        let (token, rest) = rest.split_once('/')?;
        // Every byte is looked at, so that how long it takes tells nothing.
        let same = token.len() == self.token.len();
        let pairs = token.bytes().zip(self.token.bytes());
        let differences = pairs.fold(0, |sum, (a, b)| sum | (a ^ b));
        (same && differences == 0).then_some(rest)
    }
}

async fn answer(State(server): State<Arc<Server>>, request: Request) -> Response {
    let mut response = respond(&server, request).await;
    for (name, value) in HEADERS {
        let value = axum::http::HeaderValue::from_static(value);
        response.headers_mut().insert(name, value);
    }
    response
}

async fn respond(server: &Server, request: Request) -> Response {
    if !server.is_for_us(request.headers()) {
        return told(
            StatusCode::FORBIDDEN,
            "this server answers at 127.0.0.1 only",
        );
    }
    let Some(name) = server.below(request.uri().path()).map(str::to_owned) else {
        let text =
            "not found: the address has a token, which `switchwright lab` printed when it began";
        return told(StatusCode::NOT_FOUND, text);
    };
    match *request.method() {
        Method::GET | Method::HEAD => match server.files.get(&name) {
            Some((kind, bytes)) => {
                ([(header::CONTENT_TYPE, kind)], bytes.into_owned()).into_response()
            }
            None => told(StatusCode::NOT_FOUND, "not found"),
        },
        Method::POST if !server.is_ours(request.headers()) => told(
            StatusCode::FORBIDDEN,
            "only the page of this server may ask its engine",
        ),
        Method::POST if name == "call" => call(server, request.into_body()).await,
        Method::POST if name == "stop" => {
            server.engine.stop().await;
            told(StatusCode::OK, "")
        }
        _ => told(StatusCode::METHOD_NOT_ALLOWED, "not allowed"),
    }
}

async fn call(server: &Server, body: Body) -> Response {
    let read = tokio::time::timeout(ARRIVES, to_bytes(body, MAX_REQUEST_BYTES)).await;
    let bytes = match read {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(_)) => {
            let text = format!("a request is limited to {MAX_REQUEST_BYTES} bytes here");
            return told(StatusCode::PAYLOAD_TOO_LARGE, &text);
        }
        Err(_) => {
            return told(
                StatusCode::REQUEST_TIMEOUT,
                "the request did not arrive in time",
            );
        }
    };
    let Ok(request) = std::str::from_utf8(&bytes) else {
        return told(StatusCode::BAD_REQUEST, "the request is not UTF-8");
    };
    match server.engine.call(request).await {
        Ok(answer) => ([(header::CONTENT_TYPE, "application/json")], answer).into_response(),
        Err(why) => told(StatusCode::SERVICE_UNAVAILABLE, &why),
    }
}

fn told(status: StatusCode, text: &str) -> Response {
    (
        status,
        [(header::CONTENT_TYPE, "text/plain; charset=utf-8")],
        text.to_owned(),
    )
        .into_response()
}
