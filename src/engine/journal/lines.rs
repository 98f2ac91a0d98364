//! Lines of a journal: runs, finished units with their counts, and checkpoints. Also reads the state of a plan and of a
//! pass from them, and finds the owner of a journal. A lock of the operating system excludes other runs. Some network
//! file systems have no locks, and then the lines identify the writer.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write as _};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{FinishedUnits, JournalError, MOST_BYTES, Result, SCHEMA};
use crate::array::{ChunkSet, Fault};
use crate::engine::{Journal, ObjectReport};
use crate::store::{LOCK_EXPIRES_AFTER, Lock, LockRequest, Log, StoreError, held, machine};

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Line {
    /// Start of a run, to which the following lines belong. Each journal begins with such a line.
    Run { schema: String, fingerprint: Fingerprint, owner: LockOwner },
    /// Finished units of a pass over an array, and their counts.
    Done {
        pass: String,
        units: ChunkSet,
        counted: ObjectReport,
        /// If set, earlier lines of the pass do not count.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        anew: bool,
    },
    /// All earlier lines are durable.
    Checkpoint,
}

/// State that the runs of a plan have left.
#[derive(Debug, Default)]
pub struct PreviousRuns {
    /// Finished units and their counts, by the names of the passes.
    pub(super) known: BTreeMap<String, (ChunkSet, ObjectReport)>,
    /// Length of the valid lines in bytes.
    pub(super) length: u64,
    /// True if an earlier run was recorded. It may not have prepared its destination.
    pub is_noted: bool,
    /// True if an earlier run had prepared its destination. This run then continues it.
    pub is_begun: bool,
}

impl PreviousRuns {
    /// Reads the valid part of a journal: lines of the current boot, and lines before a checkpoint. It is empty if no
    /// run had begun.
    pub(super) fn read(text: &[u8], fingerprint: &Fingerprint) -> Result<Self> {
        let first = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let is_torn = serde_json::from_slice::<serde::de::IgnoredAny>(first).is_err();
        let begun = match lines(text).next() {
            Some((Line::Run { schema, fingerprint, .. }, _)) if schema == SCHEMA => fingerprint,
            Some((Line::Done { .. } | Line::Checkpoint, _)) => return Ok(PreviousRuns::default()),
            // The process died during the first append of a journal, so no run has begun.
            None if is_torn => return Ok(PreviousRuns::default()),
            _ => {
                let differences = vec!["the form of the journal".to_owned()];
                return Err(JournalError::OtherPlan { differences });
            }
        };
        let differences = fingerprint.differences(&begun);
        if !differences.is_empty() {
            return Err(JournalError::OtherPlan { differences });
        }
        let now = machine::boot_id();
        let mut left = PreviousRuns { is_noted: true, ..PreviousRuns::default() };
        let mut passes: BTreeMap<String, FinishedUnits> = BTreeMap::new();
        let (mut pending, mut is_same_boot) = (Vec::new(), false);
        for (line, end) in lines(text) {
            if let Line::Run { owner, .. } = &line {
                is_same_boot = now.is_some() && owner.boot == now;
            }
            let is_durable = matches!(line, Line::Checkpoint);
            pending.push(line);
            if !is_same_boot && !is_durable {
                continue;
            }
            left.length = end;
            for line in pending.drain(..) {
                match line {
                    Line::Run { .. } => {}
                    Line::Checkpoint => left.is_begun = true,
                    Line::Done { pass, anew: true, .. } => drop(passes.remove(&pass)),
                    Line::Done { pass, units, counted, .. } => {
                        let (all, report) = passes.entry(pass).or_default();
                        all.insert_all(&units);
                        *report += counted;
                    }
                }
            }
        }
        left.known = passes.into_iter().map(|(pass, (units, report))| (pass, (units.finish(), report))).collect();
        Ok(left)
    }
}

pub(super) fn to_line(line: &Line) -> String {
    let mut text = serde_json::to_string(line).unwrap_or_default();
    text.push('\n');
    text
}

/// Returns the owner of the last run in a journal.
fn last_owner(text: &[u8]) -> Option<LockOwner> {
    let owner = |(line, _)| if let Line::Run { owner, .. } = line { Some(owner) } else { None };
    lines(text).filter_map(owner).last()
}

/// Returns the whole lines, each with the length of the text up to its end. Stops at an incomplete or invalid line.
fn lines(text: &[u8]) -> impl Iterator<Item = (Line, u64)> + '_ {
    let mut offset = 0;
    std::iter::from_fn(move || {
        let length = text[offset..].iter().position(|byte| *byte == b'\n')?;
        let line = serde_json::from_slice(&text[offset..offset + length]).ok()?;
        offset += length + 1;
        Some((line, offset as u64))
    })
}

/// Identity of a plan: named parts with their digests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fingerprint {
    /// Version of the program. Another version may write other bytes.
    program: String,
    /// Digests by the names of the parts.
    plan: BTreeMap<String, String>,
}

impl Fingerprint {
    /// Computes the fingerprint of a plan from the texts of its parts. Each text may consist of several pieces.
    pub fn new<'a>(parts: impl IntoIterator<Item = (&'a str, Vec<&'a [u8]>)>) -> Self {
        let plan = parts.into_iter().map(|(name, text)| (name.to_owned(), digest(text))).collect();
        Fingerprint { program: env!("CARGO_PKG_VERSION").to_owned(), plan }
    }

    /// Returns the names of the parts that differ from another plan.
    pub(super) fn differences(&self, other: &Fingerprint) -> Vec<String> {
        let differs = |(name, digest): &(&String, &String)| other.plan.get(*name) != Some(digest);
        let mut names: Vec<String> = self.plan.iter().filter(differs).map(|(name, _)| name.clone()).collect();
        if self.program != other.program {
            names.push(format!("the version of zarrcast ({} then)", other.program));
        }
        names
    }
}

/// Returns the digest of a text in pieces, in hexadecimal.
pub fn digest<'a>(text: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut digest = Sha256::new();
    for piece in text {
        // The length of each piece makes the boundaries part of the digest.
        digest.update((piece.len() as u64).to_le_bytes());
        digest.update(piece);
    }
    digest.finalize().iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// State of a pass over an array: finished units and remaining units.
pub struct PassProgress<'a> {
    pub(super) journal: &'a Journal,
    pub(super) name: Arc<str>,
    /// Units that an earlier run has finished.
    pub done: ChunkSet,
    /// Counts of earlier runs.
    pub before: ObjectReport,
    /// Units of this run, if other runs have the rest. `None` means all units.
    pub assigned: Option<ChunkSet>,
    /// True if its units were already counted. They are not recorded again.
    pub(super) is_again: bool,
}

impl<'a> PassProgress<'a> {
    /// Returns another pass over the same array, by name.
    #[must_use]
    pub fn other(&self, name: &str) -> PassProgress<'a> {
        self.journal.pass(&name_of_pass(&self.name, name))
    }

    /// Restarts the pass. What earlier runs have recorded of it does not count any more.
    pub fn anew(self) -> Result<PassProgress<'a>, Fault> {
        let (pass, counted) = (self.name.to_string(), ObjectReport::default());
        let line = Line::Done { pass, units: ChunkSet::default(), counted, anew: true };
        self.journal.writer().append(&to_line(&line))?;
        held(&self.journal.counts).noted.remove(&*self.name);
        Ok(PassProgress { done: ChunkSet::default(), before: ObjectReport::default(), ..self })
    }

    /// Returns the pass with finished units that must be repeated, without another record.
    #[must_use]
    pub fn again(self, units: ChunkSet) -> PassProgress<'a> {
        let (done, before) = (ChunkSet::default(), ObjectReport::default());
        PassProgress { done, before, assigned: Some(units), is_again: true, ..self }
    }

    /// Returns true if a unit needs no work. An earlier run has finished it, or it belongs to another run.
    pub fn is_done(&self, unit: u64) -> bool {
        self.done.contains(unit) || self.assigned.as_ref().is_some_and(|assigned| !assigned.contains(unit))
    }

    /// Returns the units that belong to this run, finished or not.
    #[must_use]
    pub fn left(&self, units: ChunkSet) -> ChunkSet {
        if let Some(assigned) = &self.assigned { units.common(assigned) } else { units }
    }

    /// Does a unit unless it is finished, and records it.
    pub fn do_once(&self, unit: u64, run: impl FnOnce() -> Result<ObjectReport, Fault>) -> Result<ObjectReport, Fault> {
        if self.is_done(unit) {
            return Ok(ObjectReport::default());
        }
        // Checked before the work: a run that has lost its lock must not write any more.
        self.journal.due_writer().map_err(fault)?;
        let first_write = self.journal.data.next_write();
        let report = run()?;
        self.finished_since(first_write, unit..unit + 1, &report)?;
        Ok(report)
    }

    /// Records units whose objects are written, and their counts.
    pub fn finished(&self, units: Range<u64>, report: &ObjectReport) -> Result<(), Fault> {
        // The first write of a group of units is not known, so all writes up to now must be complete.
        self.finished_since(0, units, report)
    }

    /// Like `finished`, for units whose objects were written since a certain write of the store.
    fn finished_since(&self, write: u64, units: Range<u64>, report: &ObjectReport) -> Result<(), Fault> {
        if self.is_again { Ok(()) } else { self.journal.note(&self.name, units, report, write).map_err(fault) }
    }
}

fn fault(error: JournalError) -> Fault {
    match error {
        JournalError::Store(error) => Fault::Store(error),
        lost @ JournalError::Lost => {
            let (object, source) = ("the run".to_owned(), std::io::Error::other(lost));
            Fault::Store(StoreError::Io { action: "go on with", object, source })
        }
        other => Fault::Other(other.to_string()),
    }
}

/// Returns the name of another pass over the same array.
pub fn name_of_pass(name: &str, pass: &str) -> String {
    format!("{name} {pass}")
}

/// Run, identified by its process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockOwner {
    host: String,
    /// Boot of the host, if the system has an identifier.
    pub(super) boot: Option<String>,
    process: u32,
    /// Namespace of process ids. A container has its own.
    namespace: Option<String>,
    /// Start time of the process in ticks since the boot. Another process may have the same id later.
    begun: Option<u64>,
    /// Number of the run within the process.
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
        let (host, boot) = (machine::host_name(), machine::boot_id());
        let (namespace, begun) = (machine::process_namespace(), machine::process_begun(process));
        LockOwner { host, boot, process, namespace, begun, run }
    }

    /// Returns true if its process is visible here: same machine, boot and namespace.
    fn is_here(&self) -> bool {
        self.host == machine::host_name()
            && self.boot == machine::boot_id()
            && self.namespace == machine::process_namespace()
    }

    /// Returns true if it is certainly running. Nothing is known of another machine or of an earlier boot.
    fn is_alive(&self) -> bool {
        if !self.is_here() {
            return false;
        }
        let is_same = machine::is_running(self.process) && machine::process_begun(self.process) == self.begun;
        // A process may outlive its runs, so those of this process are known one by one.
        is_same && (self.process != std::process::id() || held(&RUNS).contains(&self.run))
    }
}

/// Runs of this process that have a journal.
static RUNS: Mutex<BTreeSet<u64>> = Mutex::new(BTreeSet::new());

/// Lock of a run of this process until it is dropped.
pub struct OwnLock {
    pub(super) owner: LockOwner,
    /// True if it excludes others. If the store has no locks, nothing excludes runs on other machines.
    pub is_held: bool,
    /// Previous writer, if there are no locks. It may still be running.
    pub before: Option<LockOwner>,
}

impl OwnLock {
    fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let run = NEXT.fetch_add(1, Ordering::Relaxed);
        held(&RUNS).insert(run);
        OwnLock { owner: LockOwner::of_run(run), is_held: true, before: None }
    }

    /// Locks an open log. Without locks in the file system, fails only if the last owner is a running process on this
    /// machine.
    pub(super) fn take(log: &mut dyn Log) -> Result<Self> {
        let mut own = Self::new();
        let note = serde_json::to_string(&own.owner).unwrap_or_default();
        let has_ended = |note: &str| owner(note).is_some_and(|owner| owner.is_here() && !owner.is_alive());
        match log.lock(&LockRequest { note: &note, has_ended: &has_ended })? {
            Lock::Held => Ok(own),
            Lock::Elsewhere(note) => Err(JournalError::Held(note.as_deref().map(held_by))),
            Lock::Unsupported => match last_owner(&log.read(MOST_BYTES)?) {
                Some(owner) if owner.is_alive() => Err(JournalError::Held(Some(owner.to_string()))),
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

/// Describes the owner of a lock for a message.
fn held_by(note: &str) -> String {
    let owner = owner(note).map_or_else(|| "somebody".to_owned(), |owner| owner.to_string());
    format!("{owner}; its lock expires {LOCK_EXPIRES_AFTER} s after the last sign of it")
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
        // Until its parent waits for it, an ended process exists as a zombie.
        while machine::is_running(process) {
            std::thread::yield_now();
        }
        assert!(!owner.is_alive());
        child.wait().unwrap();
        assert!(!owner.is_alive());
    }
}
