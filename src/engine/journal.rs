//! What a run has done, noted in the destination, so that another run of the same plan can go on after it.
//!
//! The journal is a file of JSON lines: a header that names the plan, finished units as ranges with what was counted
//! over them, and checkpoints. A unit is noted once its objects are written: a process that dies loses nothing of
//! that, since the system still has the bytes. A machine that dies does; so after another boot only what a checkpoint
//! follows is believed, before which everything was synced. A line that is torn, and what follows it, does not count.

mod fingerprint;
mod holder;
mod line;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

pub use fingerprint::{Fingerprint, digest};
use holder::{Hold, Holder};
use line::{Counted, Header, Known, Line, is_cleared, last_holder, next_line, read, to_line};

use crate::array::chunk_set::ChunkSet;
use crate::array::fault::Fault;
use crate::engine::report::ObjectReport;
use crate::store::{Asker, EntryKind, Holding, Key, Lock, Log, Node, StoreError, machine};

/// The folder of the destination in which a run keeps what it needs to go on. It is removed at the end.
pub const FOLDER: Key<'static> = Key::known(".zarrcast");

const FILE: Key<'static> = Key::known(".zarrcast/journal");
const SCHEMA: &str = "zarrcast.journal/2";

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
    /// It is another plan's.
    #[error("what differs: {}", .differences.join(", "))]
    OtherPlan {
        /// In what.
        differences: Vec<String>,
    },
}

/// Units that have no line yet.
#[derive(Debug, Default)]
struct Waiting {
    units: BTreeMap<String, (Vec<Range<u64>>, ObjectReport)>,
    bytes: u64,
}

#[derive(Debug)]
struct Writer {
    log: Box<dyn Log>,
    /// The length of its whole lines; `None` where it can be written no more.
    length: Option<u64>,
    last_line: Instant,
    last_checkpoint: Instant,
    bytes: u64,
}

/// What keeps other runs from a journal.
#[derive(Debug)]
struct Guard {
    is_locked: bool,
    /// Who has it or had it before, where there is no lock.
    before: Option<Holder>,
    hold: Hold,
}

/// The journal of a run.
#[derive(Debug)]
pub struct Journal {
    node: Node,
    /// What keeps other runs out, and whose it is.
    guard: Guard,
    writer: Mutex<Writer>,
    waiting: Vec<Mutex<Waiting>>,
    known: BTreeMap<String, Known>,
    /// Whether what stood in the same place has yet to be removed, if the run replaces something there.
    must_clear: bool,
    /// Units of all runs, and bytes that they wrote.
    num_units: AtomicU64,
    bytes_written: AtomicU64,
}

/// One array's, or one pass's, units in a journal.
#[derive(Debug)]
pub struct Part<'a> {
    journal: &'a Journal,
    name: String,
    done: ChunkSet,
    before: ObjectReport,
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
        let text = log.read(MOST_BYTES)?;
        let Some((header, first)) = next_line::<Header>(&text, 0) else { return Ok(None) };
        if header.schema != SCHEMA {
            return Err(JournalError::OtherPlan { differences: vec!["the form of the journal".to_owned()] });
        }
        let differences = fingerprint.differences(&header.fingerprint);
        if !differences.is_empty() {
            return Err(JournalError::OtherPlan { differences });
        }
        let boot = machine::boot_id();
        let (known, length, is_same_boot) = read(&text, first, header.boot.as_ref(), boot.as_ref());
        log.truncate(length)?;
        let mut lines = to_line(&Line::Holder(guard.hold.holder()));
        if !is_same_boot {
            lines += &to_line(&Line::Boot(boot));
        }
        let journal = Self::with(node, (log, guard), length, known);
        let believed = &text[..usize::try_from(length).unwrap_or(text.len()).min(text.len())];
        let journal = Journal { must_clear: header.replaces && !is_cleared(believed), ..journal };
        journal.writer().append(&lines)?;
        Ok(Some(journal))
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
        Journal {
            node: node.clone(),
            guard,
            writer: Mutex::new(writer),
            waiting: (0..SLOTS).map(|_| Mutex::default()).collect(),
            known,
            must_clear: false,
            num_units: AtomicU64::new(units),
            bytes_written: AtomicU64::new(bytes),
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

    /// Bytes that were written for them.
    pub fn bytes_written(&self) -> u64 {
        self.bytes_written.load(Ordering::Relaxed)
    }

    /// The units of an array or a pass, by its name.
    pub fn part(&self, name: &str) -> Part<'_> {
        let known = self.known.get(name).cloned().unwrap_or_default();
        let done = ChunkSet::from_ranges(known.units);
        Part { journal: self, name: name.to_owned(), done, before: known.report }
    }

    /// Notes what waits, and syncs the destination: what was noted so far is believed after any failure.
    pub fn checkpoint(&self) -> Result<(), JournalError> {
        self.mark(&mut self.writer())
    }

    /// Notes what waits, so that another process finds it.
    pub fn flush(&self) -> Result<(), JournalError> {
        let mut writer = self.writer();
        self.write_lines(&mut writer)?;
        Ok(writer.log.sync()?)
    }

    /// Whether another run has taken the lock over: what lies there is that one's by now.
    pub fn is_lost(&self) -> bool {
        self.writer().log.is_lost()
    }

    /// Removes it, with its folder.
    pub fn remove(self) -> Result<(), StoreError> {
        self.node.below(&FOLDER).remove_root()
    }

    fn writer(&self) -> MutexGuard<'_, Writer> {
        held(&self.writer)
    }

    /// Notes what waited before the destination was synced, and that it was, in one go.
    fn mark(&self, writer: &mut Writer) -> Result<(), JournalError> {
        let lines = self.lines(writer);
        self.node.sync()?;
        writer.append(&(lines + &to_line(&Line::Checkpoint)))?;
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
            let waiting = std::mem::take(&mut *held(slot));
            writer.bytes += waiting.bytes;
            for (part, (units, report)) in waiting.units {
                let all = parts.entry(part).or_default();
                all.0.extend(units);
                all.1.add(&report);
            }
        }
        let mut lines = String::new();
        for (part, (units, report)) in parts {
            lines += &to_line(&Line::Done { part, units: joined(units), counted: Counted::of(&report) });
        }
        writer.last_line = Instant::now();
        lines
    }

    fn note(&self, part: &str, units: Range<u64>, report: &ObjectReport) -> Result<(), JournalError> {
        self.num_units.fetch_add(units.end - units.start, Ordering::Relaxed);
        self.bytes_written.fetch_add(report.bytes_written, Ordering::Relaxed);
        let slot = rayon::current_thread_index().unwrap_or(0) % SLOTS;
        {
            let mut waiting = held(&self.waiting[slot]);
            waiting.bytes += report.bytes_written;
            if !waiting.units.contains_key(part) {
                waiting.units.insert(part.to_owned(), Default::default());
            }
            if let Some((ranges, all)) = waiting.units.get_mut(part) {
                all.add(report);
                match ranges.last_mut() {
                    Some(last) if last.end == units.start => last.end = units.end,
                    _ if units.is_empty() => {}
                    _ => ranges.push(units),
                }
            }
        }
        // Whoever comes first writes; the others go on.
        let Ok(mut writer) = self.writer.try_lock() else { return Ok(()) };
        if writer.last_line.elapsed() < LINE_AFTER {
            return Ok(());
        }
        self.write_lines(&mut writer)?;
        if writer.bytes >= CHECKPOINT_BYTES || writer.last_checkpoint.elapsed() >= CHECKPOINT_AFTER {
            self.mark(&mut writer)?;
        }
        Ok(())
    }
}

impl Writer {
    /// Appends whole lines, or nothing.
    fn append(&mut self, lines: &str) -> Result<(), StoreError> {
        let Some(length) = self.length else { return Ok(()) };
        if let Err(error) = self.log.append(lines.as_bytes()) {
            // Half a line would hide those after it.
            self.length = self.log.truncate(length).ok().map(|()| length);
            return Err(error);
        }
        self.length = Some(length + lines.len() as u64);
        Ok(())
    }
}

impl<'a> Part<'a> {
    /// The units of another pass over the same array, by its name.
    #[must_use]
    pub fn pass(&self, name: &str) -> Part<'a> {
        self.journal.part(&format!("{} {name}", self.name))
    }

    /// The same part, of which nothing is done: what earlier runs noted of it does not count, now and later.
    pub fn anew(self) -> Result<Part<'a>, Fault> {
        let line = to_line(&Line::Anew { part: self.name.clone() });
        self.journal.writer().append(&line)?;
        let done = self.done.len();
        self.journal.num_units.fetch_sub(done, Ordering::Relaxed);
        self.journal.bytes_written.fetch_sub(self.before.bytes_written, Ordering::Relaxed);
        Ok(Part { done: ChunkSet::default(), before: ObjectReport::default(), ..self })
    }

    /// Whether a unit was finished by an earlier run.
    pub fn is_done(&self, unit: u64) -> bool {
        self.done.contains(unit)
    }

    /// The units that an earlier run finished.
    pub fn done(&self) -> &ChunkSet {
        &self.done
    }

    /// What earlier runs counted.
    pub fn before(&self) -> &ObjectReport {
        &self.before
    }

    /// Does a unit, unless it is done already, and notes it.
    pub fn do_once(
        &self,
        unit: u64,
        work: impl FnOnce() -> Result<ObjectReport, Fault>,
    ) -> Result<ObjectReport, Fault> {
        if self.is_done(unit) {
            return Ok(ObjectReport::default());
        }
        let report = work()?;
        self.finished(unit..unit + 1, &report)?;
        Ok(report)
    }

    /// Notes units whose objects are written, and what was counted over them.
    pub fn finished(&self, units: Range<u64>, report: &ObjectReport) -> Result<(), Fault> {
        self.journal.note(&self.name, units, report).map_err(|error| match error {
            JournalError::Store(error) => Fault::Store(error),
            other => Fault::Other(other.to_string()),
        })
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

/// Locks a log that still stands at its path. Where the file system has no locks, it is free unless a process of this
/// machine that it names goes on.
fn lock(log: &mut dyn Log) -> Result<Guard, JournalError> {
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
        Lock::Unsupported => match last_holder(&log.read(MOST_BYTES)?) {
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
