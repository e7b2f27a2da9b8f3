//! Accepting connections of HTTP/1.1: one task for each, all of them ended when the future is dropped.
//!
//! A client may be slow, or mean: it has so long to send its request and to take in a part of the answer, and there
//! are only so many connections at a time. The others wait in the system's queue; while there are many, those that
//! send no request have less time.

use std::convert::Infallible;
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

/// When no connection can be accepted (no file descriptor is left, say), this is waited.
const PAUSE: Duration = Duration::from_millis(100);

/// How much of a request's head or of an answer is held for a connection.
const BUFFER: usize = 32 << 10;

/// What a client may ask of a server's patience.
#[derive(Debug, Clone, Copy)]
pub struct ConnectionLimits {
    /// How many connections there are at a time.
    pub connections: usize,
    /// How long a request's head may take, and how long a connection may do without a request.
    pub head: Duration,
    /// The same while most of the connections are taken.
    pub crowded_head: Duration,
    /// How long a client may take in nothing of an answer.
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

/// Serves every connection with a handler.
pub async fn serve<H, F, B>(listener: TcpListener, limits: ConnectionLimits, handler: H)
where
    H: Fn(Request<Incoming>) -> F + Clone + Send + 'static,
    F: Future<Output = Response<B>> + Send + 'static,
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
            let service = hyper::service::service_fn(move |request| {
                let answer = handler(request);
                async move { Ok::<_, Infallible>(answer.await) }
            });
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

/// A connection that breaks when nothing of what is written is taken in for too long.
struct Unstalled {
    stream: TcpStream,
    patience: Duration,
    /// When patience ends; only looked at while something cannot be written.
    deadline: Pin<Box<Sleep>>,
    is_waiting: bool,
}

impl Unstalled {
    fn new(stream: TcpStream, patience: Duration) -> Self {
        let deadline = Box::pin(tokio::time::sleep(patience));
        Self { stream, patience, deadline, is_waiting: false }
    }

    /// Lets an outcome pass, and notes how long there was none.
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
