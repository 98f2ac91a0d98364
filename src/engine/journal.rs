//! What a run has done, noted in the destination, so that another run of the same plan can go on after it.
//!
//! The journal is a file of JSON lines: runs, each with the plan, finished units as ranges with what was counted
//! over them, and checkpoints. A run marks with its first checkpoint that its destination is ready: what stood there before is
//! gone. A unit is noted once its objects are written: a process that dies loses nothing of
//! that, since the system still has the bytes. A machine that dies does; so after another boot only what a checkpoint
//! follows is believed, before which everything was synced. A line that is torn, and what follows it, does not count.

mod lines;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use super::ObjectReport;
use crate::array::{ChunkSet, ChunkSetBuilder};
use crate::store::{JOURNAL, Log, Node, StoreError, held};
use lines::{Left, Line, Noted, OwnLock, Run, last_owner, to_line};

pub use lines::{Fingerprint, PassProgress, digest, name_of_pass};

const SCHEMA: &str = "zarrcast.journal/5";

/// Units wait at most this long for their line.
const LINE_AFTER: Duration = Duration::from_secs(1);
/// The destination is synced after so many bytes, or so long.
const CHECKPOINT_BYTES: u64 = 64 << 30;
const CHECKPOINT_AFTER: Duration = Duration::from_mins(10);
/// Longer journals are not read: more than this is not written by runs of any length.
const MOST_BYTES: u64 = 4 << 30;

/// The result of a call to a journal.
pub type Result<T, E = JournalError> = std::result::Result<T, E>;

/// A journal cannot be begun or gone on with.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Another process has it.
    #[error("another run is writing there")]
    Locked,
    /// Another process has it, as it notes where the file system has no locks.
    #[error("another run is writing there: {0}")]
    Held(String),
    /// It is not there any more, or another's.
    #[error("the journal of this run was removed, or another run replaced it")]
    Lost,
    /// It is another plan's.
    #[error("what differs: {}", .differences.join(", "))]
    OtherPlan {
        /// In what.
        differences: Vec<String>,
    },
}

/// The units that a run is to do, by the names of the passes that they are of. All others are others' to do.
pub type Assignment = BTreeMap<String, ChunkSet>;

/// Units that are finished once some writes of the store are.
#[derive(Debug)]
struct Finished {
    pass: Arc<str>,
    units: ChunkSetBuilder,
    report: ObjectReport,
    writes: Range<u64>,
}

/// The counts of this run and those before.
#[derive(Debug, Default)]
struct Counts {
    /// Units that have no line yet.
    waiting: Vec<Finished>,
    /// The counts of those that have, by the names of the passes.
    noted: BTreeMap<String, ObjectReport>,
    /// Units that are done, with a line or without, and bytes that were written for them.
    num_units: u64,
    bytes_written: u64,
}

impl Counts {
    fn of(known: &BTreeMap<String, Noted>) -> Self {
        let mut counts = Counts::default();
        for (pass, (units, report)) in known {
            counts.noted.insert(pass.clone(), *report);
            counts.num_units = counts.num_units.saturating_add(units.len());
            counts.bytes_written = counts.bytes_written.saturating_add(report.bytes_written);
        }
        counts
    }

    fn add(&mut self, pass: &Arc<str>, units: Range<u64>, report: &ObjectReport, writes: Range<u64>) {
        self.num_units += units.end - units.start;
        self.bytes_written += report.bytes_written;
        let is_same = |last: &&mut Finished| last.pass == *pass && last.writes == writes;
        if let Some(last) = self.waiting.last_mut().filter(is_same) {
            last.units.insert_run(units);
            return last.report.add(report);
        }
        let mut builder = ChunkSetBuilder::default();
        builder.insert_run(units);
        self.waiting.push(Finished { pass: pass.clone(), units: builder, report: *report, writes });
    }
}

/// Where the lines go.
#[derive(Debug)]
struct Writer {
    log: Box<dyn Log>,
    /// The length of its whole lines; `None` where it can be written no more.
    length: Option<u64>,
    last_line: Instant,
    last_checkpoint: Instant,
    /// Bytes that had been written by the last checkpoint.
    bytes_at_checkpoint: u64,
}

impl Writer {
    /// Appends whole lines, or nothing.
    fn append(&mut self, lines: &str) -> Result<(), StoreError> {
        let Some(length) = self.length else { return Ok(()) };
        if let Err(error) = self.log.append(lines.as_bytes()) {
            // Half a line would hide those after it.
            self.length = self.log.cut(length).ok().map(|()| length);
            return Err(error);
        }
        self.length = Some(length + lines.len() as u64);
        Ok(())
    }
}

/// The journal of a run.
#[derive(Debug)]
pub struct Journal {
    /// Where all that it tells of is written.
    data: Node,
    /// The units that are to be done, where these are not all.
    assigned: Option<Assignment>,
    lock: OwnLock,
    fingerprint: Fingerprint,
    /// The state that runs before have left.
    left: Left,
    counts: Mutex<Counts>,
    writer: Mutex<Writer>,
}

impl Journal {
    /// An error where another process has the journal in the folder of a run.
    pub fn check_free(run: &Node) -> Result<()> {
        match run.kind_of(JOURNAL.as_str())? {
            Some(_) => OwnLock::take(&mut *run.begin_log(&JOURNAL)?, last_owner).map(drop),
            None => Ok(()),
        }
    }

    /// Opens and locks the journal in the folder of a run that writes `data`, and reads what runs of the plan have left,
    /// where it goes on after them. Nothing is noted.
    ///
    /// Where the store locks it, whoever comes second is refused. Where it does not, or its locks are those of one machine,
    /// both go on with the same work, and neither believes what the other notes meanwhile.
    pub fn open((run, data): (&Node, &Node), fingerprint: &Fingerprint, resumes: bool) -> Result<Self> {
        let mut log = run.begin_log(&JOURNAL)?;
        let lock = OwnLock::take(&mut *log, last_owner)?;
        let left = if resumes { Left::read(&log.read(MOST_BYTES)?, fingerprint)? } else { Left::default() };
        let (now, counts) = (Instant::now(), Counts::of(&left.known));
        let (length, bytes_at_checkpoint) = (Some(left.length), counts.bytes_written);
        let writer = Writer { log, length, last_line: now, last_checkpoint: now, bytes_at_checkpoint };
        let (counts, writer) = (Mutex::new(counts), Mutex::new(writer));
        let (data, fingerprint) = (data.clone(), fingerprint.clone());
        Ok(Journal { data, assigned: None, lock, fingerprint, left, counts, writer })
    }

    /// The journal of a part of a job, in a folder of its own: nothing but what is assigned is to be done.
    pub fn open_part((run, data): (&Node, &Node), fingerprint: &Fingerprint, assigned: Assignment) -> Result<Self> {
        let journal = Journal { assigned: Some(assigned), ..Self::open((run, data), fingerprint, true)? };
        journal.begin(true)?;
        Ok(journal)
    }

    /// True if a run before had made its destination ready: this one goes on.
    pub fn is_begun(&self) -> bool {
        self.left.is_begun
    }

    /// True if a run before has noted itself, which may not have come to begin.
    pub fn is_noted(&self) -> bool {
        self.left.is_noted
    }

    /// Notes the run. It begins with the first checkpoint: at once where the destination is ready, as it is where runs have
    /// begun before.
    pub fn begin(&self, is_ready: bool) -> Result<()> {
        let (schema, fingerprint) = (SCHEMA.to_owned(), self.fingerprint.clone());
        let mut lines = to_line(&Line::Run(Run { schema, fingerprint, owner: self.lock.owner.clone() }));
        if is_ready && !self.is_begun() {
            lines += &to_line(&Line::Checkpoint);
        }
        let mut writer = self.writer();
        writer.log.cut(self.left.length)?;
        Ok(writer.append(&lines)?)
    }

    /// Units that are done, by this run and those before.
    pub fn num_units(&self) -> u64 {
        held(&self.counts).num_units
    }

    /// True if the file system locks it: where it does not, nothing keeps runs on other machines out.
    pub fn is_locked(&self) -> bool {
        self.lock.is_held
    }

    /// Who wrote it before this run, where that cannot be told by a lock.
    pub fn holder_before(&self) -> Option<String> {
        self.lock.before.as_ref().map(ToString::to_string)
    }

    /// True if it is of all that is to be done, not of a part.
    pub fn is_whole_run(&self) -> bool {
        self.assigned.is_none()
    }

    /// Bytes that were written for them.
    pub fn bytes_written(&self) -> u64 {
        held(&self.counts).bytes_written
    }

    /// The units of a pass over an array, by its name.
    pub fn pass(&self, name: &str) -> PassProgress<'_> {
        let (done, before) = self.left.known.get(name).cloned().unwrap_or_default();
        let assigned = self.assigned.as_ref().map(|assigned| assigned.get(name).cloned().unwrap_or_default());
        PassProgress { journal: self, name: name.into(), done, before, assigned, is_again: false }
    }

    /// The counts of this run and those before over the units of a pass, by its name.
    pub fn counted(&self, name: &str) -> Result<ObjectReport> {
        self.write_lines(&mut self.writer())?;
        Ok(held(&self.counts).noted.get(name).copied().unwrap_or_default())
    }

    /// Notes what waits, and syncs the destination: what was noted so far is believed after any failure.
    pub fn checkpoint(&self) -> Result<()> {
        self.mark(&mut self.writer())
    }

    /// Notes what waits, so that another process finds it: what is written by now, and then what is under way.
    pub fn flush(&self) -> Result<()> {
        self.flush_written()?;
        if self.data.abilities().is_remote {
            // What fails has no line.
            let _ = self.data.sync();
            self.flush_written()?;
        }
        Ok(())
    }

    /// Notes what waits and is written, before the process ends; given up after a while.
    pub fn flush_in_time(self: Arc<Self>, patience: Duration) {
        let (done, ended) = mpsc::channel();
        let flush = move || {
            let _ = self.flush_written();
            let _ = done.send(());
        };
        if thread::Builder::new().spawn(flush).is_ok() {
            let _ = ended.recv_timeout(patience);
        }
    }

    fn flush_written(&self) -> Result<()> {
        let mut writer = self.writer();
        self.write_lines(&mut writer)?;
        Ok(writer.log.sync()?)
    }

    /// An error unless what lies there is this run's still.
    pub fn confirm(&self) -> Result<()> {
        if self.writer().log.confirm()? { Ok(()) } else { Err(JournalError::Lost) }
    }

    /// True if another run has taken the lock over: what lies there is that one's by now.
    pub fn is_lost(&self) -> bool {
        self.writer().log.is_lost()
    }

    fn writer(&self) -> MutexGuard<'_, Writer> {
        held(&self.writer)
    }

    /// Notes what waited before the destination was synced, and that it was, in one go.
    fn mark(&self, writer: &mut Writer) -> Result<()> {
        let bytes_written = self.bytes_written();
        let mut lines = self.lines(writer);
        self.data.sync()?;
        lines += &to_line(&Line::Checkpoint);
        // What was under way has a line now, too.
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

    /// The lines of what waits for them.
    fn lines(&self, writer: &mut Writer) -> String {
        let mut passes: BTreeMap<Arc<str>, (ChunkSetBuilder, ObjectReport)> = BTreeMap::new();
        let mut counts = held(&self.counts);
        let is_written = |units: &mut Finished| self.data.are_written(units.writes.clone());
        for Finished { pass, units, report, .. } in counts.waiting.extract_if(.., is_written) {
            let all = passes.entry(pass).or_default();
            all.0.insert_all(&units.finish());
            all.1.add(&report);
        }
        let mut lines = String::new();
        for (pass, (units, counted)) in passes {
            let pass = pass.to_string();
            counts.noted.entry(pass.clone()).or_default().add(&counted);
            lines += &to_line(&Line::Done { pass, units: units.finish(), counted, anew: false });
        }
        writer.last_line = Instant::now();
        if self.data.abilities().is_remote && !lines.is_empty() {
            // What such a store has acknowledged is durable.
            lines += &to_line(&Line::Checkpoint);
        }
        lines
    }

    /// The writer, if no other thread has it and a line is due; an error where the journal is not this run's any more.
    fn due_writer(&self) -> Result<Option<MutexGuard<'_, Writer>>> {
        // Whoever comes first writes; the others go on.
        let writer = self.writer.try_lock().ok().filter(|writer| writer.last_line.elapsed() >= LINE_AFTER);
        if writer.as_ref().is_some_and(|writer| writer.log.is_lost()) { Err(JournalError::Lost) } else { Ok(writer) }
    }

    /// Notes units that are finished once the writes since one of a number are.
    fn note(&self, pass: &Arc<str>, units: Range<u64>, report: &ObjectReport, first_write: u64) -> Result<()> {
        held(&self.counts).add(pass, units, report, first_write..self.data.next_write());
        let Some(mut writer) = self.due_writer()? else { return Ok(()) };
        self.write_lines(&mut writer)?;
        let since_checkpoint = self.bytes_written().saturating_sub(writer.bytes_at_checkpoint);
        if since_checkpoint >= CHECKPOINT_BYTES || writer.last_checkpoint.elapsed() >= CHECKPOINT_AFTER {
            self.mark(&mut writer)?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make and look at files")]
mod tests;
