//! Where arrays lie: objects by key. Only this row touches files.
//!
//! Everything above holds a [`Node`]: a [`Store`] and the key below which the objects of an array or a group lie.

mod copied_documents;
mod entry;
mod error;
pub mod file;
pub mod file_format;
mod key;
pub mod local;
pub mod location;
mod log;
pub mod machine;
mod memory;
mod node;
mod object;
mod opened_once;
mod percent;
mod references;
#[cfg(feature = "remote")]
mod remote;
mod remote_options;
mod site;
mod sorted_keys;
#[cfg(test)]
pub(crate) mod tests;
mod zip;

use std::fmt::Debug;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

pub use copied_documents::CopiesServe;
pub use entry::{EntryKind, FolderListing, LinkTarget};
pub use error::{RemoteError, StoreError};
pub use key::{Key, MAX_KEY_BYTES};
pub use local::LocalStore;
pub use location::{Location, LocationError};
pub use log::{Asker, Holding, Lock, Log};
pub use memory::MemoryStore;
pub use node::{MAX_DOCUMENT_BYTES, Node};
pub use object::{ObjectReader, ObjectWriter, ReadObject, WriteObject};
pub use references::ReferenceStore;
pub use remote_options::RemoteOptions;
pub use site::{Relation, Site, Spot};
pub use zip::ZipStore;

/// Objects by key. Calls block; any thread may make them.
///
/// A store that only reads has nothing to do for what writes and removes: without more said, that is refused.
///
/// A folder is what a key with objects below it is. Some stores have folders of their own, which may be empty, have
/// permissions, and must be made; to the others they are nothing but the beginning of keys.
pub trait Store: Debug + Send + Sync {
    /// As messages name it; never a secret.
    fn name(&self) -> &str;

    /// What it can do.
    fn abilities(&self) -> Abilities;

    /// Reads an object, or a part of it, into `into` (replaced); `None` where it is absent. More than `most` bytes are
    /// an error, found before they are read.
    fn read(
        &self,
        key: &Key<'_>,
        part: Part,
        most: u64,
        into: &mut Vec<u8>,
    ) -> Result<Option<Found>, StoreError>;

    /// Opens an object that is read in many parts; `None` where it is absent. It should hold at most `most` bytes: where only
    /// reading it tells how many there are, no more is read.
    fn open(&self, key: &Key<'_>, most: u64) -> Result<Option<ObjectReader>, StoreError>;

    /// The size of an object in bytes; `None` where it is absent.
    fn size(&self, key: &Key<'_>) -> Result<Option<u64>, StoreError>;

    /// The sizes of some objects of one folder, by their names in it, one after the other; absent ones have none.
    fn sizes(&self, folder: &Key<'_>, names: &[&str]) -> Result<Vec<Option<u64>>, StoreError> {
        names.iter().map(|name| self.size(&folder.join(name)?)).collect()
    }

    /// What stands at a key, links not followed.
    fn kind(&self, key: &Key<'_>) -> Result<Option<EntryKind>, StoreError>;

    /// What stands at a key, or where a link there leads; `None` where that is nowhere.
    fn kind_behind_links(&self, key: &Key<'_>) -> Result<Option<EntryKind>, StoreError> {
        self.kind(key)
    }

    /// Gives what lies below a key to `each` as it is found, until that breaks off. No link is followed; where nothing is,
    /// nothing is found.
    fn list(
        &self,
        below: &Key<'_>,
        depth: Depth,
        each: &mut dyn FnMut(Entry<'_>) -> ControlFlow<()>,
    ) -> Result<(), StoreError>;

    /// Whether it tells which objects lie below a key, as far as is known: it may have refused to.
    fn tells_keys(&self, _below: &Key<'_>) -> bool {
        self.abilities().lists
    }

    /// Where a link leads, every link on the way resolved; `None` where it leads nowhere, or in a circle. Inside is what
    /// lies below `root`.
    fn link_target(&self, _key: &Key<'_>, _root: &Key<'_>) -> Result<Option<LinkTarget>, StoreError> {
        Ok(None)
    }

    /// How far ahead it wants to be told what will be read; `None` where that is of no use to it: then it is not asked for.
    fn wants_hints(&self) -> Option<Ahead> {
        None
    }

    /// These parts will be read soon, in this order. A hint: it takes no time, and gives no error. More may come than it asked
    /// for, since one piece of work may read more: it goes by its own bounds.
    fn expect(&self, _soon: &[(Key<'_>, Part)]) {}

    /// Writes a whole object.
    fn write(&self, key: &Key<'_>, _bytes: &[u8]) -> Result<(), StoreError> {
        Err(StoreError::unsupported("write", node::object_name(self.name(), key)))
    }

    /// Begins an object that is written in order.
    fn writer(&self, key: &Key<'_>) -> Result<ObjectWriter, StoreError> {
        Err(StoreError::unsupported("create", node::object_name(self.name(), key)))
    }

    /// Whether it copies objects of another store without their bytes coming here.
    fn copies_from(&self, _source: &dyn Store) -> bool {
        false
    }

    /// How many objects below a key the store has refused so far which count as absent
    /// ([`RemoteOptions::refused_is_absent`]), documents not counted.
    fn num_refused(&self, _below: &Key<'_>) -> u64 {
        0
    }

    /// Whether objects that it refuses count as absent.
    fn takes_refused_for_absent(&self) -> bool {
        false
    }

    /// Lets go of what would be left in the store where the process ended now: uploads that are not complete, and locks.
    fn let_go(&self) {}

    /// Copies an object of another store, byte for byte; its size in bytes, `None` where it is absent. One of more than
    /// `most` bytes is an error.
    fn copy_from(
        &self,
        source: &dyn Store,
        (from, to): (&Key<'_>, &Key<'_>),
        most: u64,
    ) -> Result<Option<u64>, StoreError> {
        copy_in_pieces(self, source, (from, to), most)
    }

    /// Writes a whole object, so that it is never seen in part. It is durable once the store is settled.
    fn replace(&self, key: &Key<'_>, _bytes: &[u8]) -> Result<(), StoreError> {
        Err(StoreError::unsupported("write", node::object_name(self.name(), key)))
    }

    /// The same, durable when this returns.
    fn publish(&self, key: &Key<'_>, _bytes: &[u8]) -> Result<(), StoreError> {
        Err(StoreError::unsupported("write", node::object_name(self.name(), key)))
    }

    /// The same where there is none: false where one stands there, also if another process has just made it. Where the
    /// answer of a server to what made it was lost, its own object may count as another's.
    fn publish_new(&self, key: &Key<'_>, _bytes: &[u8]) -> Result<bool, StoreError> {
        Err(StoreError::unsupported("create", node::object_name(self.name(), key)))
    }

    /// Removes an object; false where there is none.
    fn remove(&self, key: &Key<'_>) -> Result<bool, StoreError> {
        match self.kind(key)? {
            Some(_) => Err(StoreError::unsupported("remove", node::object_name(self.name(), key))),
            None => Ok(false),
        }
    }

    /// The number of the next write, where writes go on after a call has begun them.
    fn next_write(&self) -> u64 {
        0
    }

    /// Whether all of the writes of these numbers have succeeded.
    fn are_written(&self, _writes: Range<u64>) -> bool {
        true
    }

    /// Makes all that was written below a key durable.
    fn settle(&self, _below: &Key<'_>) -> Result<(), StoreError> {
        Ok(())
    }

    /// Makes a folder, and those above it where they are missing; an error where something stands there.
    fn create_folder(&self, key: &Key<'_>) -> Result<(), StoreError> {
        Err(StoreError::unsupported("create", node::object_name(self.name(), key)))
    }

    /// Removes all that lies below a key but what lies below another one, which is in it.
    fn remove_others(&self, key: &Key<'_>, _kept: &Key<'_>) -> Result<(), StoreError> {
        Err(StoreError::unsupported("remove", node::object_name(self.name(), key)))
    }

    /// Removes all that lies below a key, without following links. Nothing there is no error.
    fn remove_folder(&self, key: &Key<'_>) -> Result<(), StoreError> {
        self.remove(key).map(drop)
    }

    /// The node that contains the store itself, where there can be one.
    fn above(&self) -> Option<Node> {
        None
    }

    /// The objects elsewhere that its own are read from: what a reference file points at.
    fn targets(&self) -> Result<Vec<Node>, StoreError> {
        Ok(Vec::new())
    }

    /// The object that the store is in, at the node's own place: a zip file, where the store is what it holds.
    fn container(&self) -> Option<&Node> {
        None
    }

    /// Names what lies below a key in the same way whatever name the user gave it.
    fn identity(&self, below: &Key<'_>) -> Vec<u8> {
        node::object_name(self.name(), below).into_bytes()
    }

    /// Opens a log that is there; `None` where none is. A link is not followed.
    fn open_log(&self, key: &Key<'_>) -> Result<Option<Box<dyn Log>>, StoreError> {
        Err(StoreError::unsupported("open", node::object_name(self.name(), key)))
    }

    /// Opens a log, or makes an empty one in a folder that is its own, and which no others may look into.
    fn begin_log(&self, key: &Key<'_>) -> Result<Box<dyn Log>, StoreError> {
        Err(StoreError::unsupported("create", node::object_name(self.name(), key)))
    }

    /// The site of a hierarchy that is to lie below a key. Nothing is touched.
    fn site(&self, below: &Key<'_>) -> Result<Box<dyn Site>, StoreError> {
        Err(StoreError::unsupported("write", node::object_name(self.name(), below)))
    }

    /// How much can be written below a key.
    fn room(&self, _below: &Key<'_>) -> Result<Room, StoreError> {
        Ok(Room { blocks: u64::MAX, block_bytes: 1, files: u64::MAX })
    }

    /// The same store, which makes objects and folders with the permissions of a folder and an object of another; `None`
    /// where there are no permissions.
    fn with_permissions_of(
        &self,
        _source: &dyn Store,
        _folder: &Key<'_>,
        _object: &Key<'_>,
    ) -> Option<Arc<dyn Store>> {
        None
    }

    /// The local folder, where that is what the store is (whatever is wrapped around it): local stores do together what no
    /// two others can, such as copying inside the system.
    fn as_local(&self) -> Option<&LocalStore> {
        None
    }

    /// The store behind a network, where that is what the store is: a server copies between its buckets.
    #[cfg(feature = "remote")]
    fn as_remote(&self) -> Option<&remote::RemoteStore> {
        None
    }
}

/// What a store can do. What it cannot is done in another way, or not at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is asked for by itself")]
pub struct Abilities {
    /// It tells which objects there are.
    pub lists: bool,
    /// It reads a part of an object without the rest.
    pub reads_ranges: bool,
    /// It gives folders other names at once.
    pub renames: bool,
    /// It keeps other processes out.
    pub locks: bool,
    /// It makes an object only where there is none, also beside other writers.
    pub creates_exclusively: bool,
    /// It lies behind a network: each call is a request, and what can be done without is not asked for.
    pub is_remote: bool,
}

/// How far ahead of its reading a store is told of it: by so much as is not under way yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ahead {
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
}

/// What was read of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// The size of the whole object in bytes.
    pub object_bytes: u64,
}

/// How deep a listing goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// What lies right below the key, folders among it.
    Folder,
    /// All objects below the key, and no folders.
    All,
}

/// What is found below a key.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// Its name below the key that is listed, as well as it can be shown: `0`; of all that lies below, `c/0`.
    pub name: &'a str,
    /// What it is.
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

/// What a store can take.
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
) -> Result<Option<u64>, StoreError> {
    if source.abilities().is_remote && most <= MOST_AT_ONCE {
        let mut bytes = Vec::new();
        let found = source.read(from, Part::Whole, most, &mut bytes)?;
        let written = found.map(|_| destination.write(to, &bytes)).transpose()?;
        return Ok(written.map(|()| bytes.len() as u64));
    }
    let object = || node::object_name(source.name(), from);
    let Some(mut reader) = source.open(from, most)? else { return Ok(None) };
    let length = reader.length();
    if length > most {
        return Err(StoreError::TooLarge { object: object(), found: length, bound: most });
    }
    let size = usize::try_from(length).unwrap_or(PIECE).clamp(1, PIECE);
    let (mut piece, mut copied) = (vec![0; size], 0);
    let mut writer = destination.writer(to)?;
    while copied < length {
        let count = reader.read_next(&mut piece)?;
        if count == 0 {
            let short = std::io::Error::other(format!("{copied} of {length} bytes were copied"));
            return Err(StoreError::Io { action: "copy", object: object(), source: short });
        }
        writer.append(&piece[..count])?;
        copied += count as u64;
    }
    writer.finish().map(|()| Some(copied))
}
