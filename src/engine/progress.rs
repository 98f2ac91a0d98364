//! Progress of an operation for its observers, without a terminal. Also counts of the work on an array's objects, which
//! are chunks or shards.

use std::ops::AddAssign;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use crate::array::ChunkSet;
use crate::kernel::quantize::QuantizeFigures;

/// Observer of one operation, counted in bytes. Its methods are called from worker threads.
pub trait Progress: Send + Sync {
    /// The operation begins under this name. `_length` is the total number of bytes, if known.
    fn start(&self, _name: &str, _length: Option<u64>) {}
    /// `_bytes` more bytes are done.
    fn advance(&self, _bytes: u64) {}
    /// The operation has ended, with or without success.
    fn finish(&self) {}
}

/// Observer that ignores everything.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Progress for Silent {}

/// Part of a larger operation whose length is known only when it begins. Its progress is scaled to a share of the whole
/// that is known before.
pub struct SubProgress<'a> {
    whole: &'a dyn Progress,
    /// Bytes of the whole for each pass of the part.
    bytes: u64,
    /// Current length of the part, and how much of it is done.
    length: AtomicU64,
    done: AtomicU64,
}

impl<'a> SubProgress<'a> {
    /// Creates a share of `bytes` bytes of the whole, for `passes` passes of equal length.
    pub fn new(whole: &'a dyn Progress, bytes: u64, passes: u64) -> Self {
        SubProgress { whole, bytes: bytes / passes.max(1), length: AtomicU64::new(0), done: AtomicU64::new(0) }
    }

    /// Converts a done length of the part to bytes of the share.
    fn part(&self, done: u64) -> u64 {
        let length = self.length.load(Ordering::Relaxed);
        let done = u128::from(done.min(length));
        u64::try_from(u128::from(self.bytes) * done / u128::from(length.max(1))).unwrap_or(self.bytes)
    }
}

impl Progress for SubProgress<'_> {
    fn start(&self, _name: &str, length: Option<u64>) {
        self.length.store(length.unwrap_or(0), Ordering::Relaxed);
        self.done.store(0, Ordering::Relaxed);
    }

    fn advance(&self, bytes: u64) {
        let before = self.done.fetch_add(bytes, Ordering::Relaxed);
        // Differences of rounded totals add up to the whole, which rounded differences would not.
        self.whole.advance(self.part(before.saturating_add(bytes)) - self.part(before));
    }

    fn finish(&self) {
        self.advance(self.length.load(Ordering::Relaxed).saturating_sub(self.done.load(Ordering::Relaxed)));
    }
}

/// Counts of the work on objects.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct ObjectReport {
    /// Number of written objects.
    pub written: u64,
    /// Digest of their indices by [`digest_of`]. Absent objects are not included.
    pub written_digest: u64,
    /// Bytes read from the source.
    pub bytes_read: u64,
    /// Bytes written to the destination.
    pub bytes_written: u64,
    /// Bytes of intermediate data.
    pub bytes_temporary: u64,
    /// Errors of quantisation, if the job quantises.
    pub figures: QuantizeFigures,
}

impl ObjectReport {
    /// Counts a written object by its linear index.
    pub fn wrote(&mut self, object: u64, bytes: u64) {
        self.written += 1;
        self.written_digest = self.written_digest.wrapping_add(mixed(object));
        self.bytes_written += bytes;
    }

    /// Returns true if exactly these objects were written.
    pub fn is_of(&self, objects: &ChunkSet) -> bool {
        objects.len() == self.written && digest_of(objects) == self.written_digest
    }
}

/// Adds the counts of other objects.
impl AddAssign for ObjectReport {
    fn add_assign(&mut self, other: Self) {
        self.written = self.written.saturating_add(other.written);
        self.written_digest = self.written_digest.wrapping_add(other.written_digest);
        self.bytes_read = self.bytes_read.saturating_add(other.bytes_read);
        self.bytes_written = self.bytes_written.saturating_add(other.bytes_written);
        self.bytes_temporary = self.bytes_temporary.saturating_add(other.bytes_temporary);
        self.figures.merge(&other.figures);
    }
}

/// Returns the digest of a set of objects. It is a sum over the objects, so that parts can be added in any order.
pub fn digest_of(objects: &ChunkSet) -> u64 {
    objects.iter().map(mixed).fold(0, u64::wrapping_add)
}

/// The function of `SplitMix64`: <https://prng.di.unimi.it/splitmix64.c>
pub(crate) fn mixed(object: u64) -> u64 {
    let mixed = object.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Counts the reported bytes.
    #[derive(Default)]
    struct Counter(AtomicU64);

    impl Progress for Counter {
        fn advance(&self, bytes: u64) {
            self.0.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    #[test]
    fn share_tells_its_part_of_the_whole_and_no_more() {
        let whole = Counter::default();
        let share = SubProgress::new(&whole, 1000, 2);
        let advanced = || whole.0.load(Ordering::Relaxed);
        share.start("first", Some(30));
        share.advance(10);
        assert_eq!(advanced(), 166);
        share.finish();
        assert_eq!(advanced(), 500);
        share.start("second", Some(7));
        (0..9).for_each(|_| share.advance(1));
        share.finish();
        assert_eq!(advanced(), 1000);
        SubProgress::new(&whole, 5, 1).finish();
        assert_eq!(advanced(), 1000);
    }

    proptest! {
        #[test]
        fn report_comes_back_from_json_bit_by_bit(numbers in prop::array::uniform14(any::<u64>())) {
            let [written, written_digest, bytes_read, bytes_written, count, nan, clamped, infinite, rounded, like_nan, ..] =
                numbers;
            let [.., a, b, c, d] = numbers.map(f64::from_bits);
            let figures = QuantizeFigures {
                count, nan, clamped, infinite, rounded, like_nan,
                max_abs_error: a, max_abs_error_clamped: b, sum_of_squares: c, normalizer: d,
            };
            let report = ObjectReport {
                written, written_digest, bytes_read, bytes_written, bytes_temporary: 7, figures,
            };
            let text = serde_json::to_string(&report).unwrap();
            let read: ObjectReport = serde_json::from_str(&text).unwrap();
            // A NaN is not equal to itself, but its bits are.
            prop_assert_eq!(serde_json::to_string(&read).unwrap(), text);
            prop_assert_eq!(read.figures.normalizer.to_bits(), numbers[13]);
            prop_assert_eq!((read.written_digest, read.bytes_temporary, read.figures.rounded), (written_digest, 7, rounded));
        }

        #[test]
        fn digest_is_the_sum_of_those_of_parts_in_any_order(
            objects in prop::collection::btree_set(0_u64..10_000, 0..50), at in 0_usize..50,
        ) {
            let objects: Vec<u64> = objects.into_iter().collect();
            let (a, b) = objects.split_at(at.min(objects.len()));
            let mut report = ObjectReport::default();
            b.iter().chain(a).for_each(|object| report.wrote(*object, 1));
            prop_assert_eq!(report.written_digest, digest_of(&objects.iter().copied().collect()));
            prop_assert_eq!(report.bytes_written, objects.len() as u64);
        }
    }

    #[test]
    fn digests_of_sets_differ() {
        assert_ne!(digest_of(&ChunkSet::full(7)), digest_of(&ChunkSet::full(8)));
    }
}
