//! The one runtime of all that is asynchronous. It is made when the first remote store is used.

use std::io;
use std::panic::catch_unwind;
use std::sync::OnceLock;

use tokio::runtime::{Builder, Runtime};

/// Threads that attend to connections; what blocks or computes happens on the threads of whoever asks.
const THREADS: usize = 2;

/// The runtime; an error where the system gives no threads.
pub(super) fn runtime() -> Result<&'static Runtime, io::Error> {
    static RUNTIME: OnceLock<Result<Runtime, io::Error>> = OnceLock::new();
    let made = RUNTIME.get_or_init(|| {
        let build = || Builder::new_multi_thread().worker_threads(THREADS).thread_name("requests").enable_all().build();
        // tokio panics where the system does not give it a thread.
        let refused = |_| io::Error::other("no memory or no threads for requests: raise the limits of the process");
        catch_unwind(build).unwrap_or_else(|panic| Err(refused(panic)))
    });
    made.as_ref().map_err(|error| io::Error::new(error.kind(), error.to_string()))
}
