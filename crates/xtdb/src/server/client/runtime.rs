//! The client's one thread for network I/O, while callers wait on their own threads. Must not know
//! what is sent.

use std::future::Future;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

/// The thread's name, as `ps -L` shows it (15 characters fit).
const NAME: &str = "palimpsest-xtdb";
/// How long the thread that resolves host names is kept.
const RESOLVER_IDLE: Duration = Duration::from_secs(5);

/// A running thread; ends it when dropped.
pub(super) struct Runtime {
    handle: Handle,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Runtime {
    /// Starts the thread.
    pub(super) fn start() -> std::io::Result<Self> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .thread_name(NAME)
            .max_blocking_threads(2)
            .thread_keep_alive(RESOLVER_IDLE)
            .build()?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = thread::Builder::new().name(NAME.to_owned()).spawn(move || {
            // Ends when `stop` is dropped.
            let _ = runtime.block_on(stopped);
            // Does not wait for a resolver that hangs.
            runtime.shutdown_background();
        })?;
        Ok(Self { handle, stop: Some(stop), thread: Some(thread) })
    }

    /// Runs `future` to completion, blocking the caller.
    pub(super) fn wait<F: Future>(&self, future: F) -> F::Output {
        self.handle.block_on(future)
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            // The thread does not panic; if it did, that must not cause a second panic here.
            let _ = thread.join();
        }
    }
}
