//! Subchunks that were taken apart, for the next box that needs them. Those go first that were used longest ago.

use std::collections::{BTreeMap, HashMap};

use crate::codec::elements::{PLACE_BYTES, VlenElements};

/// A subchunk that was taken apart.
#[derive(Debug)]
pub(super) struct DecodedSubchunk {
    /// Whose it is, and its position.
    pub(super) key: (usize, Vec<u64>),
    pub(super) elements: VlenElements,
    /// Its encoded bytes.
    pub(super) encoded: u64,
}

impl DecodedSubchunk {
    /// Bytes that it takes, with its place among the others.
    fn bytes(&self) -> u64 {
        const BESIDE: u64 = 256;
        let places = (self.elements.places.capacity() as u64).saturating_mul(PLACE_BYTES);
        places.saturating_add(self.elements.bytes.capacity() as u64).saturating_add(BESIDE)
    }
}

/// The subchunks that a thread keeps.
#[derive(Debug, Default)]
pub(super) struct SubchunkCache {
    /// By when they were used last.
    by_use: BTreeMap<u64, DecodedSubchunk>,
    last_use: HashMap<(usize, Vec<u64>), u64>,
    uses: u64,
    bytes: u64,
}

impl SubchunkCache {
    pub(super) fn len(&self) -> usize {
        self.by_use.len()
    }

    /// Bytes of all of them.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The subchunk that was used last.
    pub(super) fn last(&self) -> Option<&DecodedSubchunk> {
        self.by_use.last_key_value().map(|(_, last)| last)
    }

    /// Uses a subchunk, if it is kept.
    pub(super) fn recall(&mut self, key: &(usize, Vec<u64>)) -> Option<&DecodedSubchunk> {
        let kept = self.by_use.remove(self.last_use.get(key)?)?;
        self.bytes -= kept.bytes();
        self.keep(kept);
        self.last()
    }

    /// Keeps a subchunk, which is used now.
    pub(super) fn keep(&mut self, subchunk: DecodedSubchunk) {
        self.uses += 1;
        self.bytes += subchunk.bytes();
        self.last_use.insert(subchunk.key.clone(), self.uses);
        self.by_use.insert(self.uses, subchunk);
    }

    /// Drops the subchunk that was used longest ago; the bytes that it took.
    pub(super) fn drop_first(&mut self) -> u64 {
        let Some((_, dropped)) = self.by_use.pop_first() else { return 0 };
        self.last_use.remove(&dropped.key);
        self.bytes -= dropped.bytes();
        dropped.bytes()
    }
}
