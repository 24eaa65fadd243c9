//! Who may do what: Host and Origin, tokens and cookies, rights, rates.

use std::sync::Arc;

use hyper::HeaderMap;
use hyper::header::{AUTHORIZATION, COOKIE, HOST, HeaderName, ORIGIN};

use super::route::{Needs, Route};
use crate::refusal::{Answered, Refusal};
use crate::tokens::{Token, Tokens};

/// The name of the cookie of the live page.
pub const COOKIE_NAME: &str = "okl_session";

fn header(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// The host of `host:port` without the port.
fn without_port(host: &str) -> &str {
    match host.rfind(':') {
        Some(at) if !host[at..].contains(']') => &host[..at],
        _ => host,
    }
}

/// Checks Host and Origin. Without tokens the server is for programs of this machine only: a page from elsewhere must not reach it, neither
/// under another name (DNS rebinding) nor from another site.
///
/// # Errors
/// If the request comes from elsewhere.
pub fn check_origin(headers: &HeaderMap, tokens: Option<&Tokens>) -> Answered<()> {
    let host = header(headers, HOST).unwrap_or("");
    if tokens.is_none() && !matches!(without_port(host), "localhost" | "127.0.0.1" | "[::1]") {
        let text = "Host: without a token file this server answers requests to localhost, 127.0.0.1 and [::1] only";
        return Err(Refusal::new(403, "wrong_host", text));
    }
    match header(headers, ORIGIN) {
        Some(origin) if origin.split_once("://").is_none_or(|(_, rest)| rest != host) => {
            Err(Refusal::new(403, "wrong_origin", "Origin: requests from pages of other sites are refused"))
        }
        _ => Ok(()),
    }
}

fn cookie(headers: &HeaderMap) -> Option<&str> {
    let mut all = header(headers, COOKIE)?.split(';');
    all.find_map(|part| part.trim().strip_prefix(COOKIE_NAME)?.strip_prefix('='))
}

/// The token of a request: a bearer token, or the cookie of the live page. A cookie counts only for requests that a page of another site
/// cannot send: reading, or with an Origin, which has been checked.
fn token(headers: &HeaderMap, route: &Route, tokens: &Tokens) -> Option<Arc<Token>> {
    if let Some(value) = header(headers, AUTHORIZATION) {
        return value.strip_prefix("Bearer ").and_then(|secret| tokens.find(secret.trim()));
    }
    let own = route.method == "GET" || headers.contains_key(ORIGIN);
    cookie(headers).filter(|_| own).and_then(|cookie| tokens.session(cookie))
}

/// Checks the right of a request. Returns its token; none if the server has no tokens or the route needs none.
///
/// # Errors
/// 401 without a valid token, 403 without the right, 429 if the token has sent too many requests.
pub fn authorise(
    headers: &HeaderMap,
    route: &Route,
    model: Option<&str>,
    tokens: Option<&Tokens>,
    most_rate: Option<u32>,
) -> Answered<Option<Arc<Token>>> {
    let Some(tokens) = tokens.filter(|_| route.needs != Needs::Nothing) else { return Ok(None) };
    let token = token(headers, route, tokens);
    let token = token.ok_or_else(|| Refusal::new(401, "no_token", "send a valid token: Authorization: Bearer TOKEN"))?;
    if let Needs::Right(right) = route.needs
        && !token.allows(right, model)
    {
        let text = format!("the token '{}' does not have the right '{}' here", token.name, right.word());
        return Err(Refusal::new(403, "no_right", text));
    }
    if most_rate.is_some_and(|most| !tokens.within_rate(&token.name, most)) {
        return Err(Refusal::new(429, "too_many_requests", "too many requests with this token in one second"));
    }
    Ok(Some(token))
}
