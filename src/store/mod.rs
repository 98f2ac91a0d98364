//! Stores: objects by key. Only this row touches files.
//!
//! The rows above use a [`Node`]: a [`Store`], and the prefix of the keys of an array or a group.

mod consolidated_view;
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
mod references;
#[cfg(feature = "remote")]
mod remote;
mod sorted_keys;
#[cfg(test)]
pub(crate) mod tests;
mod zip;

use std::ops::{ControlFlow, Range};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use consolidated_view::ConsolidatedScope;
pub use destination::{Destination, JOURNAL, PLAN, RUN_FOLDER, Relation, clear_run_folder, has_begun, has_run_folder};
pub use destination::{LOCK_EXPIRES_AFTER, Lock, LockRequest, Log};
pub use error::{RemoteError, StoreError};
pub use key::{Key, MAX_KEY_BYTES};
pub use local::{LocalStore, Modes};
pub use location::{Location, LocationError, RemoteOptions};
pub use memory::{MemoryReader, MemoryStore};
use node::object_name;
pub use node::{MAX_DOCUMENT_BYTES, Node};
pub use object::{EntryKind, FolderListing, LinkTarget, ObjectReader, ObjectWriter, ReadObject, WriteObject};
use object::{PartReader, each_piece, part};
pub use references::ReferenceStore;
use sorted_keys::{SortedKeys, get_or_open, remove_from};
pub use zip::ZipStore;

pub use file::FileFormat;

/// The result of a call to a store.
pub type Result<T, E = StoreError> = std::result::Result<T, E>;

/// Callback of a listing. It returns `Break` to end the listing.
pub type Visit<'v> = dyn FnMut(Entry<'_>) -> ControlFlow<()> + 'v;

/// Objects by key. Calls block and can come from any thread.
///
/// The default implementations of the methods that write or remove return an error. A store that wraps another one
/// passes these calls on.
///
/// A folder is a key with objects below it. Local stores have real folders, with permissions, which must be created and
/// may be empty. In other stores a folder is only a prefix of keys.
pub trait Store: Send + Sync {
    /// Name of the store in messages. It never contains a secret.
    fn name(&self) -> &str;

    /// The store that this one wraps.
    fn inner(&self) -> Option<&dyn Store> {
        None
    }

    /// Returns the capabilities. By default a store can list its keys and is not remote.
    fn capabilities(&self) -> Capabilities {
        self.inner().map_or(Capabilities { lists: true, is_remote: false }, Store::capabilities)
    }

    /// Returns the name of a key in messages.
    fn shown(&self, key: &Key<'_>) -> String {
        object_name(self.name(), key)
    }

    /// Reads an object or a part of it into `into`, which is overwritten. Returns false if the object is absent. Fails
    /// before the read if the part has more than `most` bytes.
    fn read(&self, key: &Key<'_>, part: Part, most: u64, into: &mut Vec<u8>) -> Result<bool> {
        // `read_at` replaces the contents of `into`. Clearing it first would only fill it with zeros for nothing.
        let Some(reader) = self.open(key, most)? else {
            into.clear();
            return Ok(false);
        };
        let (offset, length) = part.of(reader.length(), most, || self.shown(key))?;
        reader.read_at(offset, length, into)?;
        Ok(true)
    }

    /// Opens an object for reads of many parts. Returns `None` if it is absent. The caller expects at most `most`
    /// bytes. If the size is known only by reading, no more than that is read.
    fn open(&self, key: &Key<'_>, most: u64) -> Result<Option<ObjectReader>>;

    /// Returns the size of an object in bytes, or `None` if it is absent.
    fn size(&self, key: &Key<'_>) -> Result<Option<u64>>;

    /// Returns the sizes in bytes of objects of one folder, in the order of `names`. `None` means an absent object. A
    /// fault of one object is in its place, any other fault ends the call.
    fn sizes(&self, folder: &Key<'_>, names: &[&str]) -> Result<Vec<Result<Option<u64>>>> {
        match self.inner() {
            Some(inner) => inner.sizes(folder, names),
            None => names.iter().map(|name| StoreError::apart(self.size(&folder.join(name)?))).collect(),
        }
    }

    /// Returns the kind of the entry at a key. Does not follow links.
    fn kind(&self, key: &Key<'_>) -> Result<Option<EntryKind>>;

    /// Calls `each` for every entry below a key until it returns `Break`. Does not follow links. A missing folder has
    /// no entries.
    fn list(&self, below: &Key<'_>, depth: Depth, each: &mut Visit<'_>) -> Result<()>;

    /// Returns how many reads the store wants to know in advance. With `None` it needs no hints.
    fn prefetch_limit(&self) -> Option<PrefetchLimit> {
        self.inner()?.prefetch_limit()
    }

    /// Announces parts that will be read soon, in this order. It is a hint: it returns at once and never fails. There
    /// may be more parts than [`Store::prefetch_limit`], as one task may read many. The store applies its own limits.
    fn prefetch(&self, _soon: &[(Key<'_>, Part)]) {}

    /// Writes a whole object. Returns false if `how` is [`Put::New`] and the object exists.
    fn put(&self, key: &Key<'_>, _bytes: &[u8], _how: Put) -> Result<bool> {
        Err(StoreError::unsupported("write", self.shown(key)))
    }

    /// Creates an object that is written sequentially.
    fn writer(&self, key: &Key<'_>) -> Result<ObjectWriter> {
        Err(StoreError::unsupported("create", self.shown(key)))
    }

    /// Copies an object of another store byte for byte. Returns its size in bytes, or `None` if it is absent. Fails if
    /// it has more than `most` bytes.
    fn copy_from(&self, source: &dyn Store, (from, to): (&Key<'_>, &Key<'_>), most: u64) -> Result<Option<u64>> {
        self.copy_in_pieces(source, (from, to), most)
    }

    /// Like `copy_from`, through memory. Returns its size in bytes, or `None` if it is absent.
    fn copy_in_pieces(&self, source: &dyn Store, (from, to): (&Key<'_>, &Key<'_>), most: u64) -> Result<Option<u64>> {
        // A remote `open` requests the end of the object first. One read of the whole saves the second request.
        if source.capabilities().is_remote && most <= MOST_AT_ONCE {
            let mut bytes = Vec::new();
            if !source.read(from, Part::Whole, most, &mut bytes)? {
                return Ok(None);
            }
            self.put(to, &bytes, Put::Plain)?;
            return Ok(Some(bytes.len() as u64));
        }
        let Some(mut reader) = source.open(from, most)? else { return Ok(None) };
        let length = reader.length();
        StoreError::check_size(length, most, || source.shown(from))?;
        // After the check, so that an object that is too large leaves nothing at the destination.
        let mut writer = self.writer(to)?;
        each_piece(&mut reader, || source.shown(from), |_, piece| writer.append(piece))?;
        writer.finish().map(|()| Some(length))
    }

    /// Removes an object or a folder. Returns false if it certainly did not exist. Does not follow links.
    fn remove(&self, key: &Key<'_>, _what: Tree<'_>) -> Result<bool> {
        match self.kind(key)? {
            Some(_) => Err(StoreError::unsupported("remove", self.shown(key))),
            None => Ok(false),
        }
    }

    /// Makes everything that was written below a key durable.
    fn sync(&self, _below: &Key<'_>) -> Result<()> {
        Ok(())
    }

    /// Creates a folder and its missing parents. Fails if the key exists.
    fn create_folder(&self, key: &Key<'_>) -> Result<()> {
        Err(StoreError::unsupported("create", self.shown(key)))
    }

    /// Returns an identifier of a key that does not depend on the name that the user wrote.
    fn identity(&self, below: &Key<'_>) -> Vec<u8> {
        self.inner().map_or_else(|| self.shown(below).into_bytes(), |inner| inner.identity(below))
    }

    /// Opens a log, or creates an empty one in a folder of its own that only this user can read. Does not follow links.
    fn begin_log(&self, key: &Key<'_>) -> Result<Box<dyn Log>> {
        Err(StoreError::unsupported("create", self.shown(key)))
    }

    /// Returns the destination for a hierarchy below a key, which may replace an existing one. Writes and removals in
    /// it do not follow links. Does not change anything yet.
    fn destination(&self, below: &Key<'_>, _replaces: bool) -> Result<Destination> {
        Err(StoreError::unsupported("write", self.shown(below)))
    }

    /// Moves an entry to a free local path, or exchanges the two. Returns false if the store cannot do that atomically.
    /// The names at the destination are durable afterwards.
    fn rename(&self, from: &Key<'_>, _to: &Path, _exchanges: bool) -> Result<bool> {
        Err(StoreError::unsupported("rename", self.shown(from)))
    }

    /// Returns the free space below a key.
    fn free_space(&self, _below: &Key<'_>) -> Result<FreeSpace> {
        Ok(FreeSpace { blocks: u64::MAX, block_bytes: 1, files: u64::MAX })
    }

    /// Returns the same store, but with these permissions for new objects and folders. `None` means that it has no
    /// permissions.
    fn with_modes(&self, _modes: Modes) -> Option<Arc<dyn Store>> {
        None
    }

    /// Returns the object that contains the store, such as a zip file.
    fn container(&self) -> Option<&Node> {
        self.inner()?.container()
    }

    /// Returns the folder that contains the store.
    fn folder_above(&self) -> Option<Node> {
        self.inner().map_or_else(|| self.container()?.parent(), Store::folder_above)
    }

    /// Returns the external objects that the store reads, such as the targets of a reference file.
    fn targets(&self) -> Result<Vec<Node>> {
        self.inner().map_or_else(|| Ok(Vec::new()), Store::targets)
    }

    /// Returns the local folder if the store is one. Two local stores have faster ways, such as a copy inside the
    /// system.
    fn as_local(&self) -> Option<&LocalStore> {
        self.inner()?.as_local()
    }

    /// Returns the remote store if the store is one.
    fn network(&self) -> Option<&dyn Network> {
        self.inner()?.network()
    }
}

/// Calls that only a remote store has.
pub trait Network: Send + Sync {
    /// Returns true if the store can list the objects below a key. It is false after the store has refused to.
    fn tells_keys(&self, below: &Key<'_>) -> bool;

    /// Returns true if the store copies objects of `source` on the server, without a download.
    fn copies_from(&self, source: &dyn Store) -> bool;

    /// Returns the number of refused objects below a key that count as absent ([`RemoteOptions::refused_is_absent`]).
    /// Metadata documents are not counted.
    fn num_refused(&self, below: &Key<'_>) -> u64;

    /// Returns true if refused objects count as absent.
    fn refused_is_absent(&self) -> bool;

    /// Makes later reads of an object fail if it has another version than at the first of them.
    fn keep_version(&self, key: &Key<'_>);

    /// Returns the number of the next write. Writes continue after the call that starts them.
    fn next_write(&self) -> u64;

    /// Returns true if all writes of these numbers have succeeded.
    fn are_written(&self, writes: Range<u64>) -> bool;

    /// Releases what a process that ends now would leave in the store: incomplete uploads and locks.
    fn release_on_exit(&self);

    /// Returns the store itself. A server copies between its buckets.
    #[cfg(feature = "remote")]
    fn as_remote(&self) -> &remote::RemoteStore;
}

/// Way of writing a whole object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Put {
    /// In place. Readers may see a part of it.
    Plain,
    /// Readers never see a part of it. It is durable after the next sync.
    Whole,
    /// Readers never see a part of it, and it is durable when the call returns.
    Durable,
    /// Like `Durable`, but only if no object exists, even if another process creates one at the same time. If the
    /// answer of a server is lost, its own object may count as another's.
    New,
}

/// Extent of a removal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tree<'a> {
    /// The object at the key.
    Object,
    /// Everything below the key. It is no error if there is nothing.
    All,
    /// Everything below the key except what is below another key in it.
    AllBut(&'a Key<'a>),
}

/// Capabilities of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// The store can list its objects.
    pub lists: bool,
    /// Each call is a request over a network, so unnecessary calls are avoided.
    pub is_remote: bool,
}

/// Limit of announced reads that have not started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrefetchLimit {
    /// Number of parts of objects.
    pub requests: usize,
    /// Number of bytes, if known in advance.
    pub bytes: u64,
}

/// Part size of an upload to an object store, in bytes.
pub const UPLOAD_PART_BYTES: u64 = 8 << 20;

/// A part of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Part {
    /// All bytes.
    Whole,
    /// `length` bytes from `offset`. The object must have all of them.
    Range {
        /// Offset of the first byte.
        offset: u64,
        /// Length in bytes.
        length: u64,
    },
    /// The last bytes, or the whole object if it is shorter. Reads the index of a shard in one request.
    Last(u64),
}

impl Part {
    /// Returns the offset and the length of the part in an object of `object_bytes` bytes.
    fn within(self, object_bytes: u64) -> (u64, u64) {
        match self {
            Part::Whole => (0, object_bytes),
            Part::Range { offset, length } => (offset, length),
            Part::Last(length) => (object_bytes.saturating_sub(length), length.min(object_bytes)),
        }
    }

    /// Like `within`, but fails if the object is too short or the part has more than `most` bytes.
    fn of(self, object_bytes: u64, most: u64, name: impl Fn() -> String) -> Result<(u64, u64)> {
        let (offset, length) = self.within(object_bytes);
        StoreError::check_size(length, most, &name)?;
        // Offsets come from shard indexes and reference files. Their sums may overflow.
        if offset.checked_add(length).is_none_or(|end| end > object_bytes) {
            return Err(StoreError::too_short(name(), object_bytes, (offset, length)));
        }
        Ok((offset, length))
    }
}

/// Depth of a listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Only the objects and folders directly below the key.
    Folder,
    /// All objects below the key, without folders.
    All,
}

/// Object or folder in a listing.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// Printable name relative to the listed key: `0`, or `c/0` with [`Depth::All`].
    pub name: &'a str,
    /// Kind of the entry.
    pub kind: EntryKind,
    /// Size of an object in bytes, if the listing contains it.
    pub bytes: Option<u64>,
}

impl<'a> Entry<'a> {
    /// Creates an entry without a size.
    pub fn new(name: &'a str, kind: EntryKind) -> Self {
        Entry { name, kind, bytes: None }
    }
}

/// Free space of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FreeSpace {
    /// Number of free blocks.
    pub blocks: u64,
    /// Size of a block in bytes. Every object that is not empty needs at least one.
    pub block_bytes: u64,
    /// Number of objects that can be created.
    pub files: u64,
}

impl FreeSpace {
    /// Returns the number of bytes that can be written.
    pub fn bytes(&self) -> u64 {
        self.blocks.saturating_mul(self.block_bytes)
    }
}

/// Locks a mutex, also after a thread has panicked with the lock.
pub(crate) fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic is a fault of its own unit (`engine::driver::guarded`). It must not end the other units.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Fails if a key exists. For stores without real folders.
fn check_absent(store: &dyn Store, key: &Key<'_>) -> Result<()> {
    if store.kind(key)?.is_none() {
        return Ok(());
    }
    Err(StoreError::io("create", store.shown(key), std::io::ErrorKind::AlreadyExists))
}

/// Remote objects of at most this many bytes are read with one request. The source enforces the limit.
const MOST_AT_ONCE: u64 = 16 << 20;
