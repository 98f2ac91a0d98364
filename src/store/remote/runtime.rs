//! The one runtime of all that is asynchronous. It is made when the first remote store is used.

use std::io;
use std::sync::OnceLock;

use tokio::runtime::{Builder, Runtime};

/// Threads that attend to connections; what blocks or computes happens on the threads of whoever asks.
const THREADS: usize = 2;

/// The runtime; an error where the system gives no threads.
pub(super) fn runtime() -> Result<&'static Runtime, io::Error> {
    static RUNTIME: OnceLock<Result<Runtime, io::Error>> = OnceLock::new();
    let made = RUNTIME.get_or_init(|| {
        Builder::new_multi_thread().worker_threads(THREADS).thread_name("requests").enable_all().build()
    });
    made.as_ref().map_err(|error| io::Error::new(error.kind(), error.to_string()))
}
