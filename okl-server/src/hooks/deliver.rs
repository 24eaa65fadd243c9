//! Sends events to a web hook, one after another.
//!
//! Events wait in the list of the model ([`events`](crate::model::events)); those that it drops are counted. An event is sent again after an error of the
//! connection and the answers 408, 429 and 5xx, [`ATTEMPTS`] times in all; any other answer than 2xx is final, also a redirect.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use ring::hmac;
use serde_json::json;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, lookup_host};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

use super::{Allowed, Hook, Kind, Url, is_public};
use crate::model::Counts;
use crate::model::events::{Event, Next, Reader};
use crate::tokens::hex;

/// How often an event is sent.
const ATTEMPTS: u32 = 6;

/// Sends the events of one model.
pub struct Sender {
    pub model: String,
    pub hook: Hook,
    pub allowed: Allowed,
    pub counts: Arc<Counts>,
    pub tls: Option<TlsConnector>,
}

fn count(counter: &AtomicU64, by: u64) {
    counter.fetch_add(by, Ordering::Relaxed);
}

impl Sender {
    /// Sends events until the model is gone.
    pub async fn run(self, mut events: Reader) {
        while let Some(next) = events.next().await {
            match next {
                Next::Event(event) => self.event(&event).await,
                Next::Missed(missed) => count(&self.counts.hook_dropped, missed),
                Next::Figures => {}
            }
        }
    }

    async fn event(&self, event: &Event) {
        let (kind, word, number) = match event {
            Event::Alert(alert) => (Kind::Alert, "alert", alert.row),
            Event::Drift(drift) => (Kind::Drift, "drift", drift.example),
        };
        if !self.hook.events.contains(&kind) {
            return;
        }
        let id = format!("{}-{word}-{number}", self.model);
        let body = json!({ "id": id, "model": self.model, "event": event.json() }).to_string();
        let mut pause = self.allowed.pause;
        for attempt in 1..=ATTEMPTS {
            let status = tokio::time::timeout(self.allowed.time, self.send(&id, &body)).await;
            match status {
                Ok(Ok(200..=299)) => return count(&self.counts.hook_delivered, 1),
                Ok(Ok(408 | 429 | 500..)) | Ok(Err(Failure::Again)) | Err(_) if attempt < ATTEMPTS => {}
                _ => return count(&self.counts.hook_failed, 1),
            }
            tokio::time::sleep(pause).await;
            pause *= 2;
            count(&self.counts.hook_retries, 1);
        }
    }

    /// Sends one request and returns the status of the answer. The rest of the answer is not read.
    async fn send(&self, id: &str, body: &str) -> Result<u16, Failure> {
        let url = Url::parse(&self.hook.url).map_err(|_| Failure::Final)?;
        // The operator may have changed the list since the hook was set.
        url.check(&self.allowed).map_err(|_| Failure::Final)?;
        let stream = TcpStream::connect(self.address(&url).await?).await.map_err(|_| Failure::Again)?;
        let request = self.request(&url, id, body);
        match (&self.tls, url.encrypted) {
            (Some(tls), true) => {
                let name = ServerName::try_from(url.host).map_err(|_| Failure::Final)?;
                exchange(tls.connect(name, stream).await.map_err(|_| Failure::Again)?, &request).await
            }
            (None, true) => Err(Failure::Final),
            (_, false) => exchange(stream, &request).await,
        }
    }

    /// The address to connect to: all addresses of the name must be allowed.
    async fn address(&self, url: &Url) -> Result<SocketAddr, Failure> {
        let found = lookup_host((url.host.as_str(), url.port)).await.map_err(|_| Failure::Again)?;
        let all: Vec<SocketAddr> = found.collect();
        let allowed = url.may_be_private(&self.allowed) || all.iter().all(|address| is_public(address.ip()));
        all.first().copied().filter(|_| allowed).ok_or(Failure::Final)
    }

    /// The signature is of the time, a dot and the body, so that an old request cannot be sent again with a new time.
    fn request(&self, url: &Url, id: &str, body: &str) -> String {
        let time = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
        let key = hmac::Key::new(hmac::HMAC_SHA256, self.hook.secret.as_bytes());
        let signature = hex(hmac::sign(&key, format!("{time}.{body}").as_bytes()).as_ref());
        format!(
            "POST {} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\nUser-Agent: okl\r\n\
             Okl-Delivery: {id}\r\nOkl-Timestamp: {time}\r\nOkl-Signature: sha256={signature}\r\n\r\n{body}",
            url.path,
            url.authority,
            body.len()
        )
    }
}

/// Why there is no answer.
enum Failure {
    Again,
    Final,
}

async fn exchange(mut stream: impl AsyncRead + AsyncWrite + Unpin, request: &str) -> Result<u16, Failure> {
    stream.write_all(request.as_bytes()).await.map_err(|_| Failure::Again)?;
    stream.flush().await.map_err(|_| Failure::Again)?;
    // "HTTP/1.1 200"
    let mut line = [0; 12];
    stream.read_exact(&mut line).await.map_err(|_| Failure::Again)?;
    let text = std::str::from_utf8(&line).map_err(|_| Failure::Again)?;
    text.strip_prefix("HTTP/1.").and_then(|rest| rest.get(2..)?.parse().ok()).ok_or(Failure::Again)
}
