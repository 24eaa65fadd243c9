//! Answers with their headers.

use std::convert::Infallible;

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use hyper::{Response, StatusCode};
use serde_json::Value;

use crate::refusal::Refusal;

/// The body of an answer.
pub type Body = UnsyncBoxBody<Bytes, Infallible>;
/// An answer.
pub type Answer = Response<Body>;

/// An answer with a type and bytes.
pub fn bytes(status: u16, kind: &'static str, bytes: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(Full::new(bytes.into()).boxed_unsync());
    *answer.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    answer
}

/// A JSON answer.
pub fn json(status: u16, value: &Value) -> Answer {
    bytes(status, "application/json", value.to_string())
}

/// The answer to a refused request.
pub fn refused(refusal: &Refusal) -> Answer {
    let mut answer = json(refusal.status, &refusal.json());
    if refusal.status == 401 {
        answer.headers_mut().insert("www-authenticate", HeaderValue::from_static("Bearer"));
    }
    if matches!(refusal.status, 429 | 503 | 507) {
        answer.headers_mut().insert("retry-after", HeaderValue::from_static("1"));
    }
    answer
}

/// Headers that every answer has: nothing from elsewhere is loaded, nothing is embedded elsewhere or kept in a cache.
pub fn secure(answer: &mut Answer) {
    let policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; form-action 'self'; \
                  base-uri 'none'; frame-ancestors 'none'";
    let headers = answer.headers_mut();
    let all: [(HeaderName, &'static str); 6] = [
        (CONTENT_SECURITY_POLICY, policy),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        (CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("x-frame-options"), "DENY"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    for (name, value) in all {
        headers.insert(name, HeaderValue::from_static(value));
    }
}
