//! Listening: connections, TLS, limits, and the end.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hyper::Request;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::Server;
use super::carried::Carried;
use super::route::{self, Action, Found};
use crate::background::{Background, Side};
use crate::tokens::Tokens;

/// How long open requests may take after the server was asked to stop.
const DRAIN: Duration = Duration::from_secs(20);

/// Certificate and key for encrypted connections.
#[derive(Clone)]
pub struct Tls(TlsAcceptor);

impl Tls {
    /// Reads a certificate chain and a private key, both PEM files.
    ///
    /// # Errors
    /// If a file cannot be read, or they do not belong together.
    pub fn load(certificate: &Path, key: &Path) -> Result<Tls, String> {
        let of = |path: &Path, e: &dyn std::fmt::Display| format!("{}: {e}", path.display());
        let chain: Result<Vec<CertificateDer<'static>>, _> =
            CertificateDer::pem_file_iter(certificate).map_err(|e| of(certificate, &e))?.collect();
        let chain = chain.map_err(|e| of(certificate, &e))?;
        let secret = PrivateKeyDer::from_pem_file(key).map_err(|e| of(key, &e))?;
        let config =
            ServerConfig::builder().with_no_client_auth().with_single_cert(chain, secret).map_err(|e| of(certificate, &e))?;
        Ok(Tls(TlsAcceptor::from(Arc::new(config))))
    }
}

/// A server that listens.
pub struct Listening {
    listener: TcpListener,
    server: Arc<Server>,
    tls: Option<Tls>,
    background: Arc<Background>,
}

impl Listening {
    /// Takes an address. Without tokens only loopback addresses are allowed.
    ///
    /// # Errors
    /// If the address cannot be used.
    pub async fn on(address: SocketAddr, mut server: Server, tls: Option<Tls>) -> io::Result<Listening> {
        if server.tokens.is_none() && !address.ip().is_loopback() {
            let text = "without a token file the server listens on a loopback address only, such as 127.0.0.1:7878; `okl token new` makes a token";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
        }
        server.encrypted = tls.is_some();
        let background = Arc::new(Background::start(Arc::clone(&server.registry.predictions))?);
        Ok(Listening { listener: TcpListener::bind(address).await?, server: Arc::new(server), tls, background })
    }

    /// The address, with the port that was chosen for port 0.
    ///
    /// # Errors
    /// Those of the system.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until `stop` ends. Then: no new connections, open requests are finished, streams of events end, every model writes a snapshot.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let (server, tls) = (self.server, self.tls);
        server.registry.start_hooks();
        let room = Arc::new(Semaphore::new(server.registry.options.most_connections));
        let ended = server.ending.subscribe();
        let mut stop = std::pin::pin!(stop);
        let mut clock = tokio::time::interval(Duration::from_secs(1));
        loop {
            let accepted = tokio::select! {
                () = &mut stop => break,
                _ = clock.tick() => {
                    server.registry.tick();
                    look_at_tokens(&server);
                    continue;
                }
                accepted = self.listener.accept() => accepted,
            };
            // An error of one connection, or too many open files: wait a little and go on.
            let Ok((stream, _)) = accepted else {
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            };
            // Without room the connection is closed.
            let Ok(place) = Arc::clone(&room).try_acquire_owned() else { continue };
            let (server, tls, ended, background) =
                (Arc::clone(&server), tls.clone(), ended.clone(), Arc::clone(&self.background));
            tokio::spawn(async move {
                connection(stream, server, tls, ended, &background).await;
                drop(place);
            });
        }
        drop((self.listener, ended));
        server.ending.send_replace(true);
        let all = u32::try_from(server.registry.options.most_connections).unwrap_or(u32::MAX);
        let _ = tokio::time::timeout(DRAIN, room.acquire_many(all)).await;
        server.registry.stop().await;
    }
}

/// Reads the token file again if it has changed, beside the requests.
fn look_at_tokens(server: &Arc<Server>) {
    let server = Arc::clone(server);
    tokio::task::spawn_blocking(move || {
        if let Some(message) = server.tokens.as_ref().and_then(Tokens::look) {
            crate::log::line("tokens", &serde_json::json!({ "message": message }));
        }
    });
}

async fn connection(
    stream: TcpStream,
    server: Arc<Server>,
    tls: Option<Tls>,
    ended: watch::Receiver<bool>,
    background: &Background,
) {
    let _ = stream.set_nodelay(true);
    let side = Arc::new(Side::default());
    let stream = Carried::new(stream, Arc::clone(&side));
    match tls {
        None => background.serve(&side, http(stream, server, ended, Arc::clone(&side))).await,
        Some(Tls(acceptor)) => {
            let time = server.registry.options.header_time;
            if let Ok(Ok(stream)) = tokio::time::timeout(time, acceptor.accept(stream)).await {
                background.serve(&side, http(stream, server, ended, Arc::clone(&side))).await;
            }
        }
    }
}

/// Whether a request is one of those that give way to predictions.
fn learns<T>(request: &Request<T>) -> bool {
    let found = route::find(request.method(), request.uri().path());
    matches!(found, Found::Route(route, _) if matches!(route.action, Action::Learn | Action::Label))
}

async fn http(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    server: Arc<Server>,
    mut ended: watch::Receiver<bool>,
    side: Arc<Side>,
) {
    let time = server.registry.options.header_time;
    let service = service_fn(move |request| {
        let (server, side) = (Arc::clone(&server), Arc::clone(&side));
        async move {
            side.change(learns(&request)).await;
            Ok::<_, Infallible>(server.answer(request).await)
        }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(time).max_buf_size(64 << 10);
    let mut connection = std::pin::pin!(builder.serve_connection(TokioIo::new(stream), service));
    tokio::select! {
        _ = connection.as_mut() => return,
        _ = ended.wait_for(|ended| *ended) => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}
