//! Stores that fail where tests want them to.
//!
//! What fails is a call by its number, counted over all that is done through one [`Faults`]: to any store, and to the
//! objects and logs of it.

mod part;

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;

use crate::store::{
    Depth, Destination, EntryKind, Key, Log, Modes, Node, ObjectReader, ObjectWriter, Part, PrefetchLimit, Put, Result,
    Room, Store, StoreError, Tree, Visit,
};
use part::FaultyPart;

/// A call to a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Call {
    /// An object is opened, or a destination looked for.
    Open,
    /// Bytes are read, or something is listed.
    Read,
    /// What stands at a key is looked at.
    Look,
    /// An object, a folder or a log is begun.
    Create,
    /// Bytes are written in place.
    Write,
    /// A whole object takes the place of another.
    Publish,
    /// An object is copied.
    Copy,
    /// A log is locked.
    Lock,
    /// Something is made durable.
    Sync,
    /// What stands at a place is moved to another.
    Rename,
    /// What stands at two places is exchanged.
    Exchange,
    /// Something is removed.
    Remove,
}

/// What happens at the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The process dies: what is written is cut short, and no call after it is made.
    Kill,
    /// It fails before anything is done.
    Error(Errno),
    /// Half of the bytes are written, then it fails as if there were no space.
    ShortWrite,
    /// It is done, and fails all the same: an answer that never came.
    Late,
    /// The store cannot do it: no folders are exchanged, no logs are locked.
    Unsupported,
}

/// What a store was told that would be read, and what was read then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Heard {
    /// This part of the object of this name will be read.
    Expected(String, Part),
    /// It is read.
    Read(String, Part),
}

/// What fails, and what was called.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    failures: Vec<(usize, Failure)>,
    /// A kind of call that always fails.
    kind: Option<(Call, Failure)>,
    calls: Mutex<Vec<Call>>,
    /// How far ahead stores want to hear what will be read, and all that they heard.
    ahead: Option<PrefetchLimit>,
    heard: Mutex<Vec<Heard>>,
    /// What stores say they can take.
    room: Option<Room>,
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Faults {
    /// The calls of these numbers (from 0) fail.
    pub(crate) fn new(failures: impl Into<Vec<(usize, Failure)>>) -> Arc<Self> {
        Arc::new(Faults { failures: failures.into(), ..Faults::default() })
    }

    /// Every call of a kind fails.
    pub(crate) fn of_kind(call: Call, failure: Failure) -> Arc<Self> {
        Arc::new(Faults { kind: Some((call, failure)), ..Faults::default() })
    }

    /// Nothing fails, and stores want to hear what will be read.
    pub(crate) fn hearing(ahead: PrefetchLimit) -> Arc<Self> {
        Arc::new(Faults { ahead: Some(ahead), ..Faults::default() })
    }

    /// Nothing fails, and stores say that they can take this.
    pub(crate) fn with_room(room: Room) -> Arc<Self> {
        Arc::new(Faults { room: Some(room), ..Faults::default() })
    }

    /// What stores heard so far, and what was read of them.
    pub(crate) fn heard(&self) -> Vec<Heard> {
        held(&self.heard).clone()
    }

    fn hear(&self, heard: Heard) {
        if self.ahead.is_some() {
            held(&self.heard).push(heard);
        }
    }

    /// The calls so far.
    pub(crate) fn calls(&self) -> Vec<Call> {
        held(&self.calls).clone()
    }

    /// The node, through these faults.
    pub(crate) fn wrap(self: &Arc<Self>, node: &Node) -> Node {
        let inner = node.store.clone();
        Node { store: Arc::new(Faulty { inner, faults: self.clone() }), prefix: node.prefix.clone() }
    }

    /// The failure that is due; whether it is its turn, not only that the process is dead.
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

    /// Makes a call, or lets it fail; `half` does half of it.
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

/// A store of which calls fail.
#[derive(Debug)]
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

    /// Leaves what an interrupted replacement leaves: half a file under a temporary name, where there are files.
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
        self.faults.hear(Heard::Read(self.inner.shown(key), part));
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

    fn sizes(&self, folder: &Key<'_>, names: &[&str]) -> Result<Vec<Option<u64>>> {
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
            self.faults.hear(Heard::Expected(self.inner.shown(key), *part));
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
        Ok(match self.call(Call::Open, below, || self.inner.destination(below, replaces))? {
            Destination::InPlace(place) => Destination::InPlace(wrap(&place)),
            Destination::Beside { run, data, place } => {
                Destination::Beside { run: wrap(&run), data: wrap(&data), place: wrap(&place) }
            }
        })
    }

    fn rename(&self, from: &Key<'_>, to: &Path, exchanges: bool) -> Result<bool> {
        let call = if exchanges { Call::Exchange } else { Call::Rename };
        match self.call(call, from, || self.inner.rename(from, to, exchanges)) {
            Err(StoreError::Io { source, .. }) if source.kind() == std::io::ErrorKind::Unsupported => Ok(false),
            renamed => renamed,
        }
    }

    fn room(&self, below: &Key<'_>) -> Result<Room> {
        self.faults.room.map_or_else(|| self.inner.room(below), Ok)
    }

    fn with_modes(&self, modes: Modes) -> Option<Arc<dyn Store>> {
        let inner = self.inner.with_modes(modes)?;
        Some(Arc::new(Faulty { inner, faults: self.faults.clone() }))
    }
}
