//! Objects and logs with calls that fail.

use std::sync::Arc;

use super::{Call, Faults, StoreCall, first_half};
use crate::store::{
    Lock, LockRequest, Log, ObjectReader, ObjectWriter, Part, ReadObject, Result, StoreError, WriteObject,
};

#[derive(Debug)]
pub(super) struct FaultyPart<T> {
    pub(super) inner: T,
    pub(super) name: String,
    pub(super) faults: Arc<Faults>,
}

impl ReadObject for FaultyPart<ObjectReader> {
    fn length(&self) -> u64 {
        self.inner.length()
    }

    fn read_at(&self, offset: u64, length: u64, bytes: &mut Vec<u8>) -> Result<()> {
        self.faults.hear(StoreCall::Read(self.name.clone(), Part::Range { offset, length }));
        self.faults.call(Call::Read, &self.name, || self.inner.read_at(offset, length, bytes), || ())
    }

    fn read_piece(&mut self, offset: u64, piece: &mut [u8]) -> Result<usize> {
        // From its beginning to its end.
        self.faults.hear(StoreCall::Read(self.name.clone(), Part::Whole));
        self.faults.call(Call::Read, &self.name, || self.inner.read_piece(offset, piece), || ())
    }
}

/// The writer is dropped when its object is complete. A failed write leaves the appended bytes, as in a file.
impl FaultyPart<Option<ObjectWriter>> {
    fn write(&mut self, bytes: &[u8], write: impl Fn(&mut ObjectWriter, &[u8]) -> Result<()>) -> Result<()> {
        let inner = std::cell::RefCell::new(&mut self.inner);
        let part = |bytes: &[u8]| match &mut **inner.borrow_mut() {
            Some(writer) => write(writer, bytes),
            None => Ok(()),
        };
        self.faults.call(Call::Write, &self.name, || part(bytes), || drop(part(first_half(bytes))))
    }
}

impl WriteObject for FaultyPart<Option<ObjectWriter>> {
    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.write(bytes, |writer, bytes| writer.append(bytes))
    }

    fn write_at_start(&mut self, bytes: &[u8]) -> Result<()> {
        self.write(bytes, |writer, bytes| writer.write_at_start(bytes))
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        let inner = self.inner.take();
        let name = std::mem::take(&mut self.name);
        let whole = || inner.map_or(Ok(()), WriteObject::finish);
        self.faults.call(Call::Write, &name, whole, || ())
    }
}

impl Log for FaultyPart<Box<dyn Log>> {
    fn lock(&mut self, asker: &LockRequest<'_>) -> Result<Lock> {
        let is_unsupported = |error: &StoreError| matches!(error, StoreError::Io { source, .. } if source.kind() == std::io::ErrorKind::Unsupported);
        match self.faults.call(Call::Lock, &self.name, || self.inner.lock(asker), || ()) {
            Err(error) if is_unsupported(&error) => Ok(Lock::Unsupported),
            locked => locked,
        }
    }

    fn is_lost(&self) -> bool {
        self.inner.is_lost()
    }

    fn read(&mut self, max_bytes: u64) -> Result<Vec<u8>> {
        self.faults.call(Call::Read, &self.name, || self.inner.read(max_bytes), || ())
    }

    fn cut(&mut self, length: u64) -> Result<()> {
        self.faults.call(Call::Write, &self.name, || self.inner.cut(length), || ())
    }

    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        let inner = std::cell::RefCell::new(&mut self.inner);
        let part = |bytes: &[u8]| inner.borrow_mut().append(bytes);
        self.faults.call(Call::Write, &self.name, || part(bytes), || drop(part(first_half(bytes))))
    }

    fn sync(&mut self) -> Result<()> {
        self.faults.call(Call::Sync, &self.name, || self.inner.sync(), || ())
    }
}
