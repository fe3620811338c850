//! The client's one thread, on which its network I/O happens, while callers wait on their own. Must not know what is sent.

use std::future::Future;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

/// The thread's name, as `ps -L` shows it (15 characters fit).
const NAME: &str = "palimpsest-xtdb";
/// How long the thread that resolves a host's name is kept.
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
            // A resolver that hangs is not waited for.
            runtime.shutdown_background();
        })?;
        Ok(Self { handle, stop: Some(stop), thread: Some(thread) })
    }

    /// Works on `future` until it is done, and blocks the caller meanwhile.
    pub(super) fn wait<F: Future>(&self, future: F) -> F::Output {
        self.handle.block_on(future)
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            // It panics nowhere; a panic must not become a second one here.
            let _ = thread.join();
        }
    }
}
