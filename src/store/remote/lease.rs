//! Whether a lock is known to be this process's: as long as it is not, nothing is changed of what the lock guards.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// So long after its last renewal a lock is taken for this process's. A request that begins then ends before others may take
/// the lock over.
const KNOWN_FOR: Duration = Duration::from_secs(20);

pub(super) const LOST: &str =
    "another run has taken this lock over, since this one gave no sign for too long, or it was removed";
pub(super) const LOST_HELP: &str = "see which runs write there; one goes on with what is done by `--resume`, a part of a job by `--partition` again";

/// What is known of a lock that this process has asked for.
#[derive(Debug)]
pub(super) struct Lease {
    renewed: Mutex<Moment>,
    is_lost: AtomicBool,
}

/// A time by both clocks: one of them stands still while the machine sleeps, the other one can be set.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment(Instant, SystemTime);

impl Moment {
    pub(super) fn now() -> Self {
        Moment(Instant::now(), SystemTime::now())
    }

    fn elapsed(self) -> Duration {
        self.0.elapsed().max(self.1.elapsed().unwrap_or_default())
    }
}

impl Lease {
    pub(super) fn new() -> Self {
        Lease { renewed: Mutex::new(Moment::now()), is_lost: AtomicBool::new(false) }
    }

    /// The lock was this process's when a request that has succeeded began.
    pub(super) fn renewed(&self, at: Moment) {
        *self.renewed.lock().unwrap_or_else(PoisonError::into_inner) = at;
    }

    /// The lock is another's, or was given up.
    pub(super) fn lose(&self) {
        self.is_lost.store(true, Ordering::Release);
    }

    pub(super) fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Acquire)
    }

    /// Whether nothing has to be found out before something is changed.
    pub(super) fn is_known(&self) -> bool {
        self.is_lost() || self.renewed.lock().unwrap_or_else(PoisonError::into_inner).elapsed() < KNOWN_FOR
    }
}
