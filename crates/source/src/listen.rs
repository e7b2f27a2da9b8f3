//! Accepts HTTP/1.1 connections: a task for each, all of them cancelled when the future is dropped.
//!
//! Slow and hostile clients are bounded: timeouts for the request head and for reading the response, and a limit
//! on connections. Further ones wait in the system's queue; while most slots are taken, connections without a
//! request have a shorter timeout.

use std::error::Error;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Instant, Sleep};

/// The pause after a failed accept (when no file descriptor is left, for example).
const PAUSE: Duration = Duration::from_millis(100);

/// The buffer for a request's head or a response, per connection.
const BUFFER: usize = 32 << 10;

/// The limits of a server's connections.
#[derive(Debug, Clone, Copy)]
pub struct ConnectionLimits {
    /// The maximum number of connections.
    pub connections: usize,
    /// Timeout of a request's head, and of an idle connection.
    pub head: Duration,
    /// The same while most connections are taken.
    pub crowded_head: Duration,
    /// Timeout of a client that reads nothing of a response.
    pub stall: Duration,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self {
            connections: 256,
            head: Duration::from_secs(10),
            crowded_head: Duration::from_secs(1),
            stall: Duration::from_secs(30),
        }
    }
}

/// Serves every connection with a handler. Where it gives an error, the connection is closed without an answer.
pub async fn serve<H, F, B, E>(listener: TcpListener, limits: ConnectionLimits, handler: H)
where
    H: Fn(Request<Incoming>) -> F + Clone + Send + 'static,
    F: Future<Output = Result<Response<B>, E>> + Send + 'static,
    E: Into<Box<dyn Error + Send + Sync>> + Send + 'static,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let slots = Arc::new(Semaphore::new(limits.connections));
    let mut connections = JoinSet::new();
    loop {
        // The semaphore is never closed.
        let Ok(slot) = Arc::clone(&slots).acquire_owned().await else { return };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "a connection was not accepted");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        while connections.try_join_next().is_some() {}
        let is_crowded = slots.available_permits() < limits.connections / 4;
        let head = if is_crowded { limits.crowded_head } else { limits.head };
        let handler = handler.clone();
        connections.spawn(async move {
            let service = hyper::service::service_fn(handler);
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(head)
                .max_buf_size(BUFFER)
                .serve_connection(TokioIo::new(Unstalled::new(stream, limits.stall)), service)
                .await;
            if let Err(error) = connection {
                tracing::debug!(%error, "a connection ended early");
            }
            drop(slot);
        });
    }
}

/// A connection that fails when the peer accepts no data for too long.
struct Unstalled {
    stream: TcpStream,
    patience: Duration,
    /// The deadline; only checked while a write is blocked.
    deadline: Pin<Box<Sleep>>,
    is_waiting: bool,
}

impl Unstalled {
    fn new(stream: TcpStream, patience: Duration) -> Self {
        let deadline = Box::pin(tokio::time::sleep(patience));
        Self { stream, patience, deadline, is_waiting: false }
    }

    /// Passes a result on, and starts or stops the deadline.
    fn judge<T>(
        &mut self,
        context: &mut Context<'_>,
        outcome: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if outcome.is_ready() {
            self.is_waiting = false;
            return outcome;
        }
        if !self.is_waiting {
            self.is_waiting = true;
            self.deadline.as_mut().reset(Instant::now() + self.patience);
        }
        match self.deadline.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl AsyncRead for Unstalled {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Unstalled {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.judge(context, outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.judge(context, outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
