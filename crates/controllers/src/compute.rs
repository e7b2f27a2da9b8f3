//! Where work that takes the processor for long is done.

/// On another thread in a server; right here in a simulation, which has only one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compute {
    /// On the runtime's threads for blocking work.
    Threads,
    /// Where it is asked for.
    Inline,
}

impl Compute {
    /// Does the work. When the future is dropped the work still ends, and its result is lost.
    pub async fn run<T: Send + 'static>(self, work: impl FnOnce() -> T + Send + 'static) -> T {
        match self {
            Self::Inline => work(),
            Self::Threads => match tokio::task::spawn_blocking(work).await {
                Ok(result) => result,
                // A panic belongs to the pass that asked; work is never cancelled.
                Err(error) => std::panic::resume_unwind(error.into_panic()),
            },
        }
    }
}
