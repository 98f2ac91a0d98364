//! Who writes a journal, as its lines tell it. A lock of the operating system says so better; but some network file
//! systems have none.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use super::held;
use crate::store::machine;

/// A run, by the process that it is a part of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Holder {
    host: String,
    /// Names the boot of that host, where its system has a name for it.
    boot: Option<String>,
    process: u32,
    /// Names what processes are counted in on that host: a container has its own.
    #[serde(default)]
    namespace: Option<String>,
    /// When the process began, in the system's count since its boot: another process may have its number by now.
    begun: Option<u64>,
    /// Tells the runs of a process apart.
    run: u64,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} on `{}`", self.process, self.host.escape_debug())
    }
}

/// The runs of this process that have a journal.
static RUNS: Mutex<BTreeSet<u64>> = Mutex::new(BTreeSet::new());

/// A run of this process has a journal, until this is dropped.
#[derive(Debug)]
pub(super) struct Hold {
    run: u64,
}

impl Hold {
    pub(super) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let run = NEXT.fetch_add(1, Ordering::Relaxed);
        held(&RUNS).insert(run);
        Hold { run }
    }

    /// What others are told of it.
    pub(super) fn holder(&self) -> Holder {
        let process = std::process::id();
        let begun = machine::process_begun(process);
        Holder {
            host: machine::host_name(),
            boot: machine::boot_id(),
            process,
            namespace: machine::process_namespace(),
            begun,
            run: self.run,
        }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        held(&RUNS).remove(&self.run);
    }
}

impl Holder {
    /// Whether its process is one of those that are seen here.
    fn is_here(&self) -> bool {
        self.host == machine::host_name()
            && self.boot == machine::boot_id()
            && self.namespace == machine::process_namespace()
    }

    /// Whether it is known to have ended.
    pub(super) fn has_ended(&self) -> bool {
        self.is_here() && !self.is_alive()
    }

    /// Whether it is known to go on. Of another machine, and of another boot of this one, nothing is known.
    pub(super) fn is_alive(&self) -> bool {
        if !self.is_here() {
            return false;
        }
        let is_same = machine::is_running(self.process) && machine::process_begun(self.process) == self.begun;
        is_same && (self.process != std::process::id() || held(&RUNS).contains(&self.run))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holder_is_alive_while_its_run_lasts_on_this_host_and_boot() {
        let hold = Hold::new();
        let holder = hold.holder();
        assert!(holder.is_alive());
        assert!(!Holder { host: "elsewhere".to_owned(), ..holder.clone() }.is_alive());
        assert!(!Holder { boot: Some("another".to_owned()), ..holder.clone() }.is_alive());
        assert!(!Holder { begun: Some(0), ..holder.clone() }.is_alive());
        drop(hold);
        assert!(!holder.is_alive());
    }

    #[test]
    fn holder_of_another_process_is_alive_until_that_ends() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let process = child.id();
        let begun = machine::process_begun(process);
        let holder = Holder { process, begun, ..Hold::new().holder() };
        assert!(holder.is_alive());
        child.kill().unwrap();
        // Until its parent has asked how it ended the process is there, but runs no more.
        while machine::is_running(process) {
            std::thread::yield_now();
        }
        assert!(!holder.is_alive());
        child.wait().unwrap();
        assert!(!holder.is_alive());
    }
}
