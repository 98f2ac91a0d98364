//! What will be read, told to the store before it is: one that is far away fetches it meanwhile.
//!
//! Stores say whether they want to know ([`Store::prefetch_limit`](crate::store::Store::prefetch_limit)); for the others none of this
//! is done. A wrong hint makes a run slower, never wrong.

use std::collections::VecDeque;
use std::sync::Mutex;

use super::Transfer;
use crate::array::{ChunkSet, MOST_OPEN_SHARDS, StoredArray, position};
use crate::codec::BoundSharding;
use crate::grid::{Region, volume};
use crate::pipeline::IndexLocation;
use crate::store::{Node, Part, PrefetchLimit, held};

/// The reads of a unit of work (an object of the destination, a block), known before it is run.
pub trait Reads: Sync {
    /// The node that is read, and the approximate bytes of an object of it.
    fn source(&self) -> (&Node, u64);

    /// Gives each part of an object that a unit will read to `each`, with the key of the object, unless it cannot be known
    /// yet: where inner chunks lie stands in the index of their shard. What is not there is not given.
    fn reads(&self, unit: u64, each: &mut dyn FnMut(&str, Part));
}

/// Units that are objects of an array itself, each read from its beginning on, or by its index if it is a shard.
impl Reads for StoredArray {
    fn source(&self) -> (&Node, u64) {
        (&self.node, self.chunk_bytes())
    }

    fn reads(&self, object: u64, each: &mut dyn FnMut(&str, Part)) {
        reads_of_object(self, object, true, each);
    }
}

/// Parts of one unit that are told of at most: a block may need more than is worth keeping in mind.
const MOST_OF_A_UNIT: usize = 1 << 12;
/// Bytes of a decoded shard up to which it is asked for whole where all of it is read: its index and what it leads to come
/// at once. So many may be open at a time.
pub const MOST_WHOLE_SHARD: u64 = 2 << 20;
/// Parts that are remembered so as not to be told twice: units that follow each other share some.
const REMEMBERED: usize = 64;

/// Tells a store what the units of some work will read of it, a bounded way ahead of them.
pub struct ReadAhead<'a> {
    reads: &'a dyn Reads,
    units: &'a ChunkSet,
    most: PrefetchLimit,
    told: Mutex<Told>,
}

/// The parts that were told.
#[derive(Debug, Default)]
struct Told {
    /// The place of the unit after the last that was told of.
    next: u64,
    /// Units that have not begun: their places, and how many parts and bytes they will read.
    waiting: VecDeque<(u64, usize, u64)>,
    /// The last parts.
    latest: VecDeque<(String, Part)>,
}

impl<'a> ReadAhead<'a> {
    /// The reads of `units`, in their order, of each of some sources whose store wants to know. They may have one store,
    /// and share what that wants to hear.
    pub fn of(sources: &[&'a dyn Reads], units: &'a ChunkSet) -> Vec<Self> {
        let wanted = sources.iter().filter_map(|reads| Some((*reads, reads.source().0.prefetch_limit()?)));
        let wanted: Vec<_> = wanted.collect();
        let share = wanted.len();
        let ahead = wanted.into_iter().map(|(reads, PrefetchLimit { requests, bytes })| {
            let most = PrefetchLimit { requests: requests / share, bytes: bytes / share as u64 };
            ReadAhead { reads, units, most, told: Mutex::default() }
        });
        ahead.collect()
    }

    /// The unit at a place in the set begins: what it reads is told, and what those after it read as far as that is wanted.
    pub fn begin(&self, place: u64) {
        // Held while it is told: another thread's unit does not begin before the store has heard of it.
        let mut told = held(&self.told);
        told.waiting.retain(|(waiting, ..)| *waiting > place);
        let ((source, object_bytes), mut soon) = (self.reads.source(), Vec::new());
        while let Some(unit) = self.units.nth(told.next)
            && (told.next <= place || told.is_less_than(self.most))
        {
            let (mut requests, mut bytes) = (0, 0_u64);
            self.reads.reads(unit, &mut |key, part| {
                if requests < MOST_OF_A_UNIT && told.is_new(key, part) {
                    requests += 1;
                    bytes = bytes.saturating_add(match part {
                        Part::Whole => object_bytes,
                        Part::Range { length, .. } | Part::Last(length) => length,
                    });
                    soon.push((key.to_owned(), part));
                }
            });
            if told.next > place {
                let next = told.next;
                told.waiting.push_back((next, requests, bytes));
            }
            told.next += 1;
        }
        if !soon.is_empty() {
            source.prefetch(&soon);
        }
    }
}

impl Told {
    /// True if a part was not told of just before; it is remembered.
    fn is_new(&mut self, key: &str, part: Part) -> bool {
        if self.latest.iter().any(|(known, of)| known == key && *of == part) {
            return false;
        }
        self.latest.truncate(REMEMBERED - 1);
        self.latest.push_front((key.to_owned(), part));
        true
    }

    /// True if what waits is less than the store wants to know.
    fn is_less_than(&self, most: PrefetchLimit) -> bool {
        let requests: usize = self.waiting.iter().map(|(_, requests, _)| requests).sum();
        let bytes = self.waiting.iter().fold(0, |bytes: u64, (.., more)| bytes.saturating_add(*more));
        requests < most.requests && bytes < most.bytes
    }
}

/// Gives what is read first of an object of an array: the index of a shard that is taken apart, unless all of a small one is
/// read, at once or soon, else all of it.
pub fn reads_of_object(array: &StoredArray, object: u64, reads_all: bool, each: &mut dyn FnMut(&str, Part)) {
    if !array.may_hold(object) {
        return;
    }
    match array.layout_of(object) {
        // An earlier pass has it.
        Ok(None) if array.cache.get(&position(object, &array.metadata)).is_some() => {}
        Ok(None) => each(&array.key(object), Part::Whole),
        Ok(Some(layout)) => {
            let is_small = array.chunk_bytes() <= MOST_WHOLE_SHARD;
            // What an earlier pass has is not read again.
            let is_whole = reads_all && is_small && !array.keeps_some_of(object) && array.takes_whole(object);
            each(&array.key(object), if is_whole { Part::Whole } else { index_part(&layout.sharding) });
        }
        // The unit itself will say what is wrong.
        Err(_) => {}
    }
}

/// Where the index of a shard lies.
pub fn index_part(sharding: &BoundSharding) -> Part {
    let length = sharding.index_bytes();
    match sharding.index_location() {
        IndexLocation::Start => Part::Range { offset: 0, length },
        IndexLocation::End => Part::Last(length),
    }
}

/// Gives what is read first of the objects of a job's source that overlap a box of its destination.
pub fn reads_in(transfer: &Transfer, region: &Region, each: &mut dyn FnMut(&str, Part)) {
    let source = &transfer.source;
    reads_of_box(source, &transfer.in_source(region), stays_open(source), each);
}

/// Gives what is read first of the objects of an array that overlap a box of it; of shards that stay open, all that is not
/// needed now is read soon.
pub fn reads_of_box(array: &StoredArray, region: &Region, stay_open: bool, each: &mut dyn FnMut(&str, Part)) {
    for object in array.objects_in(region) {
        let whole = array.inside(&array.region_of(object));
        let is_whole = stay_open || (array.takes_whole(object) && whole.common(region) == whole);
        reads_of_object(array, object, is_whole, each);
    }
}

/// True if a job reads all of a shard of its source while it is open.
pub fn reads_all(source: &StoredArray, destination: &StoredArray) -> bool {
    let sides = destination.metadata.grid.largest().iter().zip(source.metadata.grid.largest());
    let holds_whole = |(to, from): (&u64, &u64)| to.is_multiple_of(*from.max(&1));
    stays_open(source) || (!source.metadata.skips() && sides.into_iter().all(holds_whole))
}

/// True if so few shards lie side by side that each stays open until all that is wanted of it was read.
pub fn stays_open(array: &StoredArray) -> bool {
    volume(array.metadata.grid.counts().get(1..).unwrap_or_default()) <= MOST_OPEN_SHARDS as u64
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::store::MemoryStore;
    use crate::store::tests::faulty::{Faults, Heard};

    /// Units that each read an object of ten bytes. Every fourth one also reads a shared object.
    struct Tens(Node);

    impl Reads for Tens {
        fn source(&self) -> (&Node, u64) {
            (&self.0, 10)
        }

        fn reads(&self, unit: u64, each: &mut dyn FnMut(&str, Part)) {
            each(&unit.to_string(), Part::Whole);
            if unit.is_multiple_of(4) {
                each("shared", Part::Last(1));
            }
        }
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
            let tens = Tens(hearing.wrap(&Node::of(Arc::new(MemoryStore::new("far")))));
            let read_ahead = ReadAhead::of(&[&tens], &units).remove(0);
            let mut expected: Vec<u64> = Vec::new();
            for place in 0..units.len() {
                read_ahead.begin(place);
                let heard = hearing.heard();
                let numbers = heard.iter().filter_map(|heard| match heard {
                    Heard::Expected(name, Part::Whole) => name.strip_prefix("far/")?.parse().ok(),
                    _ => None,
                });
                expected = numbers.collect();
                let told = expected.len() as u64;
                assert!(expected.iter().copied().eq(units.iter().take(told.try_into().unwrap())));
                assert!(told == units.len() || ahead.contains(&(told - place - 1)), "{told} at {place}");
            }
            assert_eq!(expected.len() as u64, units.len());
            let shared =
                hearing.heard().iter().filter(|heard| matches!(heard, Heard::Expected(_, Part::Last(_)))).count();
            assert!(shared < 3, "{shared}");
        }
        assert!(ReadAhead::of(&[&Tens(Node::of(Arc::new(MemoryStore::new("near"))))], &units).is_empty());
    }
}
