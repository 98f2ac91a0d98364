//! Destinations: where a hierarchy is written until it is complete, and how it is published. Also logs: objects that
//! grow by whole lines, and are locked by their writer.

use super::{EntryKind, Key, Node, Result, StoreError};

/// Folder of a run in a node, with the data to resume it. It is removed at the end.
pub const RUN_FOLDER: Key<'static> = Key::known(".zarrcast");

/// Log of a run, in its folder.
pub const JOURNAL: Key<'static> = Key::known("journal");

/// Marker file in data that are written next to their final path. It moves with them: its folder shows whether they are
/// published.
const MARK: &str = ".zarrcast/new";

/// Name of the old hierarchy in the folder of the run, for stores that cannot exchange folders.
const OLD: &str = "old";

/// Destination of a hierarchy.
#[derive(Debug, Clone)]
pub struct Destination {
    /// Final node. It opens once its documents exist.
    pub target: Node,
    /// Data being written: the final node itself, or a folder or a zip file in the folder of the run next to it.
    pub data: Node,
    /// Folder of the run if it is next to the final node.
    pub beside: Option<Node>,
}

impl Destination {
    /// Returns the destination of data that are written at their final path.
    pub(super) fn in_place(target: Node) -> Self {
        Destination { data: target.clone(), target, beside: None }
    }

    /// Returns the folder of the run.
    pub fn run(&self) -> Node {
        self.beside.clone().unwrap_or_else(|| self.data.below(&RUN_FOLDER))
    }

    /// Sets the permissions of new data as `cp` would. See [`Node::with_permissions_of`].
    #[must_use]
    pub fn with_permissions_of(self, source: &Node, document: &str) -> Self {
        Destination { data: self.data.with_permissions_of(source, document), ..self }
    }

    /// Returns true if another run can resume this one. An incomplete zip file cannot be resumed.
    pub fn keeps_unfinished(&self) -> bool {
        self.beside.is_none() || self.data.is_local()
    }

    /// Returns true if the data are already published. The run then only needs to clean up.
    pub fn has_taken_place(&self) -> Result<bool> {
        let Some(run) = &self.beside else { return Ok(false) };
        let is_marked = |node: &Node| Ok::<_, StoreError>(node.kind_of(MARK)?.is_some());
        // After an exchange, the data of the run are the old hierarchy, which has no marker.
        Ok(run.kind_of(JOURNAL.as_str())?.is_some() && is_marked(&self.target)? && !is_marked(&self.data)?)
    }

    /// Moves the old hierarchy back, if a run ended after it had moved it away.
    pub fn restore(&self) -> Result<()> {
        let Some(run) = &self.beside else { return Ok(()) };
        let old = run.child(OLD)?;
        if old.exists()? && !self.target.exists()? {
            old.rename(&self.target, false)?;
        }
        Ok(())
    }

    /// Creates the data next to the final path from scratch. The folder of the run must be locked.
    pub fn begin(&self) -> Result<()> {
        let Destination { target, data, beside: Some(run) } = self else { return Ok(()) };
        // The lock of the run is on the file of the journal, so the file stays.
        run.remove_entries_but(JOURNAL.as_str())?;
        data.create_root()?;
        if self.keeps_unfinished() {
            // A published hierarchy may still contain the marker.
            target.remove(MARK)?;
            data.write(MARK, b"")?;
        }
        Ok(())
    }

    /// Publishes the complete data at the final path. It must be free unless `replaces` is set. The old hierarchy stays
    /// until then.
    pub fn take_place(&self, replaces: bool) -> Result<()> {
        let Destination { target, data, beside: Some(run) } = self else { return Ok(()) };
        // If `replaces` is unset, an entry that appeared meanwhile must not be replaced.
        if !replaces || !target.exists()? {
            return data.rename(target, false).map(drop);
        }
        // The exchange leaves the old hierarchy at the path of the data. `clear` removes it with the folder of the run.
        if data.rename(target, true)? {
            return Ok(());
        }
        let old = run.child(OLD)?;
        // A process that dies between the two renames leaves no target. The next run calls `restore`.
        target.rename(&old, false)?;
        if let Err(error) = data.rename(target, false) {
            old.rename(target, false)?;
            return Err(error);
        }
        Ok(())
    }

    /// Removes the data of the run and the old hierarchy. The entry that marks the run as unfinished is removed last.
    pub fn clear(&self) -> Result<()> {
        if let Some(run) = &self.beside {
            run.remove_with_last(JOURNAL.as_str())?;
        }
        // A zip file has no marker, and its members cannot be removed.
        if self.keeps_unfinished() { clear_run_folder(&self.target) } else { Ok(()) }
    }

    /// Removes everything that was written.
    pub fn remove(&self) -> Result<()> {
        match &self.beside {
            Some(run) => run.remove_with_last(JOURNAL.as_str()),
            None => self.target.remove_root(),
        }
    }
}

/// Plan of a job in parts, in the folder of a run.
pub const PLAN: &str = "plan.json";

/// Removes the folder of a run in a node. The plan of a job in parts is removed last, as it lists the remaining work.
pub fn clear_run_folder(node: &Node) -> Result<()> {
    node.below(&RUN_FOLDER).remove_with_last(PLAN)
}

/// Returns true if a run has left its folder in a node.
pub fn has_run_folder(node: &Node) -> bool {
    matches!(node.below(&RUN_FOLDER).kind(), Ok(Some(EntryKind::Folder)))
}

/// Returns true if a run or a job in parts has begun in a node: its folder has a journal or a plan.
pub fn has_begun(node: &Node) -> Result<bool> {
    let run = node.below(&RUN_FOLDER);
    Ok(run.kind_of(JOURNAL.as_str())?.is_some() || run.kind_of(PLAN)?.is_some())
}

/// Relation of two nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Relation {
    /// Neither contains the other.
    Apart,
    /// They are the same node.
    Same,
    /// One contains the other.
    Nested,
}

impl Relation {
    pub(super) fn new(is_inside: bool, is_around: bool) -> Self {
        match (is_inside, is_around) {
            (true, true) => Relation::Same,
            (false, false) => Relation::Apart,
            _ => Relation::Nested,
        }
    }
}

/// Open log. Dropping it or the end of its process unlocks it. The default implementation keeps nothing and belongs to
/// this process alone.
pub trait Log: Send + Sync {
    /// Locks the log, unless another process has the lock, or had it and has just removed the log.
    fn lock(&mut self, _asker: &LockRequest<'_>) -> Result<Lock> {
        Ok(Lock::Held)
    }

    /// Returns true if the lock was lost: another process has taken it, or the log was removed.
    fn is_lost(&self) -> bool {
        false
    }

    /// Asks the store whether this process still has the lock.
    fn confirm(&mut self) -> Result<bool> {
        Ok(!self.is_lost())
    }

    /// Reads the whole log. Fails if it has more than `max_bytes`.
    fn read(&mut self, _max_bytes: u64) -> Result<Vec<u8>> {
        Ok(Vec::new())
    }

    /// Truncates the log to `length` bytes. Later appends of other processes that still have it open must not reach it,
    /// as some stores have no locks.
    fn cut(&mut self, _length: u64) -> Result<()> {
        Ok(())
    }

    /// Appends whole lines.
    fn append(&mut self, _bytes: &[u8]) -> Result<()> {
        Ok(())
    }

    /// Makes the log durable.
    fn sync(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Log without contents. The data of a store in memory end with the process.
pub(super) struct NoLog;

impl Log for NoLog {}

/// Process that asks for a lock. Locks of the operating system ignore it, other stores record it.
pub struct LockRequest<'a> {
    /// Text that names the process to others.
    pub note: &'a str,
    /// Returns true if the process of a note has certainly ended.
    pub has_ended: &'a dyn Fn(&str) -> bool,
}

/// Owner of a log's lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lock {
    /// This process.
    Held,
    /// Another process, with its note if there is one. Such a lock expires, see [`LOCK_EXPIRES_AFTER`].
    Elsewhere(Option<String>),
    /// The store has no locks.
    Unsupported,
}

/// Seconds without a renewal after which any process may take a lock that has a note.
pub const LOCK_EXPIRES_AFTER: u64 = 60;

/// Asker for locks of the operating system.
#[cfg(test)]
pub(crate) const NOBODY: LockRequest<'static> = LockRequest { note: "", has_ended: &|_| false };
