//! What keeps other runs from a journal.

use super::JournalError;
use super::holder::{Hold, Holder};
use super::line::last_holder;
use crate::store::{Asker, Holding, Lock, Log};

/// What keeps other runs from a journal.
#[derive(Debug)]
pub(super) struct Guard {
    pub(super) is_locked: bool,
    /// Who has it or had it before, where there is no lock.
    pub(super) before: Option<Holder>,
    pub(super) hold: Hold,
}

/// Locks a log that still stands at its path. Where the file system has no locks, it is free unless a process of this
/// machine that it names goes on.
pub(super) fn lock(log: &mut dyn Log) -> Result<Guard, JournalError> {
    let hold = Hold::new();
    let note = serde_json::to_string(&hold.holder()).unwrap_or_default();
    let holder = |note: &str| serde_json::from_str::<Holder>(note).ok();
    let has_ended = |note: &str| holder(note).is_some_and(|holder| holder.has_ended());
    let guard = |is_locked, before| Guard { is_locked, before, hold };
    match log.lock(&Asker { note: &note, has_ended: &has_ended })? {
        // Removed meanwhile: the run that had it has just ended.
        Lock::Held if !log.is_in_place() => Err(JournalError::Locked),
        Lock::Held => Ok(guard(true, None)),
        Lock::Elsewhere(None) => Err(JournalError::Locked),
        Lock::Elsewhere(Some(holding)) => Err(JournalError::Held(held_by(&holding))),
        Lock::Unsupported => match last_holder(&log.read(super::MOST_BYTES)?) {
            Some(holder) if holder.is_alive() => Err(JournalError::Held(holder.to_string())),
            before => Ok(guard(false, before)),
        },
    }
}

/// Whose a lock is, in words.
fn held_by(holding: &Holding) -> String {
    let holder = serde_json::from_str::<Holder>(&holding.note).ok();
    let holder = holder.map_or_else(|| "somebody".to_owned(), |holder| holder.to_string());
    let since = holding.age.map_or_else(String::new, |age| format!(", for {age} s"));
    let expires = holding.expires_after;
    format!("{holder}{since}; its lock expires {expires} s after the last sign of it")
}
