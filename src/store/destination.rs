//! Where a hierarchy is written until it is whole, and how it takes its place; and logs: objects that grow by whole lines, and are
//! locked by the process that writes them.

use std::fmt::Debug;

use super::{EntryKind, Key, Node, Result, StoreError};

/// The folder in a node in which a run keeps what it needs to go on. It is removed at the end.
pub const RUN_FOLDER: Key<'static> = Key::known(".zarrcast");

/// The log of a run, in its folder.
pub const JOURNAL: Key<'static> = Key::known("journal");

/// Marks what is written beside its place, and goes with it: where it is tells whether that has its place.
const MARK: &str = ".zarrcast/new";

/// The old one in the folder of the run, where the store cannot exchange folders.
const OLD: &str = "old";

/// Where a hierarchy is written.
#[derive(Debug, Clone)]
pub enum Destination {
    /// Where it will stay: it opens once its documents are there.
    InPlace(Node),
    /// In the folder of the run, which lies beside the place.
    Beside {
        /// The folder of the run.
        run: Node,
        /// The data that are written: a folder or a zip file in the folder of the run.
        data: Node,
        /// Where it will stay.
        place: Node,
    },
}

impl Destination {
    /// Where it will stay.
    pub fn place(&self) -> &Node {
        match self {
            Destination::InPlace(place) | Destination::Beside { place, .. } => place,
        }
    }

    /// Where it is written.
    pub fn data(&self) -> &Node {
        match self {
            Destination::InPlace(data) | Destination::Beside { data, .. } => data,
        }
    }

    /// The folder of the run.
    pub fn run(&self) -> Node {
        match self {
            Destination::InPlace(place) => place.below(&RUN_FOLDER),
            Destination::Beside { run, .. } => run.clone(),
        }
    }

    /// Gives the data the permissions that `cp` would give them: see [`Node::with_permissions_of`].
    #[must_use]
    pub fn with_permissions_of(mut self, source: &Node, document: &str) -> Self {
        let (Destination::InPlace(data) | Destination::Beside { data, .. }) = &mut self;
        *data = data.clone().with_permissions_of(source, document);
        self
    }

    /// True if another run can go on with what this one leaves: not with half a zip file.
    pub fn keeps_unfinished(&self) -> bool {
        matches!(self, Destination::InPlace(_)) || self.data().is_local()
    }

    /// True if what was written beside the place has taken it: then the run has but to clear what it needed.
    pub fn has_taken_place(&self) -> Result<bool> {
        let Destination::Beside { run, data, place } = self else { return Ok(false) };
        let is_marked = |node: &Node| Ok::<_, StoreError>(node.kind_of(MARK)?.is_some());
        Ok(run.kind_of(JOURNAL.as_str())?.is_some() && is_marked(place)? && !is_marked(data)?)
    }

    /// The same, once it has its place.
    #[must_use]
    pub fn in_its_place(mut self) -> Self {
        if let Destination::Beside { data, place, .. } = &mut self {
            data.clone_from(place);
        }
        self
    }

    /// Gives the old one its place back, where a run ended after it had moved it away.
    pub fn restore(&self) -> Result<()> {
        let Destination::Beside { run, place, .. } = self else { return Ok(()) };
        let old = run.child(OLD)?;
        if old.exists()? && !place.exists()? {
            old.rename(place, false)?;
        }
        Ok(())
    }

    /// Makes what is written beside the place anew, in the folder of a run that is locked.
    pub fn begin(&self) -> Result<()> {
        let Destination::Beside { run, data, place } = self else { return Ok(()) };
        run.remove_entries_but(JOURNAL.as_str())?;
        data.create_root()?;
        if self.keeps_unfinished() {
            // As one may be left that has its place.
            place.remove(MARK)?;
            data.write(MARK, b"")?;
        }
        Ok(())
    }

    /// Gives what is whole its place, where nothing is unless it `replaces` that. The old one keeps its place until then.
    pub fn take_place(&self, replaces: bool) -> Result<()> {
        let Destination::Beside { run, data, place } = self else { return Ok(()) };
        // What came to stand there meanwhile is nobody's to replace.
        if !replaces || !place.exists()? {
            return data.rename(place, false).map(drop);
        }
        if data.rename(place, true)? {
            return Ok(());
        }
        let old = run.child(OLD)?;
        place.rename(&old, false)?;
        if let Err(error) = data.rename(place, false) {
            old.rename(place, false)?;
            return Err(error);
        }
        Ok(())
    }

    /// Removes what the run needed, and the old one: what tells that it is not over goes last.
    pub fn clear(&self) -> Result<()> {
        if let Destination::Beside { run, .. } = self {
            run.remove_with_last(JOURNAL.as_str())?;
        }
        if self.keeps_unfinished() { clear_run_folder(self.place()) } else { Ok(()) }
    }

    /// Removes all that was written.
    pub fn remove(&self) -> Result<()> {
        match self {
            Destination::InPlace(place) => place.remove_root(),
            Destination::Beside { run, .. } => run.remove_with_last(JOURNAL.as_str()),
        }
    }
}

/// The plan of a job in parts, in the folder of a run.
pub const PLAN: &str = "plan.json";

/// Removes the folder of a run in a node, the plan of one in parts last: as long as that is there it is known what is left
/// to do.
pub fn clear_run_folder(node: &Node) -> Result<()> {
    node.below(&RUN_FOLDER).remove_with_last(PLAN)
}

/// True if a run has left its folder in a node.
pub fn has_run_folder(node: &Node) -> bool {
    matches!(node.below(&RUN_FOLDER).kind(), Ok(Some(EntryKind::Folder)))
}

/// The relation of two nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Relation {
    /// Neither is in the other.
    Apart,
    /// They are the same.
    Same,
    /// One is in the other.
    Nested,
}

impl Relation {
    /// The relation of two nodes, from what lies in what.
    pub(super) fn of(is_inside: bool, is_around: bool) -> Self {
        match (is_inside, is_around) {
            (true, true) => Relation::Same,
            (false, false) => Relation::Apart,
            _ => Relation::Nested,
        }
    }
}

/// A log that is open. It is unlocked when it is dropped, or its process ends.
pub trait Log: Debug + Send + Sync {
    /// Locks it, unless another process has, or had until now and has removed it.
    fn lock(&mut self, asker: &Asker<'_>) -> Result<Lock>;

    /// True if the lock was lost: another process has it by now, and what lies there is that one's; or it was removed.
    fn is_lost(&self) -> bool;

    /// True if it is this process's still, for certain: the store is asked.
    fn confirm(&mut self) -> Result<bool> {
        Ok(!self.is_lost())
    }

    /// All of it, if that is at most `max_bytes`.
    fn read(&mut self, max_bytes: u64) -> Result<Vec<u8>>;

    /// Cuts it to its first `length` bytes; what is appended follows them, and nothing of what others append, who may have it
    /// open where nothing keeps them out.
    fn cut(&mut self, length: u64) -> Result<()>;

    /// Appends whole lines.
    fn append(&mut self, bytes: &[u8]) -> Result<()>;

    /// Makes it durable.
    fn sync(&mut self) -> Result<()>;
}

/// A log that keeps nothing: what lies in memory ends with its process.
#[derive(Debug)]
pub(super) struct NoLog;

impl Log for NoLog {
    fn lock(&mut self, _asker: &Asker<'_>) -> Result<Lock> {
        Ok(Lock::Held)
    }

    fn is_lost(&self) -> bool {
        false
    }

    fn read(&mut self, _max_bytes: u64) -> Result<Vec<u8>> {
        Ok(Vec::new())
    }

    fn cut(&mut self, _length: u64) -> Result<()> {
        Ok(())
    }

    fn append(&mut self, _bytes: &[u8]) -> Result<()> {
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Who asks for a lock. Locks of the operating system need nothing of that; other stores note it.
pub struct Asker<'a> {
    /// Names the asker to others.
    pub note: &'a str,
    /// True if the one that a note names is known to have ended.
    pub has_ended: &'a dyn Fn(&str) -> bool,
}

/// The holder of a log's lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lock {
    /// This process's.
    Held,
    /// Another process's, by its note where there is one.
    Elsewhere(Option<Holding>),
    /// The store has no locks.
    Unsupported,
}

/// The lock of another process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holding {
    /// The note of its holder.
    pub note: String,
    /// Seconds since it was taken, where that is known.
    pub age: Option<u64>,
    /// Seconds without a sign of its holder, after which it is taken over.
    pub expires_after: u64,
}

/// Whoever asks for locks of the operating system.
#[cfg(test)]
pub(crate) const NOBODY: Asker<'static> = Asker { note: "", has_ended: &|_| false };
