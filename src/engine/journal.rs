//! Journal of a run in its destination. Another run of the same plan can continue from it.
//!
//! The journal is a file of JSON lines. It contains runs with their plans, ranges of finished units with their counts,
//! and checkpoints. The first checkpoint of a run shows that its destination is ready: the previous contents are
//! removed.
//!
//! A unit is recorded once its objects are written. A process that dies loses none of them, as the system still has the
//! bytes. A machine that dies may lose some. So after a reboot only lines before a checkpoint are valid, as each
//! checkpoint follows a sync. An incomplete line and all lines after it are ignored.

mod lines;

use std::collections::BTreeMap;
use std::mem::take;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use super::ObjectReport;
use crate::array::{ChunkSet, ChunkSetBuilder};
use crate::store::{JOURNAL, Log, Node, StoreError, held};
use lines::{Line, OwnLock, PreviousRuns, to_line};

pub use lines::{Fingerprint, PassProgress, digest, name_of_pass};

const SCHEMA: &str = "zarrcast.journal/5";

/// Longest time that finished units wait for a line.
const LINE_AFTER: Duration = Duration::from_secs(1);
/// The destination is synced after this number of bytes or this time.
const CHECKPOINT_BYTES: u64 = 64 << 30;
const CHECKPOINT_AFTER: Duration = Duration::from_mins(10);
/// Largest journal that is read, in bytes. No real run writes more.
const MOST_BYTES: u64 = 4 << 30;

/// The result of a call to a journal.
pub type Result<T, E = JournalError> = std::result::Result<T, E>;

/// A journal could not be opened or continued.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Another process has the lock, or has recorded itself if the file system has no locks.
    #[error("another run is writing there{}", .0.as_ref().map_or_else(String::new, |owner| format!(": {owner}")))]
    Held(Option<String>),
    /// The journal was removed or belongs to another run.
    #[error("the journal of this run was removed, or another run replaced it")]
    Lost,
    /// The journal belongs to another plan.
    #[error("what differs: {}", .differences.join(", "))]
    OtherPlan {
        /// Names of the parts that differ.
        differences: Vec<String>,
    },
}

/// Units of a run by the names of the passes. Other runs do the rest.
pub type Assignment = BTreeMap<String, ChunkSet>;

/// Finished units that are being collected, and their counts.
type FinishedUnits = (ChunkSetBuilder, ObjectReport);

/// Counts of this run and earlier runs.
#[derive(Debug, Default)]
struct Counts {
    /// Units that have no line yet, by their passes and the numbers of the writes that must be complete before. Local
    /// stores do not number their writes, so all units of a pass are in one entry.
    waiting: BTreeMap<(Arc<str>, (u64, u64)), FinishedUnits>,
    /// Counts of the units with a line, by the names of the passes.
    noted: BTreeMap<String, ObjectReport>,
}

struct Writer {
    log: Box<dyn Log>,
    /// Length of the whole lines in bytes. `None` means that the log cannot be written any more.
    length: Option<u64>,
    last_line: Instant,
    last_checkpoint: Instant,
    /// Number of bytes that were written up to the last checkpoint.
    bytes_at_checkpoint: u64,
}

impl Writer {
    /// Appends whole lines, or nothing.
    fn append(&mut self, lines: &str) -> Result<(), StoreError> {
        let Some(length) = self.length else { return Ok(()) };
        if let Err(error) = self.log.append(lines.as_bytes()) {
            // An incomplete line would hide the lines after it.
            self.length = self.log.cut(length).ok().map(|()| length);
            return Err(error);
        }
        self.length = Some(length + lines.len() as u64);
        Ok(())
    }
}

/// Journal of a run.
pub struct Journal {
    /// Data whose state is recorded.
    data: Node,
    /// Units of this run. `None` means all units.
    pub assigned: Option<Assignment>,
    /// Lock of this run.
    pub lock: OwnLock,
    fingerprint: Fingerprint,
    /// State that earlier runs have left.
    pub left: PreviousRuns,
    counts: Mutex<Counts>,
    writer: Mutex<Writer>,
}

impl Journal {
    /// Fails if another process has locked the journal in the folder of a run.
    pub fn check_free(run: &Node) -> Result<()> {
        match run.kind_of(JOURNAL.as_str())? {
            Some(_) => OwnLock::take(&mut *run.begin_log(&JOURNAL)?).map(drop),
            None => Ok(()),
        }
    }

    /// Fails if the journal in the folder of a run is of another plan. Locks nothing.
    pub fn check_plan(run: &Node, fingerprint: &Fingerprint) -> Result<()> {
        if run.kind_of(JOURNAL.as_str())?.is_none() {
            return Ok(());
        }
        PreviousRuns::read(&run.begin_log(&JOURNAL)?.read(MOST_BYTES)?, fingerprint).map(drop)
    }

    /// Opens and locks the journal in the folder of a run that writes `data`. With `resumes`, reads the state of
    /// earlier runs. Records nothing.
    ///
    /// If the store has locks, a second run is refused. Without locks, or if they work only on one machine, both runs
    /// do the same work. Neither reads what the other records meanwhile.
    pub fn open((run, data): (&Node, &Node), fingerprint: &Fingerprint, resumes: bool) -> Result<Self> {
        let mut log = run.begin_log(&JOURNAL)?;
        let lock = OwnLock::take(&mut *log)?;
        // Read after the lock is taken, as the previous owner could still append before.
        let left =
            if resumes { PreviousRuns::read(&log.read(MOST_BYTES)?, fingerprint)? } else { PreviousRuns::default() };
        let noted = left.known.iter().map(|(pass, (_, report))| (pass.clone(), *report)).collect();
        let counts = Mutex::new(Counts { waiting: BTreeMap::new(), noted });
        let (length, now) = (Some(left.length), Instant::now());
        let writer = Writer { log, length, last_line: now, last_checkpoint: now, bytes_at_checkpoint: 0 };
        let (data, fingerprint, writer) = (data.clone(), fingerprint.clone(), Mutex::new(writer));
        let journal = Journal { data, assigned: None, lock, fingerprint, left, counts, writer };
        journal.writer().bytes_at_checkpoint = journal.total().bytes_written;
        Ok(journal)
    }

    /// Opens the journal of a part of a job in its own folder, and begins it. Only assigned units are done.
    pub fn open_part((run, data): (&Node, &Node), fingerprint: &Fingerprint, assigned: Assignment) -> Result<Self> {
        let journal = Journal { assigned: Some(assigned), ..Self::open((run, data), fingerprint, true)? };
        journal.begin(true)?;
        Ok(journal)
    }

    /// Records the run. The first checkpoint follows at once if the destination is ready, as it is after an earlier
    /// run.
    pub fn begin(&self, is_ready: bool) -> Result<()> {
        let (schema, fingerprint) = (SCHEMA.to_owned(), self.fingerprint.clone());
        let mut lines = to_line(&Line::Run { schema, fingerprint, owner: self.lock.owner.clone() });
        if is_ready && !self.left.is_begun {
            lines += &to_line(&Line::Checkpoint);
        }
        let mut writer = self.writer();
        // Lines of an earlier boot that no checkpoint confirms must go, as a later checkpoint would make them valid.
        writer.log.cut(self.left.length)?;
        Ok(writer.append(&lines)?)
    }

    /// Returns the counts of all units that are finished by this run and earlier runs, in all passes.
    pub fn total(&self) -> ObjectReport {
        let counts = held(&self.counts);
        let waiting = counts.waiting.values().map(|(_, report)| report);
        let mut total = ObjectReport::default();
        counts.noted.values().chain(waiting).for_each(|report| total += *report);
        total
    }

    /// Returns the state of a pass over an array, by name.
    pub fn pass(&self, name: &str) -> PassProgress<'_> {
        let (done, before) = self.left.known.get(name).cloned().unwrap_or_default();
        let assigned = self.assigned.as_ref().map(|assigned| assigned.get(name).cloned().unwrap_or_default());
        PassProgress { journal: self, name: name.into(), done, before, assigned, is_again: false }
    }

    /// Returns the counts of this run and earlier runs for a pass, by name.
    pub fn counted(&self, name: &str) -> Result<ObjectReport> {
        self.write_lines(&mut self.writer())?;
        Ok(held(&self.counts).noted.get(name).copied().unwrap_or_default())
    }

    /// Records the pending units, and syncs the destination. All lines are then valid after any failure.
    pub fn checkpoint(&self) -> Result<()> {
        self.mark(&mut self.writer())
    }

    /// Records the pending units for other processes: the written ones first, then those still in flight.
    pub fn flush(&self) -> Result<()> {
        self.flush_written()?;
        if self.data.capabilities().is_remote {
            // A failed write has no line.
            let _ = self.data.sync();
            self.flush_written()?;
        }
        Ok(())
    }

    /// Records the written units before the process ends. Gives up after a time limit.
    pub fn flush_in_time(self: Arc<Self>, patience: Duration) {
        let (done, ended) = mpsc::channel();
        let flush = move || {
            let _ = self.flush_written();
            let _ = done.send(());
        };
        // On a thread of its own, as a store without an answer would block the exit.
        if thread::Builder::new().spawn(flush).is_ok() {
            let _ = ended.recv_timeout(patience);
        }
    }

    fn flush_written(&self) -> Result<()> {
        let mut writer = self.writer();
        self.write_lines(&mut writer)?;
        Ok(writer.log.sync()?)
    }

    /// Fails unless the journal still belongs to this run.
    pub fn confirm(&self) -> Result<()> {
        if self.writer().log.confirm()? { Ok(()) } else { Err(JournalError::Lost) }
    }

    /// Returns true if another run has taken over the lock, or the journal was removed.
    pub fn is_lost(&self) -> bool {
        self.writer().log.is_lost()
    }

    fn writer(&self) -> MutexGuard<'_, Writer> {
        held(&self.writer)
    }

    /// Records the units that were pending before a sync, and a checkpoint after it, in one append.
    fn mark(&self, writer: &mut Writer) -> Result<()> {
        let bytes_written = self.total().bytes_written;
        // Units that are finished after this may not be part of the sync.
        let mut lines = self.lines(writer);
        self.data.sync()?;
        lines += &to_line(&Line::Checkpoint);
        // Units in flight before the sync now have a line, too.
        lines += &self.lines(writer);
        writer.append(&lines)?;
        writer.log.sync()?;
        (writer.last_checkpoint, writer.bytes_at_checkpoint) = (Instant::now(), bytes_written);
        Ok(())
    }

    fn write_lines(&self, writer: &mut Writer) -> Result<(), StoreError> {
        let lines = self.lines(writer);
        if lines.is_empty() { Ok(()) } else { writer.append(&lines) }
    }

    fn lines(&self, writer: &mut Writer) -> String {
        let mut passes: BTreeMap<Arc<str>, FinishedUnits> = BTreeMap::new();
        let mut counts = held(&self.counts);
        counts.waiting.retain(|(pass, (first, end)), (units, report)| {
            if !self.data.are_written(*first..*end) {
                return true;
            }
            let all = passes.entry(pass.clone()).or_default();
            all.0.insert_all(&take(units).finish());
            all.1 += *report;
            false
        });
        let mut lines = String::new();
        for (pass, (units, counted)) in passes {
            let pass = pass.to_string();
            *counts.noted.entry(pass.clone()).or_default() += counted;
            lines += &to_line(&Line::Done { pass, units: units.finish(), counted, anew: false });
        }
        writer.last_line = Instant::now();
        if self.data.capabilities().is_remote && !lines.is_empty() {
            // Writes that such a store has confirmed are durable.
            lines += &to_line(&Line::Checkpoint);
        }
        lines
    }

    /// Returns the writer if it is free and a line is due. Fails if the journal does not belong to this run any more.
    fn due_writer(&self) -> Result<Option<MutexGuard<'_, Writer>>> {
        // The first thread writes, and the others continue.
        let writer = self.writer.try_lock().ok().filter(|writer| writer.last_line.elapsed() >= LINE_AFTER);
        if writer.as_ref().is_some_and(|writer| writer.log.is_lost()) { Err(JournalError::Lost) } else { Ok(writer) }
    }

    /// Records units that are finished when all writes from `first_write` up to now are complete.
    fn note(&self, pass: &Arc<str>, units: Range<u64>, report: &ObjectReport, first_write: u64) -> Result<()> {
        let key = (pass.clone(), (first_write, self.data.next_write()));
        let mut counts = held(&self.counts);
        let (all, counted) = counts.waiting.entry(key).or_default();
        all.insert_run(units);
        *counted += *report;
        drop(counts);
        let Some(mut writer) = self.due_writer()? else { return Ok(()) };
        self.write_lines(&mut writer)?;
        let since_checkpoint = self.total().bytes_written.saturating_sub(writer.bytes_at_checkpoint);
        if since_checkpoint >= CHECKPOINT_BYTES || writer.last_checkpoint.elapsed() >= CHECKPOINT_AFTER {
            self.mark(&mut writer)?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make and look at files")]
mod tests;
