//! The server: from a connection to an answer.

pub mod answer;
pub mod body;
mod carried;
mod guard;
mod handlers;
pub mod metrics;
mod openapi;
mod page;
pub mod route;
mod sent;
mod serve;
mod stream;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use hyper::header::{ALLOW, CONTENT_ENCODING, HeaderValue};
use hyper::{Request, body::Incoming};
use tokio::sync::watch;

use crate::refusal::{Answered, Refusal};
use crate::registry::Registry;
use crate::tokens::Tokens;
use answer::Answer;
use metrics::Metrics;
use route::{Action, Found, Route};
use sent::Sent;
pub use serve::{Listening, Tls};

/// Everything that a request needs.
pub struct Server {
    /// The models.
    pub registry: Arc<Registry>,
    /// The tokens; none: the server listens on the loopback address only.
    pub tokens: Option<Tokens>,
    /// The metrics of the server.
    pub metrics: Metrics,
    /// Whether a line is written for every request.
    pub log: bool,
    /// Whether the connection is encrypted: cookies are then sent over such connections only.
    pub encrypted: bool,
    /// Whether the server was asked to stop.
    ending: watch::Sender<bool>,
}

/// A request whose route and right have been checked.
struct Call<'a> {
    server: &'a Server,
    route: &'static Route,
    /// The name of the model in the path; empty if there is none.
    name: &'a str,
    token: Option<&'a crate::tokens::Token>,
    sent: Sent,
}

impl Server {
    /// A server of these models.
    pub fn new(registry: Arc<Registry>, tokens: Option<Tokens>) -> Self {
        Server { registry, tokens, metrics: Metrics::default(), log: false, encrypted: false, ending: watch::Sender::new(false) }
    }

    /// Answers one request.
    pub async fn answer(&self, request: Request<Incoming>) -> Answer {
        let start = Instant::now();
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let found = route::find(&method, &path);
        let mut answer = match self.respond(request, found).await {
            Ok(answer) => answer,
            Err(refusal) => answer::refused(&refusal),
        };
        if matches!(found, Found::OtherMethod)
            && let Ok(methods) = HeaderValue::from_str(&route::methods(&path))
        {
            answer.headers_mut().insert(ALLOW, methods);
        }
        answer::secure(&mut answer);
        let (time, status) = (start.elapsed(), answer.status().as_u16());
        self.count(found, status, time);
        if self.log {
            let line = serde_json::json!({ "method": method.as_str(), "path": path, "status": status, "microseconds": time.as_micros() as u64 });
            crate::log::line("request", &line);
        }
        answer
    }

    fn count(&self, found: Found<'_>, status: u16, time: std::time::Duration) {
        let histogram = match found {
            Found::Route(route, _) => match route.action {
                Action::Learn | Action::Label => &self.metrics.learn,
                Action::Predict => &self.metrics.predict,
                _ => &self.metrics.other,
            },
            _ => &self.metrics.other,
        };
        histogram.add(time);
        self.metrics.statuses[usize::from(status / 100).min(5)].fetch_add(1, Ordering::Relaxed);
    }

    async fn respond(&self, request: Request<Incoming>, found: Found<'_>) -> Answered<Answer> {
        guard::check_origin(request.headers(), self.tokens.as_ref())?;
        let (route, name) = match found {
            Found::Route(route, name) => (route, name),
            Found::OtherMethod => return Err(Refusal::new(405, "wrong_method", "this path has other methods")),
            Found::Nothing => return Err(Refusal::new(404, "no_such_path", "there is no such path; /v1/openapi.json lists all")),
        };
        let options = &self.registry.options;
        let token = guard::authorise(request.headers(), route, name, self.tokens.as_ref(), options.most_rate)?;
        let query: Vec<_> = form_urlencoded::parse(request.uri().query().unwrap_or("").as_bytes()).into_owned().collect();
        route::check_query(route.action, &query)?;
        if route.action == Action::Events {
            return stream::events(&self.registry.model(name.unwrap_or(""))?, self.ending.subscribe());
        }
        let late = |_| Refusal::new(408, "too_slow", "the request took too long");
        let work = async {
            let text = |name: &str| request.headers().get(name).and_then(|v| v.to_str().ok()).map(str::to_owned);
            let (kind, key) = (text("content-type").unwrap_or_default(), text("idempotency-key"));
            let body = read_body(request, options.most_body).await?;
            let kind = kind.split(';').next().unwrap_or("").trim().to_ascii_lowercase();
            // What curl sends with -d. Forms of other sites have been refused by their Origin.
            let kind = if kind == "application/x-www-form-urlencoded" { "application/json".into() } else { kind };
            let sent = Sent { query, kind, key, body };
            handlers::handle(Call { server: self, route, name: name.unwrap_or(""), token: token.as_deref(), sent }).await
        };
        tokio::time::timeout(options.request_time, work).await.map_err(late)?
    }
}

/// Reads a body up to a length. Compressed bodies are refused: their length after decompression is not known.
async fn read_body(request: Request<Incoming>, most: usize) -> Answered<Bytes> {
    let plain = |value: &HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"identity");
    if request.headers().get(CONTENT_ENCODING).is_some_and(|value| !plain(value)) {
        return Err(Refusal::new(415, "compressed", "Content-Encoding: send the body without compression"));
    }
    match Limited::new(request.into_body(), most).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(e) if e.is::<http_body_util::LengthLimitError>() => {
            Err(Refusal::new(413, "too_large", format!("the body has more than {most} bytes; send fewer rows at a time")))
        }
        Err(e) => Err(Refusal::new(400, "bad_request", format!("the body could not be received: {e}"))),
    }
}
