//! Store in memory, for tests and for programs that do not use a disk.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use super::destination::NoLog;
use super::sorted_keys::{SortedKeys, remove_from};
use super::{
    Depth, Entry, EntryKind, Key, Log, ObjectReader, ObjectWriter, Part, Put, ReadObject, Result, Store, StoreError,
    Tree, Visit, WriteObject, check_absent, held, object_name, part,
};

/// Store of objects in memory. Clones share the objects. It has no empty folders.
#[derive(Debug, Clone)]
pub struct MemoryStore {
    name: String,
    objects: Arc<Mutex<BTreeMap<String, Arc<Vec<u8>>>>>,
}

impl MemoryStore {
    /// Creates an empty store with a name for messages.
    pub fn new(name: impl Into<String>) -> Self {
        MemoryStore { name: name.into(), objects: Arc::default() }
    }

    fn object(&self, key: &Key<'_>) -> Option<Arc<Vec<u8>>> {
        held(&self.objects).get(key.as_str()).cloned()
    }
}

impl Store for MemoryStore {
    fn name(&self) -> &str {
        &self.name
    }

    fn open(&self, key: &Key<'_>, _most: u64) -> Result<Option<ObjectReader>> {
        if let Some(object) = self.object(key) {
            return Ok(Some(Box::new(MemoryReader { bytes: object, name: self.shown(key) })));
        }
        match self.kind(key)? {
            Some(_) => Err(StoreError::NotAFile { object: self.shown(key), found: "a folder" }),
            None => Ok(None),
        }
    }

    fn size(&self, key: &Key<'_>) -> Result<Option<u64>> {
        Ok(self.object(key).map(|object| object.len() as u64))
    }

    fn kind(&self, key: &Key<'_>) -> Result<Option<EntryKind>> {
        Ok(held(&self.objects).kind(key))
    }

    fn list(&self, below: &Key<'_>, depth: Depth, each: &mut Visit<'_>) -> Result<()> {
        // The lock must be released first, as `each` may use the store.
        let entries = held(&self.objects).copied_entries(below, depth);
        let _ = entries.iter().try_for_each(|(name, kind)| each(Entry::new(name, *kind)));
        Ok(())
    }

    fn put(&self, key: &Key<'_>, bytes: &[u8], how: Put) -> Result<bool> {
        let mut objects = held(&self.objects);
        if how == Put::New && objects.contains_key(key.as_str()) {
            return Ok(false);
        }
        objects.insert(key.as_str().to_owned(), Arc::new(bytes.to_vec()));
        Ok(true)
    }

    fn writer(&self, key: &Key<'_>) -> Result<ObjectWriter> {
        let key = key.clone().into_owned();
        Ok(Box::new(MemoryWriter { store: self.clone(), key, bytes: Vec::new() }))
    }

    fn remove(&self, key: &Key<'_>, what: Tree<'_>) -> Result<bool> {
        Ok(remove_from(&mut held(&self.objects), key, what))
    }

    fn create_folder(&self, key: &Key<'_>) -> Result<()> {
        check_absent(self, key)
    }

    /// Returns a name that the clones of a store share, and no other store has.
    fn identity(&self, below: &Key<'_>) -> Vec<u8> {
        object_name(&format!("memory:{:p}", Arc::as_ptr(&self.objects)), below).into_bytes()
    }

    /// Returns a log without contents. Writers with a journal, such as those of samples, need one.
    fn begin_log(&self, _key: &Key<'_>) -> Result<Box<dyn Log>> {
        Ok(Box::new(NoLog))
    }
}

/// Reader of an object in memory.
pub struct MemoryReader {
    /// All bytes of the object.
    pub bytes: Arc<Vec<u8>>,
    /// Name in messages.
    pub name: String,
}

impl ReadObject for MemoryReader {
    fn length(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read_at(&self, offset: u64, length: u64, bytes: &mut Vec<u8>) -> Result<()> {
        Part::Range { offset, length }.of(self.length(), u64::MAX, || self.name.clone())?;
        bytes.clear();
        bytes.extend_from_slice(part(&self.bytes, offset, length).unwrap_or_default());
        Ok(())
    }
}

struct MemoryWriter {
    store: MemoryStore,
    key: Key<'static>,
    bytes: Vec<u8>,
}

impl WriteObject for MemoryWriter {
    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn write_at_start(&mut self, bytes: &[u8]) -> Result<()> {
        self.bytes.splice(..bytes.len().min(self.bytes.len()), bytes.iter().copied());
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.store.put(&self.key, &self.bytes, Put::Plain).map(drop)
    }
}
