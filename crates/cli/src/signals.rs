//! SIGINT and SIGTERM: the first one requests an orderly shutdown, the second one ends at once.

/// The termination signals. While this exists, they do not end the process by themselves.
pub(crate) struct Signals {
    #[cfg(unix)]
    streams: Vec<tokio::signal::unix::Signal>,
}

impl Signals {
    /// Listens from here on.
    pub(crate) fn listen() -> Self {
        Self {
            #[cfg(unix)]
            streams: {
                use tokio::signal::unix::{SignalKind, signal};
                let kinds = [SignalKind::interrupt(), SignalKind::terminate()];
                kinds.into_iter().filter_map(|kind| signal(kind).ok()).collect()
            },
        }
    }

    /// Waits for the next one. None is lost between two calls, but two of the same kind before a call count as one.
    pub(crate) async fn next(&mut self) {
        #[cfg(unix)]
        {
            let all = self.streams.iter_mut().map(|stream| Box::pin(stream.recv()));
            let all: Vec<_> = all.collect();
            if all.is_empty() {
                return std::future::pending().await;
            }
            futures::future::select_all(all).await;
        }
        #[cfg(not(unix))]
        let _ = tokio::signal::ctrl_c().await;
    }
}
