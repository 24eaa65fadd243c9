//! The stream of a connection that moves between the threads of the runtime and those in the background.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::background::Side;

/// A stream whose events go to the threads that serve its connection. A stream of tokio belongs to the runtime in which it was made: without
/// this, the threads that predict would be woken for every packet of a connection that learns.
pub struct Carried {
    /// None only after the system has failed to hand the stream over.
    stream: Option<TcpStream>,
    /// The side to which its events go.
    registered: bool,
    side: Arc<Side>,
}

impl Carried {
    /// A stream that was accepted on the threads of the runtime.
    pub fn new(stream: TcpStream, side: Arc<Side>) -> Self {
        Carried { stream: Some(stream), registered: false, side }
    }

    fn here(&mut self) -> io::Result<Pin<&mut TcpStream>> {
        let now = self.side.is_background();
        if self.registered != now
            && let Some(stream) = self.stream.take()
        {
            self.stream = Some(TcpStream::from_std(stream.into_std()?)?);
            self.registered = now;
        }
        self.stream.as_mut().map(Pin::new).ok_or_else(|| io::ErrorKind::NotConnected.into())
    }
}

impl AsyncRead for Carried {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, to: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.here()?.poll_read(context, to)
    }
}

impl AsyncWrite for Carried {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        self.here()?.poll_write(context, from)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        from: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.here()?.poll_write_vectored(context, from)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.as_ref().is_some_and(AsyncWrite::is_write_vectored)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.here()?.poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.here()?.poll_shutdown(context)
    }
}
