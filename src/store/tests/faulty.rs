//! Stores with calls that fail on purpose.
//!
//! A call is identified by its number. It counts all calls through one [`Faults`]: to any store, and to its objects and
//! logs.

mod part;

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;

use crate::store::{
    Depth, Destination, EntryKind, FreeSpace, Key, Log, Modes, Node, ObjectReader, ObjectWriter, Part, PrefetchLimit,
    Put, Result, Store, StoreError, Tree, Visit,
};
use part::FaultyPart;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Call {
    /// Opens an object, or finds a destination.
    Open,
    /// Reads bytes, or lists a folder.
    Read,
    /// Reads the size or the kind of an entry.
    Look,
    /// Creates an object, a folder or a log.
    Create,
    /// Writes bytes in place.
    Write,
    /// Replaces a whole object.
    Publish,
    /// Copies an object.
    Copy,
    /// Locks a log.
    Lock,
    /// Makes something durable.
    Sync,
    /// Renames an entry.
    Rename,
    /// Exchanges two entries.
    Exchange,
    /// Removes something.
    Remove,
}

/// The effect on the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The process dies: the bytes are cut short, and all later calls fail.
    Kill,
    /// The call fails before it does anything.
    Error(Errno),
    /// Half of the bytes are written, then the call fails as if the disk were full.
    ShortWrite,
    /// The call succeeds but returns an error, like an answer that is lost.
    Late,
    /// The store does not support the call: it exchanges no folders and locks no logs.
    Unsupported,
}

/// A prefetch or a read of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StoreCall {
    /// The store is asked to prefetch this part of the object of this name.
    Expected(String, Part),
    /// The part is read.
    Read(String, Part),
}

/// The calls that fail, and all calls so far.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    failures: Vec<(usize, Failure)>,
    /// A kind of call that always fails.
    kind: Option<(Call, Failure)>,
    calls: Mutex<Vec<Call>>,
    /// The prefetch limit of the stores, and all prefetches and reads so far.
    ahead: Option<PrefetchLimit>,
    heard: Mutex<Vec<StoreCall>>,
    /// The capacity that stores report.
    free_space: Option<FreeSpace>,
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Faults {
    /// Lets the calls with these numbers (from 0) fail.
    pub(crate) fn new(failures: impl Into<Vec<(usize, Failure)>>) -> Arc<Self> {
        Arc::new(Faults { failures: failures.into(), ..Faults::default() })
    }

    /// Lets every call of a kind fail.
    pub(crate) fn of_kind(call: Call, failure: Failure) -> Arc<Self> {
        Arc::new(Faults { kind: Some((call, failure)), ..Faults::default() })
    }

    /// Lets nothing fail and records prefetches and reads.
    pub(crate) fn hearing(ahead: PrefetchLimit) -> Arc<Self> {
        Arc::new(Faults { ahead: Some(ahead), ..Faults::default() })
    }

    /// Lets nothing fail. Stores report this capacity.
    pub(crate) fn with_free_space(free_space: FreeSpace) -> Arc<Self> {
        Arc::new(Faults { free_space: Some(free_space), ..Faults::default() })
    }

    /// Returns the prefetches and reads so far.
    pub(crate) fn heard(&self) -> Vec<StoreCall> {
        held(&self.heard).clone()
    }

    fn hear(&self, heard: StoreCall) {
        if self.ahead.is_some() {
            held(&self.heard).push(heard);
        }
    }

    pub(crate) fn calls(&self) -> Vec<Call> {
        held(&self.calls).clone()
    }

    /// Returns the node with its store wrapped in these faults.
    pub(crate) fn wrap(self: &Arc<Self>, node: &Node) -> Node {
        let inner = node.store.clone();
        Node { store: Arc::new(Faulty { inner, faults: self.clone() }), prefix: node.prefix.clone() }
    }

    /// Returns the failure of the next call. The flag is false for a call after [`Failure::Kill`].
    fn due(&self, call: Call) -> Option<(Failure, bool)> {
        let mut calls = held(&self.calls);
        let number = calls.len();
        calls.push(call);
        if let Some((_, failure)) = self.kind.filter(|(kind, _)| *kind == call) {
            return Some((failure, true));
        }
        self.failures.iter().find_map(|(at, failure)| match failure {
            Failure::Kill if number > *at => Some((*failure, false)),
            _ if number == *at => Some((*failure, true)),
            _ => None,
        })
    }

    /// Makes a call or fails. `half` does half of the call.
    fn call<T>(&self, call: Call, name: &str, whole: impl FnOnce() -> Result<T>, half: impl FnOnce()) -> Result<T> {
        let source = match self.due(call) {
            None => return whole(),
            Some((Failure::Kill, is_now)) => {
                if is_now {
                    half();
                }
                std::io::Error::other("the process is dead")
            }
            Some((Failure::Error(errno), _)) => errno.into(),
            Some((Failure::ShortWrite, _)) => {
                half();
                Errno::NOSPC.into()
            }
            Some((Failure::Late, _)) => {
                drop(whole()?);
                Errno::IO.into()
            }
            Some((Failure::Unsupported, _)) => std::io::ErrorKind::Unsupported.into(),
        };
        Err(StoreError::Io { action: "reach", object: name.to_owned(), source })
    }
}

struct Faulty {
    inner: Arc<dyn Store>,
    faults: Arc<Faults>,
}

fn first_half(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.len() / 2]
}

impl Faulty {
    fn call<T>(&self, call: Call, key: &Key<'_>, whole: impl FnOnce() -> Result<T>) -> Result<T> {
        self.faults.call(call, &self.inner.shown(key), whole, || ())
    }

    /// Leaves the same as an interrupted replacement in a local store: half a file under a temporary name.
    fn leave_half(&self, key: &Key<'_>, bytes: &[u8]) {
        if self.as_local().is_none() {
            return;
        }
        let (folder, name) = key.split_last().unwrap();
        let stem = name.rsplit_once('.').map_or(name, |(stem, _)| if stem.is_empty() { name } else { stem });
        let temporary = folder.below(&Key::new(&format!("{stem}.zarrcast-partial")).unwrap());
        let _ = self.inner.put(&temporary, first_half(bytes), Put::Plain);
    }
}

impl Store for Faulty {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn inner(&self) -> Option<&dyn Store> {
        Some(&*self.inner)
    }

    fn read(&self, key: &Key<'_>, part: Part, most: u64, into: &mut Vec<u8>) -> Result<bool> {
        self.faults.hear(StoreCall::Read(self.inner.shown(key), part));
        self.call(Call::Read, key, || self.inner.read(key, part, most, into))
    }

    fn open(&self, key: &Key<'_>, most: u64) -> Result<Option<ObjectReader>> {
        let opened = self.call(Call::Open, key, || self.inner.open(key, most))?;
        let name = self.inner.shown(key);
        Ok(opened.map(|inner| Box::new(FaultyPart { inner, name, faults: self.faults.clone() }) as ObjectReader))
    }

    fn size(&self, key: &Key<'_>) -> Result<Option<u64>> {
        self.call(Call::Look, key, || self.inner.size(key))
    }

    fn sizes(&self, folder: &Key<'_>, names: &[&str]) -> Result<Vec<Result<Option<u64>>>> {
        self.call(Call::Look, folder, || self.inner.sizes(folder, names))
    }

    fn kind(&self, key: &Key<'_>) -> Result<Option<EntryKind>> {
        self.call(Call::Look, key, || self.inner.kind(key))
    }

    fn list(&self, below: &Key<'_>, depth: Depth, each: &mut Visit<'_>) -> Result<()> {
        self.call(Call::Read, below, || self.inner.list(below, depth, each))
    }

    fn prefetch_limit(&self) -> Option<PrefetchLimit> {
        self.faults.ahead.or_else(|| self.inner.prefetch_limit())
    }

    fn prefetch(&self, soon: &[(Key<'_>, Part)]) {
        for (key, part) in soon {
            self.faults.hear(StoreCall::Expected(self.inner.shown(key), *part));
        }
        self.inner.prefetch(soon);
    }

    fn writer(&self, key: &Key<'_>) -> Result<ObjectWriter> {
        let inner = self.call(Call::Create, key, || self.inner.writer(key))?;
        let name = self.inner.shown(key);
        Ok(Box::new(FaultyPart { inner: Some(inner), name, faults: self.faults.clone() }))
    }

    fn copy_from(&self, source: &dyn Store, (from, to): (&Key<'_>, &Key<'_>), most: u64) -> Result<Option<u64>> {
        let half = || {
            let mut bytes = Vec::new();
            if let Ok(true) = source.read(from, Part::Whole, most, &mut bytes) {
                let _ = self.inner.put(to, first_half(&bytes), Put::Plain);
            }
        };
        let name = self.inner.shown(to);
        self.faults.call(Call::Copy, &name, || self.inner.copy_from(source, (from, to), most), half)
    }

    fn put(&self, key: &Key<'_>, bytes: &[u8], how: Put) -> Result<bool> {
        let call = if how == Put::Plain { Call::Write } else { Call::Publish };
        let half = || match how {
            Put::Plain => drop(self.inner.put(key, first_half(bytes), how)),
            Put::Whole | Put::Durable => self.leave_half(key, bytes),
            Put::New => {}
        };
        let name = self.inner.shown(key);
        self.faults.call(call, &name, || self.inner.put(key, bytes, how), half)
    }

    fn remove(&self, key: &Key<'_>, what: Tree<'_>) -> Result<bool> {
        self.call(Call::Remove, key, || self.inner.remove(key, what))
    }

    fn sync(&self, below: &Key<'_>) -> Result<()> {
        self.call(Call::Sync, below, || self.inner.sync(below))
    }

    fn create_folder(&self, key: &Key<'_>) -> Result<()> {
        self.call(Call::Create, key, || self.inner.create_folder(key))
    }

    fn begin_log(&self, key: &Key<'_>) -> Result<Box<dyn Log>> {
        let inner = self.call(Call::Create, key, || self.inner.begin_log(key))?;
        let name = self.inner.shown(key);
        Ok(Box::new(FaultyPart { inner, name, faults: self.faults.clone() }))
    }

    fn destination(&self, below: &Key<'_>, replaces: bool) -> Result<Destination> {
        let wrap = |node: &Node| self.faults.wrap(node);
        let found = self.call(Call::Open, below, || self.inner.destination(below, replaces))?;
        Ok(Destination {
            target: wrap(&found.target),
            data: wrap(&found.data),
            beside: found.beside.as_ref().map(wrap),
        })
    }

    fn rename(&self, from: &Key<'_>, to: &Path, exchanges: bool) -> Result<bool> {
        let call = if exchanges { Call::Exchange } else { Call::Rename };
        match self.call(call, from, || self.inner.rename(from, to, exchanges)) {
            Err(StoreError::Io { source, .. }) if source.kind() == std::io::ErrorKind::Unsupported => Ok(false),
            renamed => renamed,
        }
    }

    fn free_space(&self, below: &Key<'_>) -> Result<FreeSpace> {
        self.faults.free_space.map_or_else(|| self.inner.free_space(below), Ok)
    }

    fn with_modes(&self, modes: Modes) -> Option<Arc<dyn Store>> {
        let inner = self.inner.with_modes(modes)?;
        Some(Arc::new(Faulty { inner, faults: self.faults.clone() }))
    }
}
