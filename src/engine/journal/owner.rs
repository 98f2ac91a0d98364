//! Whose a journal is. A lock of the operating system keeps other runs out; but some network file systems have none: there
//! the lines of the journal tell who writes it.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use super::{JournalError, MOST_BYTES, Result};
use crate::store::{Asker, Holding, Lock, Log, held, machine};

/// A run, by the process that it is a part of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LockOwner {
    host: String,
    /// Names the boot of that host, where its system has a name for it.
    pub(super) boot: Option<String>,
    process: u32,
    /// Names what processes are counted in on that host: a container has its own.
    namespace: Option<String>,
    /// When the process began, in the system's count since its boot: another process may have its number by now.
    begun: Option<u64>,
    /// Tells the runs of a process apart.
    run: u64,
}

impl fmt::Display for LockOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} on `{}`", self.process, self.host.escape_debug())
    }
}

impl LockOwner {
    fn of_run(run: u64) -> Self {
        let process = std::process::id();
        LockOwner {
            host: machine::host_name(),
            boot: machine::boot_id(),
            process,
            namespace: machine::process_namespace(),
            begun: machine::process_begun(process),
            run,
        }
    }

    /// True if its process is one of those that are seen here.
    fn is_here(&self) -> bool {
        self.host == machine::host_name()
            && self.boot == machine::boot_id()
            && self.namespace == machine::process_namespace()
    }

    /// True if it is known to go on. Of another machine, and of another boot of this one, nothing is known.
    fn is_alive(&self) -> bool {
        if !self.is_here() {
            return false;
        }
        let is_same = machine::is_running(self.process) && machine::process_begun(self.process) == self.begun;
        is_same && (self.process != std::process::id() || held(&RUNS).contains(&self.run))
    }
}

/// The runs of this process that have a journal.
static RUNS: Mutex<BTreeSet<u64>> = Mutex::new(BTreeSet::new());

/// The lock of a run of this process, until it is dropped.
#[derive(Debug)]
pub(super) struct OwnLock {
    pub(super) owner: LockOwner,
    /// True if it keeps others out: not where the store has no locks.
    pub(super) is_held: bool,
    /// Who had the journal before, where there is no lock.
    pub(super) before: Option<LockOwner>,
}

impl OwnLock {
    fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let run = NEXT.fetch_add(1, Ordering::Relaxed);
        held(&RUNS).insert(run);
        OwnLock { owner: LockOwner::of_run(run), is_held: true, before: None }
    }

    /// Locks a log that still stands at its path. Where the file system has no locks, it is free unless a process of this
    /// machine goes on which `last_owner` finds in its text.
    pub(super) fn take(log: &mut dyn Log, last_owner: impl Fn(&[u8]) -> Option<LockOwner>) -> Result<Self> {
        let mut own = Self::new();
        let note = serde_json::to_string(&own.owner).unwrap_or_default();
        let has_ended = |note: &str| owner(note).is_some_and(|owner| owner.is_here() && !owner.is_alive());
        match log.lock(&Asker { note: &note, has_ended: &has_ended })? {
            Lock::Held => Ok(own),
            Lock::Elsewhere(None) => Err(JournalError::Locked),
            Lock::Elsewhere(Some(holding)) => Err(JournalError::Held(held_by(&holding))),
            Lock::Unsupported => match last_owner(&log.read(MOST_BYTES)?) {
                Some(owner) if owner.is_alive() => Err(JournalError::Held(owner.to_string())),
                before => {
                    (own.is_held, own.before) = (false, before);
                    Ok(own)
                }
            },
        }
    }
}

impl Drop for OwnLock {
    fn drop(&mut self) {
        held(&RUNS).remove(&self.owner.run);
    }
}

fn owner(note: &str) -> Option<LockOwner> {
    serde_json::from_str(note).ok()
}

/// The holder of a lock, in words.
fn held_by(holding: &Holding) -> String {
    let owner = owner(&holding.note).map_or_else(|| "somebody".to_owned(), |owner| owner.to_string());
    let since = holding.age.map_or_else(String::new, |age| format!(", for {age} s"));
    let expires = holding.expires_after;
    format!("{owner}{since}; its lock expires {expires} s after the last sign of it")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owner_is_alive_while_its_run_lasts_on_this_host_and_boot() {
        let lock = OwnLock::new();
        let owner = lock.owner.clone();
        assert!(owner.is_alive());
        assert!(!LockOwner { host: "elsewhere".to_owned(), ..owner.clone() }.is_alive());
        assert!(!LockOwner { boot: Some("another".to_owned()), ..owner.clone() }.is_alive());
        assert!(!LockOwner { begun: Some(0), ..owner.clone() }.is_alive());
        drop(lock);
        assert!(!owner.is_alive());
    }

    #[test]
    fn owner_of_another_process_is_alive_until_that_ends() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let process = child.id();
        let begun = machine::process_begun(process);
        let owner = LockOwner { process, begun, ..OwnLock::new().owner.clone() };
        assert!(owner.is_alive());
        child.kill().unwrap();
        // Until its parent has asked how it ended the process is there, but runs no more.
        while machine::is_running(process) {
            std::thread::yield_now();
        }
        assert!(!owner.is_alive());
        child.wait().unwrap();
        assert!(!owner.is_alive());
    }
}
