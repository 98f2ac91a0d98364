//! What was done with the objects (chunks or shards) of an array, counted.

use std::ops::AddAssign;

use crate::array::chunk_set::ChunkSet;
use crate::kernel::quantize::QuantizeFigures;

/// What was done with an object.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ObjectReport {
    /// Objects that were written.
    pub written: u64,
    /// Which they were, by [`digest_of`]: objects that stay absent are not among them.
    pub written_digest: u64,
    /// Bytes read from the source.
    pub bytes_read: u64,
    /// Bytes written to the destination.
    pub bytes_written: u64,
    /// Bytes of intermediate data.
    pub bytes_temporary: u64,
    /// Error figures, where the job quantises.
    pub figures: QuantizeFigures,
}

impl ObjectReport {
    /// Adds what was done with another object.
    pub fn add(&mut self, other: &ObjectReport) {
        self.written = self.written.saturating_add(other.written);
        self.written_digest = self.written_digest.wrapping_add(other.written_digest);
        self.bytes_read = self.bytes_read.saturating_add(other.bytes_read);
        self.bytes_written = self.bytes_written.saturating_add(other.bytes_written);
        self.bytes_temporary = self.bytes_temporary.saturating_add(other.bytes_temporary);
        self.figures.merge(&other.figures);
    }

    /// Counts an object, by its linear index, that was written.
    pub fn wrote(&mut self, object: u64, bytes: u64) {
        self.written += 1;
        self.written_digest = self.written_digest.wrapping_add(mixed(object));
        self.bytes_written += bytes;
    }

    /// Whether objects are those that were written.
    pub fn is_of(&self, objects: &ChunkSet) -> bool {
        objects.len() == self.written && digest_of(objects) == self.written_digest
    }

    /// As a text of at most 168 of the letters that names of objects and files may have anywhere (A-Z, a-z, 0-9 and `_`);
    /// floats by their bits.
    pub fn to_text(&self) -> String {
        let figures = &self.figures;
        let fields = [
            self.written,
            self.written_digest,
            self.bytes_read,
            self.bytes_written,
            self.bytes_temporary,
            figures.count,
            figures.nan,
            figures.clamped,
            figures.max_abs_error.to_bits(),
            figures.max_abs_error_clamped.to_bits(),
            figures.sum_of_squares.to_bits(),
            figures.normalizer.to_bits(),
            figures.infinite,
            figures.rounded,
        ];
        let text = fields.map(digits).join("_");
        format!("{VERSION}{}", text.trim_end_matches('_'))
    }

    /// The report that a text is of; `None` where it is none.
    pub fn from_text(text: &str) -> Option<Self> {
        let mut fields = text.strip_prefix(VERSION)?.split('_').map(number);
        let mut next = || fields.next().unwrap_or(Some(0));
        let report = ObjectReport {
            written: next()?,
            written_digest: next()?,
            bytes_read: next()?,
            bytes_written: next()?,
            bytes_temporary: next()?,
            figures: QuantizeFigures {
                count: next()?,
                nan: next()?,
                clamped: next()?,
                max_abs_error: f64::from_bits(next()?),
                max_abs_error_clamped: f64::from_bits(next()?),
                sum_of_squares: f64::from_bits(next()?),
                normalizer: f64::from_bits(next()?),
                infinite: next()?,
                rounded: next()?,
            },
        };
        // No two texts are of one report.
        (report.to_text() == text).then_some(report)
    }
}

impl AddAssign for ObjectReport {
    fn add_assign(&mut self, other: Self) {
        self.add(&other);
    }
}

/// The digest of a set of objects: the sum of one of each, so that it is that of its parts in any order.
pub fn digest_of(objects: &ChunkSet) -> u64 {
    objects.iter().map(mixed).fold(0, u64::wrapping_add)
}

/// The function of `SplitMix64`: <https://prng.di.unimi.it/splitmix64.c>
fn mixed(object: u64) -> u64 {
    let mixed = object.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// With what a text of this form begins.
const VERSION: char = 'a';

const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// A number to the base of 62; nothing where it is 0.
fn digits(mut number: u64) -> String {
    let mut digits = Vec::new();
    while number > 0 {
        let digit = usize::try_from(number % 62).unwrap_or(0);
        digits.push(char::from(DIGITS[digit]));
        number /= 62;
    }
    digits.iter().rev().collect()
}

fn number(digits: &str) -> Option<u64> {
    digits.bytes().try_fold(0_u64, |number, letter| {
        let digit = DIGITS.iter().position(|digit| *digit == letter)?;
        number.checked_mul(62)?.checked_add(digit as u64)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn number() -> impl Strategy<Value = u64> {
        prop_oneof![Just(0), Just(u64::MAX), 0_u64..5000, any::<u64>()]
    }

    proptest! {
        #[test]
        fn report_comes_back_from_its_text(numbers in prop::array::uniform14(number())) {
            let [written, written_digest, bytes_read, bytes_written, bytes_temporary, count, nan, clamped, ..] = numbers;
            let floats = [8, 9, 10, 11].map(|field: usize| f64::from_bits(numbers[field]));
            let [max_abs_error, max_abs_error_clamped, sum_of_squares, normalizer] = floats;
            let [.., infinite, rounded] = numbers;
            let figures = QuantizeFigures {
                count, nan, clamped, max_abs_error, max_abs_error_clamped, sum_of_squares, normalizer, infinite,
                rounded,
            };
            let report = ObjectReport {
                written, written_digest, bytes_read, bytes_written, bytes_temporary, figures,
            };
            let text = report.to_text();
            prop_assert!(text.len() <= 168);
            prop_assert!(text.bytes().all(|letter| letter.is_ascii_alphanumeric() || letter == b'_'));
            // A NaN is not equal to itself, but its bits are.
            let read = ObjectReport::from_text(&text).unwrap();
            prop_assert_eq!(read.to_text(), text);
            prop_assert_eq!(read.figures.sum_of_squares.to_bits(), numbers[10]);
            prop_assert_eq!((read.written, read.written_digest, read.figures.clamped), (written, written_digest, clamped));
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
    fn text_that_is_no_report_is_told() {
        assert_eq!(ObjectReport::default().to_text(), "a");
        assert_eq!(ObjectReport::from_text("a1__Z").unwrap().bytes_read, 35);
        for text in
            ["", "b", "a_", "a01", "a-", "a1 ", "aé", "a1111111111111", "a1_1_1_1_1_1_1_1_1_1_1_1_1_1_1"]
        {
            assert_eq!(ObjectReport::from_text(text), None, "{text}");
        }
        assert_ne!(digest_of(&ChunkSet::full(7)), digest_of(&ChunkSet::full(8)));
    }
}
