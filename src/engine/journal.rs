//! What a run has done, noted in the destination, so that another run of the same plan can go on after it.
//!
//! The journal is a file of JSON lines: a header that names the plan, finished units as ranges with what was counted
//! over them, and checkpoints. A unit is noted once its objects are written: a process that dies loses nothing of
//! that, since the system still has the bytes. A machine that dies does; so after another boot only what a checkpoint
//! follows is believed, before which everything was synced. A line that is torn, and what follows it, does not count.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::chunk_set::ChunkSet;
use super::driver::Fault;
use super::object::ObjectReport;
use crate::kernel::quantize::QuantizeFigures;
use crate::store::log::Lock;
use crate::store::{LocalNode, LogFile, StoreError, tree};

/// The folder of the destination in which a run keeps what it needs to go on. It is removed at the end.
pub const FOLDER: &str = ".zarrcast";

const FILE: &str = "journal";
const SCHEMA: &str = "zarrcast.journal/1";

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

/// What a plan is told apart by: named parts, each as a digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fingerprint {
    /// The version of the program: another may write other bytes.
    program: String,
    /// Digests by the names of what they were made of.
    plan: BTreeMap<String, String>,
}

impl Fingerprint {
    /// The fingerprint of a plan, from the texts of its parts, each in pieces.
    pub fn new<'a>(parts: impl IntoIterator<Item = (&'a str, Vec<&'a [u8]>)>) -> Self {
        let digest = |text: Vec<&[u8]>| {
            let mut digest = Sha256::new();
            for piece in text {
                // Pieces are told apart by their lengths.
                digest.update((piece.len() as u64).to_le_bytes());
                digest.update(piece);
            }
            digest.finalize().iter().fold(String::new(), |mut hex, byte| {
                let _ = write!(hex, "{byte:02x}");
                hex
            })
        };
        let plan = parts.into_iter().map(|(name, text)| (name.to_owned(), digest(text))).collect();
        Fingerprint { program: env!("CARGO_PKG_VERSION").to_owned(), plan }
    }

    /// The names of what differs from another plan.
    fn differences(&self, other: &Fingerprint) -> Vec<String> {
        let mut names: Vec<String> = self
            .plan
            .iter()
            .filter(|(name, digest)| other.plan.get(*name) != Some(digest))
            .map(|(name, _)| name.clone())
            .collect();
        if self.program != other.program {
            names.push(format!("the version of zarrcast ({} then)", other.program));
        }
        names
    }
}

/// A journal cannot be begun or gone on with.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Another process has it.
    #[error("another run is writing there")]
    Locked,
    /// It is another plan's.
    #[error("what differs: {}", .differences.join(", "))]
    OtherPlan {
        /// In what.
        differences: Vec<String>,
    },
}

#[derive(Serialize, Deserialize)]
struct Header {
    schema: String,
    fingerprint: Fingerprint,
    /// Whether the node takes the place of another when it is whole.
    replaces: bool,
    boot: Option<String>,
}

/// Every line but the first.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    /// What follows was written after another boot.
    Boot(Option<String>),
    /// All before it is durable.
    Checkpoint,
    /// Finished units.
    Done { part: String, units: Vec<Range<u64>>, counted: Counted },
}

/// An [`ObjectReport`] as it is noted; floats by their bits.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Counted {
    written: u64,
    bytes_read: u64,
    bytes_written: u64,
    count: u64,
    nan: u64,
    clamped: u64,
    float_bits: [u64; 4],
}

/// What was done of a part.
#[derive(Debug, Default, Clone)]
struct Known {
    units: Vec<Range<u64>>,
    report: ObjectReport,
}

/// Units that have no line yet.
#[derive(Debug, Default)]
struct Waiting {
    units: BTreeMap<String, (Vec<Range<u64>>, ObjectReport)>,
    bytes: u64,
}

#[derive(Debug)]
struct Writer {
    log: LogFile,
    /// The length of its whole lines; `None` where it can be written no more.
    length: Option<u64>,
    last_line: Instant,
    last_checkpoint: Instant,
    bytes: u64,
}

/// The journal of a run.
#[derive(Debug)]
pub struct Journal {
    node: LocalNode,
    writer: Mutex<Writer>,
    waiting: Vec<Mutex<Waiting>>,
    known: BTreeMap<String, Known>,
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
    fn path(node: &LocalNode) -> PathBuf {
        node.root().join(FOLDER).join(FILE)
    }

    /// Whether a run has left its folder in a node.
    pub fn is_at(node: &LocalNode) -> bool {
        tree::is_folder(&node.root().join(FOLDER))
    }

    /// Removes the folder of a node in which a pass has kept something.
    pub fn remove_folder(node: &LocalNode) -> Result<(), StoreError> {
        tree::remove(&node.root().join(FOLDER))
    }

    /// Whether another process is writing a node.
    pub fn is_locked_at(node: &LocalNode) -> Result<bool, JournalError> {
        let log = LogFile::open(&Self::path(node))?;
        Ok(log.is_some_and(|log| matches!(log.lock(), Ok(Lock::Elsewhere))))
    }

    /// Whether the run that left its journal in a node was to replace another node by it.
    pub fn replaces_at(node: &LocalNode) -> bool {
        let log = LogFile::open(&Self::path(node)).ok().flatten();
        let text = log.map(|mut log| log.read_beginning(MOST_HEADER_BYTES));
        let Some(Ok(text)) = text else { return false };
        next_line::<Header>(&text, 0).is_some_and(|(header, _)| header.replaces)
    }

    /// Begins a journal in a node's folder, which is there.
    pub fn begin(node: &LocalNode, fingerprint: &Fingerprint, replaces: bool) -> Result<Self, JournalError> {
        tree::create_private_folder(&node.root().join(FOLDER))?;
        let mut log = match LogFile::open(&Self::path(node))? {
            Some(left) => left,
            None => LogFile::create(&Self::path(node))?,
        };
        lock(&log)?;
        log.truncate(0)?;
        let fingerprint = fingerprint.clone();
        let header = Header { schema: SCHEMA.to_owned(), fingerprint, replaces, boot: tree::boot_id() };
        let line = to_line(&header);
        log.append(line.as_bytes())?;
        Ok(Self::with(node, log, line.len() as u64, BTreeMap::new()))
    }

    /// Takes up the journal of a run that has ended; `None` where it had not begun to note anything.
    pub fn resume(node: &LocalNode, fingerprint: &Fingerprint) -> Result<Option<Self>, JournalError> {
        let Some(mut log) = LogFile::open(&Self::path(node))? else { return Ok(None) };
        lock(&log)?;
        let text = log.read(MOST_BYTES)?;
        let Some((header, first)) = next_line::<Header>(&text, 0) else { return Ok(None) };
        if header.schema != SCHEMA {
            return Err(JournalError::OtherPlan { differences: vec!["the form of the journal".to_owned()] });
        }
        let differences = fingerprint.differences(&header.fingerprint);
        if !differences.is_empty() {
            return Err(JournalError::OtherPlan { differences });
        }
        let boot = tree::boot_id();
        let (known, length, is_same_boot) = read(&text, first, header.boot.as_ref(), boot.as_ref());
        log.truncate(length)?;
        let journal = Self::with(node, log, length, known);
        if !is_same_boot {
            journal.writer().append(&to_line(&Line::Boot(boot)))?;
        }
        Ok(Some(journal))
    }

    fn with(node: &LocalNode, log: LogFile, length: u64, known: BTreeMap<String, Known>) -> Self {
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
            writer: Mutex::new(writer),
            waiting: (0..SLOTS).map(|_| Mutex::default()).collect(),
            known,
            num_units: AtomicU64::new(units),
            bytes_written: AtomicU64::new(bytes),
        }
    }

    /// Units that are done, by this run and those before.
    pub fn num_units(&self) -> u64 {
        self.num_units.load(Ordering::Relaxed)
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
        let mut writer = self.writer();
        self.write_lines(&mut writer)?;
        self.mark(&mut writer)
    }

    /// Notes what waits.
    pub fn flush(&self) -> Result<(), JournalError> {
        Ok(self.write_lines(&mut self.writer())?)
    }

    /// Removes it, with its folder.
    pub fn remove(self) -> Result<(), StoreError> {
        tree::remove(&self.node.root().join(FOLDER))
    }

    fn writer(&self) -> MutexGuard<'_, Writer> {
        held(&self.writer)
    }

    fn mark(&self, writer: &mut Writer) -> Result<(), JournalError> {
        self.node.sync()?;
        writer.append(&to_line(&Line::Checkpoint))?;
        writer.log.sync()?;
        writer.last_checkpoint = Instant::now();
        writer.bytes = 0;
        Ok(())
    }

    fn write_lines(&self, writer: &mut Writer) -> Result<(), StoreError> {
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
        if lines.is_empty() { Ok(()) } else { writer.append(&lines) }
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

impl Counted {
    fn of(report: &ObjectReport) -> Self {
        let figures = &report.figures;
        let floats = [
            figures.max_abs_error,
            figures.max_abs_error_clamped,
            figures.sum_of_squares,
            figures.normalizer,
        ];
        Counted {
            written: report.written,
            bytes_read: report.bytes_read,
            bytes_written: report.bytes_written,
            count: figures.count,
            nan: figures.nan,
            clamped: figures.clamped,
            float_bits: floats.map(f64::to_bits),
        }
    }

    fn report(&self) -> ObjectReport {
        let [max_abs_error, max_abs_error_clamped, sum_of_squares, normalizer] =
            self.float_bits.map(f64::from_bits);
        let figures = QuantizeFigures {
            count: self.count,
            nan: self.nan,
            clamped: self.clamped,
            max_abs_error,
            max_abs_error_clamped,
            sum_of_squares,
            normalizer,
        };
        let Counted { written, bytes_read, bytes_written, .. } = *self;
        ObjectReport { written, bytes_read, bytes_written, bytes_temporary: 0, figures }
    }
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Locks a log that still stands at its path. Where the file system has no locks nothing keeps two runs apart.
fn lock(log: &LogFile) -> Result<(), JournalError> {
    match log.lock()? {
        // Removed meanwhile: the run that had it has just ended.
        Lock::Held if !log.is_in_place() => Err(JournalError::Locked),
        Lock::Held | Lock::Unsupported => Ok(()),
        Lock::Elsewhere => Err(JournalError::Locked),
    }
}

fn to_line(value: &impl Serialize) -> String {
    let mut line = serde_json::to_string(value).unwrap_or_default();
    line.push('\n');
    line
}

/// The whole line at a place, and where the next begins; `None` where it is torn or no line of a journal.
fn next_line<T: for<'a> Deserialize<'a>>(text: &[u8], start: usize) -> Option<(T, usize)> {
    let length = text[start..].iter().position(|byte| *byte == b'\n')?;
    let line = serde_json::from_slice(&text[start..start + length]).ok()?;
    Some((line, start + length + 1))
}

/// What the lines after the header say that can be believed, the length of those, and whether the last of them was
/// written after the present boot.
fn read(
    text: &[u8],
    first: usize,
    begun: Option<&String>,
    now: Option<&String>,
) -> (BTreeMap<String, Known>, u64, bool) {
    let is_now = |boot: Option<&String>| boot.is_some() && boot == now;
    let mut known: BTreeMap<String, Known> = BTreeMap::new();
    let mut since_checkpoint = Vec::new();
    let (mut place, mut believed, mut is_same_boot) = (first, first, is_now(begun));
    while let Some((line, next)) = next_line::<Line>(text, place) {
        place = next;
        let mut is_durable = false;
        match line {
            Line::Boot(boot) => is_same_boot = is_now(boot.as_ref()),
            Line::Done { part, units, counted } => since_checkpoint.push((part, units, counted.report())),
            Line::Checkpoint => is_durable = true,
        }
        if is_same_boot || is_durable {
            believed = next;
            for (part, units, report) in since_checkpoint.drain(..) {
                let all = known.entry(part).or_default();
                all.units.extend(units);
                all.report.add(&report);
            }
        }
    }
    (known, believed as u64, is_same_boot)
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
mod tests {
    use super::*;

    fn fingerprint(options: &str) -> Fingerprint {
        Fingerprint::new([("source", vec![b"a".as_slice()]), ("options", vec![options.as_bytes()])])
    }

    fn counted(bytes: u64) -> ObjectReport {
        let mut report = ObjectReport { written: 1, bytes_written: bytes, ..ObjectReport::default() };
        report.figures.sum_of_squares = 0.1;
        report
    }

    fn folder() -> (tempfile::TempDir, LocalNode) {
        let folder = tempfile::tempdir().unwrap();
        let node = LocalNode::new(folder.path());
        (folder, node)
    }

    /// The text of the journal, and the same with the lines of another boot.
    fn rewrite(node: &LocalNode, change: impl Fn(String) -> String) {
        let path = Journal::path(node);
        let mut log = LogFile::open(&path).unwrap().unwrap();
        let text = String::from_utf8(log.read(1 << 20).unwrap()).unwrap();
        log.truncate(0).unwrap();
        log.append(change(text).as_bytes()).unwrap();
    }

    #[test]
    fn journal_taken_up_knows_finished_units_and_what_was_counted() {
        let (_folder, node) = folder();
        let journal = Journal::begin(&node, &fingerprint("x"), false).unwrap();
        for unit in [3, 0, 1, 7] {
            journal.part("/a").finished(unit..unit + 1, &counted(10)).unwrap();
        }
        journal.part("/b").finished(5..9, &counted(1)).unwrap();
        journal.flush().unwrap();
        drop(journal);
        let journal = Journal::resume(&node, &fingerprint("x")).unwrap().unwrap();
        let part = journal.part("/a");
        let done: Vec<u64> = (0..10).filter(|unit| part.is_done(*unit)).collect();
        assert_eq!(done, [0, 1, 3, 7]);
        assert_eq!(part.before().bytes_written, 40);
        assert_eq!(part.before().figures.sum_of_squares, 0.1 + 0.1 + 0.1 + 0.1);
        assert!(journal.part("/b").is_done(8) && !journal.part("/b").is_done(9));
        assert_eq!((journal.num_units(), journal.bytes_written()), (8, 41));
        journal.remove().unwrap();
        assert!(!Journal::is_at(&node));
    }

    #[test]
    fn torn_line_and_what_follows_it_do_not_count() {
        let (_folder, node) = folder();
        let journal = Journal::begin(&node, &fingerprint("x"), false).unwrap();
        journal.part("/").finished(0..1, &counted(1)).unwrap();
        journal.flush().unwrap();
        journal.part("/").finished(1..2, &counted(1)).unwrap();
        journal.flush().unwrap();
        drop(journal);
        let whole = std::fs::read(Journal::path(&node)).unwrap();
        let first_two = whole.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(1).unwrap().0 + 1;
        for cut in first_two..whole.len() {
            std::fs::write(Journal::path(&node), &whole[..cut]).unwrap();
            let journal = Journal::resume(&node, &fingerprint("x")).unwrap().unwrap();
            let part = journal.part("/");
            assert!(part.is_done(0) && !part.is_done(1), "cut at {cut}");
            // What is noted next follows whole lines.
            part.finished(5..6, &counted(1)).unwrap();
            journal.flush().unwrap();
            drop(journal);
            let journal = Journal::resume(&node, &fingerprint("x")).unwrap().unwrap();
            assert!(journal.part("/").is_done(5));
        }
    }

    #[test]
    fn header_of_a_journal_of_any_length_tells_what_it_replaces() {
        let (_folder, node) = folder();
        for replaces in [false, true] {
            let journal = Journal::begin(&node, &fingerprint("x"), replaces).unwrap();
            drop(journal);
            let file = std::fs::File::options().write(true).open(Journal::path(&node)).unwrap();
            file.set_len(MOST_BYTES + 1).unwrap();
            assert_eq!(Journal::replaces_at(&node), replaces);
        }
    }

    #[test]
    fn header_that_is_torn_is_no_journal() {
        let (_folder, node) = folder();
        Journal::begin(&node, &fingerprint("x"), false).unwrap();
        rewrite(&node, |text| text[..text.len() / 2].to_owned());
        assert!(Journal::resume(&node, &fingerprint("x")).unwrap().is_none());
        // It is begun anew, whatever stands there.
        assert!(Journal::begin(&node, &fingerprint("y"), false).is_ok());
        assert!(Journal::resume(&node, &fingerprint("y")).unwrap().is_some());
    }

    #[test]
    fn units_after_the_last_checkpoint_of_another_boot_are_done_again() {
        let (_folder, node) = folder();
        let journal = Journal::begin(&node, &fingerprint("x"), false).unwrap();
        journal.part("/").finished(0..4, &counted(1)).unwrap();
        journal.checkpoint().unwrap();
        journal.part("/").finished(4..6, &counted(1)).unwrap();
        journal.flush().unwrap();
        drop(journal);
        let boot = tree::boot_id().unwrap();
        rewrite(&node, |text| text.replace(&boot, "another"));
        for _ in 0..2 {
            let journal = Journal::resume(&node, &fingerprint("x")).unwrap().unwrap();
            let part = journal.part("/");
            assert!(part.is_done(3) && !part.is_done(4));
            assert_eq!(part.before().bytes_written, 1);
        }
        let journal = Journal::resume(&node, &fingerprint("x")).unwrap().unwrap();
        journal.part("/").finished(4..5, &counted(1)).unwrap();
        journal.flush().unwrap();
        drop(journal);
        assert!(Journal::resume(&node, &fingerprint("x")).unwrap().unwrap().part("/").is_done(4));
    }

    #[test]
    fn other_plan_and_other_run_are_refused() {
        let (_folder, node) = folder();
        let journal = Journal::begin(&node, &fingerprint("x"), false).unwrap();
        assert!(matches!(Journal::resume(&node, &fingerprint("x")), Err(JournalError::Locked)));
        assert!(matches!(Journal::begin(&node, &fingerprint("x"), false), Err(JournalError::Locked)));
        drop(journal);
        let refused = Journal::resume(&node, &fingerprint("y")).unwrap_err();
        assert_eq!(refused.to_string(), "what differs: options");
    }

    #[test]
    fn line_that_cannot_be_written_leaves_whole_lines() {
        use crate::store::fault::injection::{Failure, Injection};
        let (folder, node) = folder();
        let journal = Journal::begin(&node, &fingerprint("x"), false).unwrap();
        journal.part("/").finished(0..1, &counted(1)).unwrap();
        let injection = Injection::new(folder.path(), [(0, Failure::ShortWrite)]);
        assert!(journal.flush().is_err());
        drop(injection);
        journal.part("/").finished(7..8, &counted(1)).unwrap();
        journal.flush().unwrap();
        drop(journal);
        let journal = Journal::resume(&node, &fingerprint("x")).unwrap().unwrap();
        assert!(journal.part("/").is_done(7) && !journal.part("/").is_done(0));
    }
}
