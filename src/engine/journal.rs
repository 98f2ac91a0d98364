//! What a run has done, noted in the destination, so that another run of the same plan can go on after it.
//!
//! The journal is a file of JSON lines: a header that names the plan, finished units as ranges with what was counted
//! over them, and checkpoints. A unit is noted once its objects are written: a process that dies loses nothing of
//! that, since the system still has the bytes. A machine that dies does; so after another boot only what a checkpoint
//! follows is believed, before which everything was synced. A line that is torn, and what follows it, does not count.

mod fingerprint;
mod guard;
mod holder;
mod left;
mod line;
mod part;
mod writer;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

pub use fingerprint::{Fingerprint, digest};
use guard::{Guard, lock};
use holder::Holder;
use left::Left;
use line::{Header, Known, Line, is_cleared, next_line, to_line};
pub use part::{Part, name_of_pass};
use writer::Writer;

use crate::array::chunk_set::ChunkSet;
use crate::engine::report::ObjectReport;
use crate::store::{EntryKind, Key, Log, Node, StoreError, machine};

/// The folder of the destination in which a run keeps what it needs to go on. It is removed at the end.
pub const FOLDER: Key<'static> = Key::known(".zarrcast");

const FILE: Key<'static> = Key::known(".zarrcast/journal");
/// In a folder of its own.
const NAME: Key<'static> = Key::known("journal");
const SCHEMA: &str = "zarrcast.journal/3";

/// Units wait at most this long for their line.
const LINE_AFTER: Duration = Duration::from_secs(1);
/// The destination is synced after so many bytes, or so long.
const CHECKPOINT_BYTES: u64 = 64 << 30;
const CHECKPOINT_AFTER: Duration = Duration::from_mins(10);
/// Longer journals are not read: more than this is not written by runs of any length.
const MOST_BYTES: u64 = 4 << 30;
/// No header is longer: it holds a digest of each part of a plan.
const MOST_HEADER_BYTES: u64 = 64 << 10;
/// Units are noted in one of so many places, so that threads do not wait for each other.
const SLOTS: usize = 64;

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
    #[error("the notes of this run were removed meanwhile, or another run has taken their place")]
    Lost,
    /// It is another plan's.
    #[error("what differs: {}", .differences.join(", "))]
    OtherPlan {
        /// In what.
        differences: Vec<String>,
    },
}

/// The units that a run is to do, by the names of the parts that they are of. Those of other parts are others' to do.
pub type Assignment = BTreeMap<String, ChunkSet>;

/// Units that have no line yet.
#[derive(Debug, Default)]
struct Waiting {
    units: Vec<Finished>,
    bytes: u64,
}

/// Units that are finished once some writes of the store are.
#[derive(Debug)]
struct Finished {
    part: String,
    units: Vec<Range<u64>>,
    report: ObjectReport,
    writes: Range<u64>,
}

/// The journal of a run.
#[derive(Debug)]
pub struct Journal {
    node: Node,
    is_remote: bool,
    /// Where in the node it lies; nothing else is there.
    folder: Key<'static>,
    /// What is to be done, where that is not all.
    assigned: Option<Assignment>,
    /// What keeps other runs out, and whose it is.
    guard: Guard,
    writer: Mutex<Writer>,
    waiting: Vec<Mutex<Waiting>>,
    known: BTreeMap<String, Known>,
    /// What all runs have counted, as far as it has lines.
    counted: Mutex<BTreeMap<String, ObjectReport>>,
    /// Whether what stood in the same place has yet to be removed, if the run replaces something there.
    must_clear: bool,
    /// Units of all runs, and bytes that they wrote.
    num_units: AtomicU64,
    bytes_written: AtomicU64,
    begun: Instant,
    /// The second since it was begun in which it was last known to be this run's.
    checked: AtomicU64,
}

impl Journal {
    /// Whether a run has left its folder in a node.
    pub fn is_at(node: &Node) -> bool {
        matches!(node.below(&FOLDER).kind(), Ok(Some(EntryKind::Folder)))
    }

    /// Removes the folder of a node in which a pass has kept something.
    pub fn remove_folder(node: &Node) -> Result<(), StoreError> {
        node.below(&FOLDER).remove_root()
    }

    /// An error where another process is writing a node.
    pub fn check_free_at(node: &Node) -> Result<(), JournalError> {
        let Some(mut log) = node.open_log(&FILE)? else { return Ok(()) };
        lock(&mut *log).map(|_| ())
    }

    /// Whether the run that left its journal in a node was to replace another node by it.
    pub fn replaces_at(node: &Node) -> bool {
        beginning(node).is_some_and(|(header, _)| header.replaces)
    }

    /// Whether the run that left its folder in a node had begun a journal.
    pub fn is_begun_at(node: &Node) -> bool {
        matches!(node.open_log(&FILE), Ok(Some(_)))
    }

    /// Whether the run that left its journal in a node had yet to remove what stood in the same place.
    pub fn must_clear_at(node: &Node) -> bool {
        beginning(node).is_some_and(|(header, is_cleared)| header.replaces && !is_cleared)
    }

    /// Begins a journal in a node's folder, which is there.
    pub fn begin(node: &Node, fingerprint: &Fingerprint, replaces: bool) -> Result<Self, JournalError> {
        let mut log = node.begin_log(&FILE)?;
        let guard = lock(&mut *log)?;
        log.truncate(0)?;
        Self::begin_in(node, (log, guard), fingerprint, replaces)
    }

    /// Takes up the journal that a run of one part of a job has left in a folder of its own in a node, or begins it there.
    /// Nothing but what is assigned is to be done.
    ///
    /// Where the store locks it, whoever comes second is refused. Where it does not, or its locks are those of one machine,
    /// both go on with the same work, and neither believes what the other notes meanwhile.
    pub fn open_part(
        node: &Node,
        folder: &Key<'static>,
        fingerprint: &Fingerprint,
        assigned: Assignment,
    ) -> Result<Self, JournalError> {
        let mut log = node.begin_log(&folder.below(&NAME))?;
        let guard = lock(&mut *log)?;
        let left = Left::read(&log.read(MOST_BYTES)?, fingerprint)?;
        log.take_over(left.as_ref().map_or(0, |left| left.length))?;
        let journal = match left {
            Some(left) => Self::go_on(node, (log, guard), left)?,
            None => Self::begin_in(node, (log, guard), fingerprint, false)?,
        };
        Ok(Journal { folder: folder.clone(), assigned: Some(assigned), ..journal })
    }

    /// Begins a journal in a log that is empty.
    fn begin_in(
        node: &Node,
        (mut log, guard): (Box<dyn Log>, Guard),
        fingerprint: &Fingerprint,
        replaces: bool,
    ) -> Result<Self, JournalError> {
        let header = Header {
            schema: SCHEMA.to_owned(),
            fingerprint: fingerprint.clone(),
            replaces,
            boot: machine::boot_id(),
            holder: Some(guard.hold.holder()),
        };
        let line = to_line(&header);
        log.append(line.as_bytes())?;
        let journal = Self::with(node, (log, guard), line.len() as u64, BTreeMap::new());
        Ok(Journal { must_clear: replaces, ..journal })
    }

    /// Takes up the journal of a run that has ended; `None` where it had not begun to note anything.
    pub fn resume(node: &Node, fingerprint: &Fingerprint) -> Result<Option<Self>, JournalError> {
        let Some(mut log) = node.open_log(&FILE)? else { return Ok(None) };
        let guard = lock(&mut *log)?;
        let Some(left) = Left::read(&log.read(MOST_BYTES)?, fingerprint)? else { return Ok(None) };
        log.truncate(left.length)?;
        Self::go_on(node, (log, guard), left).map(Some)
    }

    /// Goes on after what a run has left, at the end of which the log stands.
    fn go_on(node: &Node, (log, guard): (Box<dyn Log>, Guard), left: Left) -> Result<Self, JournalError> {
        let mut lines = to_line(&Line::Holder(guard.hold.holder()));
        if !left.is_same_boot {
            lines += &to_line(&Line::Boot(machine::boot_id()));
        }
        let journal = Self::with(node, (log, guard), left.length, left.known);
        let journal = Journal { must_clear: left.must_clear, ..journal };
        journal.writer().append(&lines)?;
        Ok(journal)
    }

    fn with(
        node: &Node,
        (log, guard): (Box<dyn Log>, Guard),
        length: u64,
        known: BTreeMap<String, Known>,
    ) -> Self {
        let now = Instant::now();
        let writer = Writer { log, length: Some(length), last_line: now, last_checkpoint: now, bytes: 0 };
        let units = known
            .values()
            .flat_map(|known| &known.units)
            .map(|range| range.end.saturating_sub(range.start))
            .fold(0, u64::saturating_add);
        let bytes = known.values().map(|known| known.report.bytes_written).fold(0, u64::saturating_add);
        let counted = known.iter().map(|(part, known)| (part.clone(), known.report)).collect();
        Journal {
            node: node.clone(),
            is_remote: node.abilities().is_remote,
            folder: FOLDER,
            assigned: None,
            guard,
            writer: Mutex::new(writer),
            waiting: (0..SLOTS).map(|_| Mutex::default()).collect(),
            known,
            counted: Mutex::new(counted),
            must_clear: false,
            num_units: AtomicU64::new(units),
            bytes_written: AtomicU64::new(bytes),
            begun: now,
            checked: AtomicU64::new(0),
        }
    }

    /// Whether what stood in the same place has yet to be removed, if the run replaces something there.
    pub fn must_clear(&self) -> bool {
        self.must_clear
    }

    /// Notes that what stood in the same place is removed.
    pub fn cleared(&mut self) -> Result<(), JournalError> {
        self.must_clear = false;
        let mut writer = self.writer();
        writer.append(&to_line(&Line::Cleared))?;
        Ok(writer.log.sync()?)
    }

    /// Units that are done, by this run and those before.
    pub fn num_units(&self) -> u64 {
        self.num_units.load(Ordering::Relaxed)
    }

    /// Whether the file system locks it: where it does not, nothing keeps runs on other machines out.
    pub fn is_locked(&self) -> bool {
        self.guard.is_locked
    }

    /// Who wrote it before this run, where that cannot be told by a lock.
    pub fn holder_before(&self) -> Option<String> {
        self.guard.before.as_ref().map(Holder::to_string)
    }

    /// Whether it is of all that is to be done, not of a part.
    pub fn is_whole_run(&self) -> bool {
        self.assigned.is_none()
    }

    /// Bytes that were written for them.
    pub fn bytes_written(&self) -> u64 {
        self.bytes_written.load(Ordering::Relaxed)
    }

    /// The units of an array or a pass, by its name.
    pub fn part(&self, name: &str) -> Part<'_> {
        let known = self.known.get(name).cloned().unwrap_or_default();
        let done = ChunkSet::from_ranges(known.units);
        let assigned = self.assigned.as_ref().map(|assigned| assigned.get(name).cloned().unwrap_or_default());
        Part { journal: self, name: name.to_owned(), done, before: known.report, assigned, is_again: false }
    }

    /// What this run and those before have counted over the units of an array or a pass, by its name.
    pub fn counted(&self, name: &str) -> Result<ObjectReport, JournalError> {
        self.write_lines(&mut self.writer())?;
        Ok(held(&self.counted).get(name).copied().unwrap_or_default())
    }

    /// Notes what waits, and syncs the destination: what was noted so far is believed after any failure.
    pub fn checkpoint(&self) -> Result<(), JournalError> {
        self.mark(&mut self.writer())
    }

    /// Notes what waits, so that another process finds it: what is written by now, and then what is under way.
    pub fn flush(&self) -> Result<(), JournalError> {
        self.flush_written()?;
        if self.is_remote {
            // What fails has no line.
            let _ = self.node.sync();
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

    fn flush_written(&self) -> Result<(), JournalError> {
        let mut writer = self.writer();
        self.write_lines(&mut writer)?;
        Ok(writer.log.sync()?)
    }

    /// An error unless what lies there is this run's still.
    pub fn confirm(&self) -> Result<(), JournalError> {
        if self.writer().log.confirm()? { Ok(()) } else { Err(JournalError::Lost) }
    }

    /// The same before a unit is begun, at most once a second, as far as that is known without asking the store.
    fn check(&self) -> Result<(), JournalError> {
        let second = self.begun.elapsed().as_secs();
        if self.checked.load(Ordering::Relaxed) == second {
            return Ok(());
        }
        // Whoever writes lines looks at it himself.
        let Ok(writer) = self.writer.try_lock() else { return Ok(()) };
        if writer.log.is_lost() {
            return Err(JournalError::Lost);
        }
        self.checked.store(second, Ordering::Relaxed);
        Ok(())
    }

    /// Whether another run has taken the lock over: what lies there is that one's by now.
    pub fn is_lost(&self) -> bool {
        self.writer().log.is_lost()
    }

    /// Removes it, with its folder.
    pub fn remove(self) -> Result<(), StoreError> {
        self.node.below(&self.folder).remove_root()
    }

    fn writer(&self) -> MutexGuard<'_, Writer> {
        held(&self.writer)
    }

    /// Notes what waited before the destination was synced, and that it was, in one go.
    fn mark(&self, writer: &mut Writer) -> Result<(), JournalError> {
        let mut lines = self.lines(writer);
        self.node.sync()?;
        lines += &to_line(&Line::Checkpoint);
        // What was under way has a line now, too.
        lines += &self.lines(writer);
        writer.append(&lines)?;
        writer.log.sync()?;
        writer.last_checkpoint = Instant::now();
        writer.bytes = 0;
        Ok(())
    }

    fn write_lines(&self, writer: &mut Writer) -> Result<(), StoreError> {
        let lines = self.lines(writer);
        if lines.is_empty() { Ok(()) } else { writer.append(&lines) }
    }

    /// The lines of what waits for them.
    fn lines(&self, writer: &mut Writer) -> String {
        let mut parts: BTreeMap<String, (Vec<Range<u64>>, ObjectReport)> = BTreeMap::new();
        for slot in &self.waiting {
            let mut waiting = held(slot);
            writer.bytes += std::mem::take(&mut waiting.bytes);
            let is_written = |units: &mut Finished| self.node.are_written(units.writes.clone());
            for Finished { part, units, report, .. } in waiting.units.extract_if(.., is_written) {
                let all = parts.entry(part).or_default();
                all.0.extend(units);
                all.1.add(&report);
            }
        }
        let mut lines = String::new();
        for (part, (units, report)) in parts {
            held(&self.counted).entry(part.clone()).or_default().add(&report);
            lines += &to_line(&Line::Done { part, units: joined(units), counted: report });
        }
        writer.last_line = Instant::now();
        if self.is_remote && !lines.is_empty() {
            // What such a store has acknowledged is durable.
            lines += &to_line(&Line::Checkpoint);
        }
        lines
    }

    /// Notes units that are finished once the writes since one of a number are.
    fn note(
        &self,
        part: &str,
        units: Range<u64>,
        report: &ObjectReport,
        first_write: u64,
    ) -> Result<(), JournalError> {
        let writes = first_write..self.node.next_write();
        self.num_units.fetch_add(units.end - units.start, Ordering::Relaxed);
        self.bytes_written.fetch_add(report.bytes_written, Ordering::Relaxed);
        let slot = rayon::current_thread_index().unwrap_or(0) % SLOTS;
        {
            let mut waiting = held(&self.waiting[slot]);
            waiting.bytes += report.bytes_written;
            if let Some(last) =
                waiting.units.last_mut().filter(|last| last.part == part && last.writes == writes)
            {
                last.report.add(report);
                match last.units.last_mut() {
                    Some(last) if last.end == units.start => last.end = units.end,
                    _ if units.is_empty() => {}
                    _ => last.units.push(units),
                }
            } else {
                let units = if units.is_empty() { Vec::new() } else { vec![units] };
                waiting.units.push(Finished { part: part.to_owned(), units, report: *report, writes });
            }
        }
        // Whoever comes first writes; the others go on.
        let Ok(mut writer) = self.writer.try_lock() else { return Ok(()) };
        if writer.last_line.elapsed() < LINE_AFTER {
            return Ok(());
        }
        if writer.log.is_lost() {
            return Err(JournalError::Lost);
        }
        self.write_lines(&mut writer)?;
        if writer.bytes >= CHECKPOINT_BYTES || writer.last_checkpoint.elapsed() >= CHECKPOINT_AFTER {
            self.mark(&mut writer)?;
        }
        Ok(())
    }
}

/// The header of the journal in a node, and whether what stood there has been removed since.
fn beginning(node: &Node) -> Option<(Header, bool)> {
    let mut log = node.open_log(&FILE).ok().flatten()?;
    let text = log.read_beginning(MOST_HEADER_BYTES).ok()?;
    Some((next_line::<Header>(&text, 0)?.0, is_cleared(&text)))
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ranges in order, those that touch as one.
fn joined(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_unstable_by_key(|range| range.start);
    let mut joined: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make and look at files")]
mod tests;
