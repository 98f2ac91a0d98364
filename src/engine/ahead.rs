//! Announcements of reads. A remote store can fetch the bytes in advance.
//!
//! Only stores with a limit ([`Store::prefetch_limit`](crate::store::Store::prefetch_limit)) get announcements. A wrong
//! one makes a run slower, but not incorrect.

use std::collections::VecDeque;
use std::sync::Mutex;

use super::Transfer;
use crate::array::{ChunkSet, MOST_OPEN_SHARDS, StoredArray, position};
use crate::codec::BoundSharding;
use crate::grid::{Region, volume};
use crate::pipeline::IndexLocation;
use crate::store::{Node, Part, PrefetchLimit};

/// Reads of units of work (objects of the destination, blocks) that are known in advance.
pub struct PrefetchPlan<'a> {
    /// Node that is read.
    node: &'a Node,
    /// Approximate size of one of its objects in bytes.
    object_bytes: u64,
    reads: Box<UnitReads<'a>>,
}

/// Calls the callback with the key and the part of each read of a unit that is known now. Inner chunks are not: the
/// index of the shard contains their offsets. Absent objects are skipped.
type UnitReads<'a> = dyn Fn(u64, &mut dyn FnMut(&str, Part)) + Sync + 'a;

impl<'a> PrefetchPlan<'a> {
    /// Plans the `reads` of each unit from a node, whose objects have about `object_bytes` bytes.
    pub fn new(node: &'a Node, object_bytes: u64, reads: impl Fn(u64, &mut dyn FnMut(&str, Part)) + Sync + 'a) -> Self {
        PrefetchPlan { node, object_bytes, reads: Box::new(reads) }
    }

    /// Plans reads from an array.
    pub fn of_array(array: &'a StoredArray, reads: impl Fn(u64, &mut dyn FnMut(&str, Part)) + Sync + 'a) -> Self {
        Self::new(&array.node, array.chunk_bytes(), reads)
    }
}

/// Most announced parts of one unit. A block may need too many to remember.
const MOST_OF_A_UNIT: usize = 1 << 12;
/// Largest decoded shard that is requested as a whole if all of it is read, in bytes. Its index and its inner chunks
/// then need one request. Several may be open at once.
pub const MOST_WHOLE_SHARD: u64 = 2 << 20;
/// Number of parts that are remembered to avoid duplicates. Consecutive units share some parts.
const REMEMBERED: usize = 64;

/// Announcer of the reads of units, up to a limit in advance.
pub struct ReadAhead<'a> {
    plan: &'a PrefetchPlan<'a>,
    units: &'a ChunkSet,
    most: PrefetchLimit,
    /// Index of the unit after the last announced one.
    next: u64,
    /// Units that have not started: their indices, and how many parts and bytes they will read.
    waiting: VecDeque<(u64, usize, u64)>,
    /// Latest announced parts.
    latest: VecDeque<(String, Part)>,
}

impl<'a> ReadAhead<'a> {
    /// Returns an announcer for each source whose store has a limit, with `units` in order. They may have the same
    /// store, so they share its limit.
    pub fn for_sources(sources: &'a [PrefetchPlan<'a>], units: &'a ChunkSet) -> Vec<Mutex<Self>> {
        let wanted: Vec<_> = sources.iter().filter_map(|plan| Some((plan, plan.node.prefetch_limit()?))).collect();
        let share = wanted.len();
        let ahead = wanted.into_iter().map(|(plan, PrefetchLimit { requests, bytes })| {
            let most = PrefetchLimit { requests: requests / share, bytes: bytes / share as u64 };
            Mutex::new(ReadAhead { plan, units, most, next: 0, waiting: VecDeque::new(), latest: VecDeque::new() })
        });
        ahead.collect()
    }

    /// Starts the unit at an index of the set. Announces its reads, and those of later units up to the limit. Callers
    /// keep the lock during the call, so that no other unit starts before its reads are announced.
    pub fn begin(&mut self, nth: u64) {
        let plan = self.plan;
        // Units start in order, so all up to this one have started.
        self.waiting.retain(|(waiting, ..)| *waiting > nth);
        let mut soon = Vec::new();
        while let Some(unit) = self.units.nth(self.next)
            // The unit itself is always announced, as it is read next whatever the limit is.
            && (self.next <= nth || self.is_below_limit())
        {
            let (mut requests, mut bytes) = (0, 0_u64);
            (plan.reads)(unit, &mut |key, part| {
                if requests < MOST_OF_A_UNIT && self.is_new(key, part) {
                    requests += 1;
                    bytes = bytes.saturating_add(match part {
                        Part::Whole => plan.object_bytes,
                        Part::Range { length, .. } | Part::Last(length) => length,
                    });
                    soon.push((key.to_owned(), part));
                }
            });
            if self.next > nth {
                self.waiting.push_back((self.next, requests, bytes));
            }
            self.next += 1;
        }
        if !soon.is_empty() {
            plan.node.prefetch(&soon);
        }
    }
    /// Returns true if a part was not announced recently, and remembers it.
    fn is_new(&mut self, key: &str, part: Part) -> bool {
        if self.latest.iter().any(|(known, of)| known == key && *of == part) {
            return false;
        }
        self.latest.truncate(REMEMBERED - 1);
        self.latest.push_front((key.to_owned(), part));
        true
    }

    /// Returns true if the announced reads of waiting units are below the limit.
    fn is_below_limit(&self) -> bool {
        let requests: usize = self.waiting.iter().map(|(_, requests, _)| requests).sum();
        let bytes = self.waiting.iter().fold(0, |bytes: u64, (.., more)| bytes.saturating_add(*more));
        requests < self.most.requests && bytes < self.most.bytes
    }
}

/// Calls `each` with the first read of an object of an array. For a streamed shard it is the index, or the whole of a
/// small shard if `reads_all` is set. For any other object it is the whole.
pub fn reads_of_object(array: &StoredArray, object: u64, reads_all: bool, each: &mut dyn FnMut(&str, Part)) {
    if !array.may_hold(object) {
        return;
    }
    match array.layout_of(object) {
        // An earlier pass has cached it.
        Ok(None) if array.cache.get(&position(object, &array.metadata)).is_some() => {}
        Ok(None) => each(&array.key(object), Part::Whole),
        Ok(Some(layout)) => {
            let is_small = array.chunk_bytes() <= MOST_WHOLE_SHARD;
            // Cached inner chunks are not read again.
            let is_whole = reads_all && is_small && !array.keeps_some_of(object) && array.takes_whole(object);
            each(&array.key(object), if is_whole { Part::Whole } else { index_part(&layout.sharding) });
        }
        // The unit itself reports the error.
        Err(_) => {}
    }
}

/// Returns the position of the index in a shard.
pub fn index_part(sharding: &BoundSharding) -> Part {
    let length = sharding.index_bytes;
    match sharding.index_location {
        IndexLocation::Start => Part::Range { offset: 0, length },
        IndexLocation::End => Part::Last(length),
    }
}

/// Calls `each` with the first reads of the source objects that overlap a box of the destination.
pub fn reads_in(transfer: &Transfer, region: &Region, each: &mut dyn FnMut(&str, Part)) {
    let source = &transfer.source;
    reads_of_box(source, &transfer.in_source(region), stays_open(source), each);
}

/// Calls `each` with the first reads of the objects of an array that overlap a box of it. Shards that stay open are
/// read as a whole sooner or later.
pub fn reads_of_box(array: &StoredArray, region: &Region, stay_open: bool, each: &mut dyn FnMut(&str, Part)) {
    for object in array.objects_in(region) {
        let whole = array.inside(&array.region_of(object));
        let is_whole = stay_open || (array.takes_whole(object) && whole.common(region) == whole);
        reads_of_object(array, object, is_whole, each);
    }
}

/// Returns true if a job reads a source shard completely while it is open.
pub fn reads_all(source: &StoredArray, destination: &StoredArray) -> bool {
    let sides = destination.metadata.grid.largest().iter().zip(source.metadata.grid.largest());
    let holds_whole = |(to, from): (&u64, &u64)| to.is_multiple_of(*from.max(&1));
    stays_open(source) || (!source.metadata.skips() && sides.into_iter().all(holds_whole))
}

/// Returns true if so few shards have the same index along the first dimension that all can stay open. Each then stays
/// open until everything that is needed of it was read.
pub fn stays_open(array: &StoredArray) -> bool {
    volume(array.metadata.grid.counts().get(1..).unwrap_or_default()) <= MOST_OPEN_SHARDS as u64
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::store::MemoryStore;
    use crate::store::tests::faulty::{Faults, StoreCall};

    /// Units that each read an object of ten bytes. Every fourth one also reads a shared object.
    fn tens(node: &Node) -> [PrefetchPlan<'_>; 1] {
        [PrefetchPlan::new(node, 10, |unit, each| {
            each(&unit.to_string(), Part::Whole);
            if unit.is_multiple_of(4) {
                each("shared", Part::Last(1));
            }
        })]
    }

    #[test]
    fn store_is_told_so_far_ahead_as_it_wants_to_hear() {
        let units: ChunkSet = (0..100).filter(|unit| unit % 3 != 1).collect();
        for (most, ahead) in [
            (PrefetchLimit { requests: 5, bytes: u64::MAX }, 4..6),
            (PrefetchLimit { requests: usize::MAX, bytes: 35 }, 4..5),
            (PrefetchLimit { requests: 0, bytes: 0 }, 0..1),
        ] {
            let hearing = Faults::hearing(most);
            let far = hearing.wrap(&Node::of(Arc::new(MemoryStore::new("far"))));
            let tens = tens(&far);
            let mut read_ahead = ReadAhead::for_sources(&tens, &units).remove(0).into_inner().unwrap();
            let mut expected: Vec<u64> = Vec::new();
            for nth in 0..units.len() {
                read_ahead.begin(nth);
                let heard = hearing.heard();
                let numbers = heard.iter().filter_map(|heard| match heard {
                    StoreCall::Expected(name, Part::Whole) => name.strip_prefix("far/")?.parse().ok(),
                    _ => None,
                });
                expected = numbers.collect();
                let hinted = expected.len() as u64;
                assert!(expected.iter().copied().eq(units.iter().take(hinted.try_into().unwrap())));
                assert!(hinted == units.len() || ahead.contains(&(hinted - nth - 1)), "{hinted} at {nth}");
            }
            assert_eq!(expected.len() as u64, units.len());
            let shared =
                hearing.heard().iter().filter(|heard| matches!(heard, StoreCall::Expected(_, Part::Last(_)))).count();
            assert!(shared < 3, "{shared}");
        }
        let near = Node::of(Arc::new(MemoryStore::new("near")));
        assert!(ReadAhead::for_sources(&tens(&near), &units).is_empty());
    }
}
