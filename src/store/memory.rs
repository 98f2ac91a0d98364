//! A store in memory, for tests and for programs whose arrays never see a disk.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use super::entry::EntryKind;
use super::log::NoLog;
use super::node::object_name;
use super::object::{ReadObject, WriteObject, part};
use super::sorted_keys::{SortedKeys, remove_from};
use super::{
    Depth, Entry, Key, Log, ObjectReader, ObjectWriter, Put, Result, Store, StoreError, Tree, Visit, check_absent,
    held, write_at_start,
};

/// Objects in memory. A clone is the same store. It has no folders but those that objects lie in.
#[derive(Debug, Clone)]
pub struct MemoryStore {
    name: String,
    objects: Arc<Mutex<BTreeMap<String, Arc<Vec<u8>>>>>,
}

impl MemoryStore {
    /// An empty store; its name is for messages.
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
        // Not while the store is locked: `each` may use it.
        let entries = held(&self.objects).entries(below, depth);
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

    /// A name that all clones of a store share, and no other store has.
    fn identity(&self, below: &Key<'_>) -> Vec<u8> {
        object_name(&format!("memory:{:p}", Arc::as_ptr(&self.objects)), below).into_bytes()
    }

    /// For what writes into memory by a journal, as samples do.
    fn begin_log(&self, _key: &Key<'_>) -> Result<Box<dyn Log>> {
        Ok(Box::new(NoLog))
    }
}

/// An object in memory that is read.
#[derive(Debug)]
pub struct MemoryReader {
    /// All of it.
    pub bytes: Arc<Vec<u8>>,
    /// For messages.
    pub name: String,
}

impl ReadObject for MemoryReader {
    fn length(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read_at(&self, offset: u64, length: u64, bytes: &mut Vec<u8>) -> Result<()> {
        let short = || StoreError::too_short(self.name.clone(), self.length(), (offset, length));
        let part = part(&self.bytes, offset, length).ok_or_else(short)?;
        bytes.clear();
        bytes.extend_from_slice(part);
        Ok(())
    }
}

#[derive(Debug)]
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
        write_at_start(&mut self.bytes, bytes);
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.store.put(&self.key, &self.bytes, Put::Plain).map(drop)
    }
}
