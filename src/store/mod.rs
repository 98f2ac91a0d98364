//! Where arrays lie: objects by key. Only this row touches files.
//!
//! Everything above holds a [`Node`]: a [`Store`] and the key below which the objects of an array or a group lie.

mod consolidated;
mod destination;
mod error;
pub mod file;
mod key;
pub mod local;
pub mod location;
pub mod machine;
mod memory;
mod node;
mod object;
mod percent;
mod references;
#[cfg(feature = "remote")]
mod remote;
mod remote_options;
#[cfg(test)]
pub(crate) mod tests;
mod zip;

use std::fmt::Debug;
use std::ops::{ControlFlow, Range};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use consolidated::ConsolidatedScope;
pub use destination::{Asker, Holding, Lock, Log};
pub use destination::{Destination, JOURNAL, PLAN, RUN_FOLDER, Relation, clear_run_folder, has_run_folder};
pub use error::{RemoteError, StoreError};
pub use key::{Key, MAX_KEY_BYTES};
pub use local::{LocalStore, Modes};
pub use location::{Location, LocationError};
pub use memory::{MemoryReader, MemoryStore};
use memory::{SortedKeys, get_or_open, is_below, remove_from};
use node::object_name;
pub use node::{MAX_DOCUMENT_BYTES, Node};
pub use object::{EntryKind, FolderListing, LinkTarget, ObjectReader, ObjectWriter, ReadObject, WriteObject};
use object::{PartReader, describe, part};
pub use references::ReferenceStore;
pub use remote_options::RemoteOptions;
pub use zip::ZipStore;

pub use file::FileFormat;

/// The result of a call to a store.
pub type Result<T, E = StoreError> = std::result::Result<T, E>;

/// Takes what a listing finds, until it breaks off.
pub type Visit<'v> = dyn FnMut(Entry<'_>) -> ControlFlow<()> + 'v;

/// Objects by key. Calls block; any thread may make them.
///
/// A store that only reads has nothing to do for what writes and removes: without more said, that is refused. One that is
/// wrapped around another does what that does.
///
/// A folder is what a key with objects below it is. Some stores have folders of their own, which may be empty, have
/// permissions, and must be made; to the others they are nothing but the beginning of keys.
pub trait Store: Debug + Send + Sync {
    /// As messages name it; never a secret.
    fn name(&self) -> &str;

    /// The store that it is wrapped around.
    fn inner(&self) -> Option<&dyn Store> {
        None
    }

    /// Its abilities. Without more said, it tells its keys, and no network lies in between.
    fn abilities(&self) -> Abilities {
        self.inner().map_or(Abilities { lists: true, is_remote: false }, Store::abilities)
    }

    /// The name of a key for messages.
    fn shown(&self, key: &Key<'_>) -> String {
        object_name(self.name(), key)
    }

    /// Reads an object, or a part of it, into `into` (replaced); false where it is absent. More than `most` bytes are
    /// an error, found before they are read.
    fn read(&self, key: &Key<'_>, part: Part, most: u64, into: &mut Vec<u8>) -> Result<bool> {
        // What is read replaces what `into` held: clearing it first would fill it with zeros for nothing.
        let Some(reader) = self.open(key, most)? else {
            into.clear();
            return Ok(false);
        };
        let (offset, length) = part.of(reader.length(), most, || self.shown(key))?;
        reader.read_at(offset, length, into)?;
        Ok(true)
    }

    /// Opens an object that is read in many parts; `None` where it is absent. It should hold at most `most` bytes: where only
    /// reading it tells how many there are, no more is read.
    fn open(&self, key: &Key<'_>, most: u64) -> Result<Option<ObjectReader>>;

    /// The size of an object in bytes; `None` where it is absent.
    fn size(&self, key: &Key<'_>) -> Result<Option<u64>>;

    /// The sizes of some objects of one folder, by their names in it, one after the other; absent ones have none.
    fn sizes(&self, folder: &Key<'_>, names: &[&str]) -> Result<Vec<Option<u64>>> {
        match self.inner() {
            Some(inner) => inner.sizes(folder, names),
            None => names.iter().map(|name| self.size(&folder.join(name)?)).collect(),
        }
    }

    /// The kind of what stands at a key, links not followed.
    fn kind(&self, key: &Key<'_>) -> Result<Option<EntryKind>>;

    /// Gives what lies below a key to `each` as it is found, until that breaks off. No link is followed; where nothing is,
    /// nothing is found.
    fn list(&self, below: &Key<'_>, depth: Depth, each: &mut Visit<'_>) -> Result<()>;

    /// Returns how far ahead it wants to be told what will be read; `None` where that is of no use to it: then nothing is told.
    fn prefetch_limit(&self) -> Option<PrefetchLimit> {
        self.inner()?.prefetch_limit()
    }

    /// These parts will be read soon, in this order. A hint: it takes no time, and gives no error. More may come than it asked
    /// for, since one piece of work may read more: it goes by its own bounds.
    fn prefetch(&self, _soon: &[(Key<'_>, Part)]) {}

    /// Writes a whole object; false where it was to be new, and another stands there.
    fn put(&self, key: &Key<'_>, _bytes: &[u8], _how: Put) -> Result<bool> {
        Err(StoreError::unsupported("write", self.shown(key)))
    }

    /// Begins an object that is written in order.
    fn writer(&self, key: &Key<'_>) -> Result<ObjectWriter> {
        Err(StoreError::unsupported("create", self.shown(key)))
    }

    /// Copies an object of another store, byte for byte; its size in bytes, `None` where it is absent. One of more than
    /// `most` bytes is an error.
    fn copy_from(&self, source: &dyn Store, (from, to): (&Key<'_>, &Key<'_>), most: u64) -> Result<Option<u64>> {
        copy_in_pieces(self, source, (from, to), most)
    }

    /// Removes what stands at a key; false where it is known that nothing did. Links are not followed.
    fn remove(&self, key: &Key<'_>, _what: Tree<'_>) -> Result<bool> {
        match self.kind(key)? {
            Some(_) => Err(StoreError::unsupported("remove", self.shown(key))),
            None => Ok(false),
        }
    }

    /// Makes all that was written below a key durable.
    fn sync(&self, _below: &Key<'_>) -> Result<()> {
        Ok(())
    }

    /// Makes a folder, and those above it where they are missing; an error where something stands there.
    fn create_folder(&self, key: &Key<'_>) -> Result<()> {
        Err(StoreError::unsupported("create", self.shown(key)))
    }

    /// Names what lies below a key in the same way whatever name the user gave it.
    fn identity(&self, below: &Key<'_>) -> Vec<u8> {
        self.inner().map_or_else(|| self.shown(below).into_bytes(), |inner| inner.identity(below))
    }

    /// Opens a log, or makes an empty one in a folder that is its own, and which no others may look into. A link is not
    /// followed.
    fn begin_log(&self, key: &Key<'_>) -> Result<Box<dyn Log>> {
        Err(StoreError::unsupported("create", self.shown(key)))
    }

    /// Where a hierarchy is written that is to lie below a key, and may replace what is there. What is written to it and
    /// removed from it is so through no link. Nothing is touched.
    fn destination(&self, below: &Key<'_>, _replaces: bool) -> Result<Destination> {
        Err(StoreError::unsupported("write", self.shown(below)))
    }

    /// Moves what stands at a key to a local path where nothing is, or exchanges it for what is there; false where it cannot
    /// do that at once. What names there are is durable then.
    fn rename(&self, from: &Key<'_>, _to: &Path, _exchanges: bool) -> Result<bool> {
        Err(StoreError::unsupported("rename", self.shown(from)))
    }

    /// The free space below a key.
    fn room(&self, _below: &Key<'_>) -> Result<Room> {
        Ok(Room { blocks: u64::MAX, block_bytes: 1, files: u64::MAX })
    }

    /// The same store, which makes objects and folders with these permissions; `None` where there are no permissions.
    fn with_modes(&self, _modes: Modes) -> Option<Arc<dyn Store>> {
        None
    }

    /// The object that the store is in, at the node's own place: a zip file, where the store is what it holds.
    fn container(&self) -> Option<&Node> {
        self.inner()?.container()
    }

    /// The objects elsewhere that its own are read from: what a reference file points at.
    fn targets(&self) -> Result<Vec<Node>> {
        self.inner().map_or_else(|| Ok(Vec::new()), Store::targets)
    }

    /// The local folder, where that is what the store is: local stores do together what no two others can, such as copying
    /// inside the system.
    fn as_local(&self) -> Option<&LocalStore> {
        self.inner()?.as_local()
    }

    /// The store behind a network, where that is what the store is.
    fn network(&self) -> Option<&dyn Network> {
        self.inner()?.network()
    }
}

/// Calls that only a store behind a network has.
pub trait Network: Send + Sync {
    /// True if it tells which objects lie below a key, as far as is known: it may have refused to.
    fn tells_keys(&self, below: &Key<'_>) -> bool;

    /// True if it copies objects of another store without their bytes coming here.
    fn copies_from(&self, source: &dyn Store) -> bool;

    /// The number of objects below a key that the store has refused so far and that count as absent
    /// ([`RemoteOptions::refused_is_absent`]), documents not counted.
    fn num_refused(&self, below: &Key<'_>) -> u64;

    /// True if objects that it refuses count as absent.
    fn refused_is_absent(&self) -> bool;

    /// The number of the next write: writes go on after a call has begun them.
    fn next_write(&self) -> u64;

    /// True if all of the writes of these numbers have succeeded.
    fn are_written(&self, writes: Range<u64>) -> bool;

    /// Lets go of what would be left in the store where the process ended now: uploads that are not complete, and locks.
    fn release_on_exit(&self);

    /// The store itself: a server copies between its buckets.
    #[cfg(feature = "remote")]
    fn as_remote(&self) -> &remote::RemoteStore;
}

/// The way in which a whole object is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Put {
    /// In place.
    Plain,
    /// Never seen in part. It is durable once the store is synced.
    Whole,
    /// Never seen in part, and durable when the call returns.
    Durable,
    /// The same where there is none, also if another process makes one at the same time. Where the answer of a server to what
    /// made it was lost, its own object may count as another's.
    New,
}

/// The extent of a removal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tree<'a> {
    /// The object at the key.
    Object,
    /// All that lies below the key. Nothing there is no error.
    All,
    /// The same but what lies below another key, which is in it.
    AllBut(&'a Key<'a>),
}

/// The abilities of a store. What it cannot do is done in another way, or not at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Abilities {
    /// It tells which objects there are.
    pub lists: bool,
    /// It lies behind a network: each call is a request, and what can be done without is not asked for.
    pub is_remote: bool,
}

/// The most that a store is told of before it is read, of what is not under way yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrefetchLimit {
    /// Parts of objects.
    pub requests: usize,
    /// Bytes, as far as they are known before.
    pub bytes: u64,
}

/// Bytes of a part in which a large object is put into an object store.
pub const UPLOAD_PART_BYTES: u64 = 8 << 20;

/// A part of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Part {
    /// All of it.
    Whole,
    /// `length` bytes from `offset`, all of which it must have.
    Range {
        /// The first byte.
        offset: u64,
        /// Bytes.
        length: u64,
    },
    /// Its last bytes, or all where it has fewer: the index of a shard in one request.
    Last(u64),
}

impl Part {
    /// Where it begins in an object of so many bytes, and how many it has.
    fn within(self, object_bytes: u64) -> (u64, u64) {
        match self {
            Part::Whole => (0, object_bytes),
            Part::Range { offset, length } => (offset, length),
            Part::Last(length) => (object_bytes.saturating_sub(length), length.min(object_bytes)),
        }
    }

    /// The same of an object of this name that must have all of it, and at most `most` bytes of which are wanted.
    fn of(self, object_bytes: u64, most: u64, name: impl Fn() -> String) -> Result<(u64, u64)> {
        let (offset, length) = self.within(object_bytes);
        StoreError::check_size(length, most, &name)?;
        if offset.checked_add(length).is_none_or(|end| end > object_bytes) {
            return Err(StoreError::too_short(name(), object_bytes, (offset, length)));
        }
        Ok((offset, length))
    }
}

/// The depth of a listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Objects and folders right below the key.
    Folder,
    /// All objects below the key, and no folders.
    All,
}

/// An object or a folder that is found below a key.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// Its name below the key that is listed, as well as it can be shown: `0`; of all that lies below, `c/0`.
    pub name: &'a str,
    /// Its kind.
    pub kind: EntryKind,
    /// The size of an object in bytes, where the listing tells that without being asked.
    pub bytes: Option<u64>,
}

impl<'a> Entry<'a> {
    /// One of which the listing does not tell the size.
    pub fn new(name: &'a str, kind: EntryKind) -> Self {
        Entry { name, kind, bytes: None }
    }
}

/// The free space of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Blocks that are free.
    pub blocks: u64,
    /// Bytes of a block; an object that is not empty takes one at least.
    pub block_bytes: u64,
    /// Objects that can be made.
    pub files: u64,
}

impl Room {
    /// Bytes that can be written.
    pub fn bytes(&self) -> u64 {
        self.blocks.saturating_mul(self.block_bytes)
    }
}

/// Locks a mutex, also after a thread has panicked that had it.
pub(crate) fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes a folder in a store where folders are only the beginning of keys: an error where something stands there.
fn check_absent(store: &dyn Store, key: &Key<'_>) -> Result<()> {
    if store.kind(key)?.is_none() {
        return Ok(());
    }
    let source = std::io::ErrorKind::AlreadyExists.into();
    Err(StoreError::Io { action: "create", object: store.shown(key), source })
}

/// Overwrites the start of what is in memory, and appends what goes beyond its end.
fn write_at_start(held: &mut Vec<u8>, bytes: &[u8]) {
    let length = bytes.len().min(held.len());
    held[..length].copy_from_slice(&bytes[..length]);
    held.extend_from_slice(&bytes[length..]);
}

/// Bytes that are copied at once between stores that have no better way.
const PIECE: usize = 1 << 20;
/// Objects of at most so many bytes are read whole from behind a network: no more comes than they may have.
const MOST_AT_ONCE: u64 = 16 << 20;

/// Copies an object through memory; `None` where it is absent.
fn copy_in_pieces<S: Store + ?Sized>(
    destination: &S,
    source: &dyn Store,
    (from, to): (&Key<'_>, &Key<'_>),
    most: u64,
) -> Result<Option<u64>> {
    if source.abilities().is_remote && most <= MOST_AT_ONCE {
        let mut bytes = Vec::new();
        if !source.read(from, Part::Whole, most, &mut bytes)? {
            return Ok(None);
        }
        destination.put(to, &bytes, Put::Plain)?;
        return Ok(Some(bytes.len() as u64));
    }
    let Some(mut reader) = source.open(from, most)? else { return Ok(None) };
    let length = reader.length();
    StoreError::check_size(length, most, || source.shown(from))?;
    let size = usize::try_from(length).unwrap_or(PIECE).clamp(1, PIECE);
    let (mut piece, mut copied) = (vec![0; size], 0);
    let mut writer = destination.writer(to)?;
    while copied < length {
        let count = reader.read_piece(copied, &mut piece)?;
        if count == 0 {
            return Err(StoreError::cut_short(source.shown(from), copied, length));
        }
        writer.append(&piece[..count])?;
        copied += count as u64;
    }
    writer.finish().map(|()| Some(copied))
}
