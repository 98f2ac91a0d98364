//! Whether a quantisation keeps its error over every value of its range, found out without looking at data.
//!
//! Encoding is monotone: a subtraction, a multiplication by a positive scale and a rounding, each rounded correctly,
//! never swap two values. So the values of one code are an interval of floats, and since all of them are decoded to
//! the same value, the error is greatest at an end of the interval. The ends are found by bisection over the bit
//! patterns, all codes side by side, through the kernel that quantises the data.

use super::range::{float_of, integer_of};
use super::{Codes, RangeFinder, Scaling};
use crate::element::NumberType;
use crate::kernel::Rounding;
use crate::kernel::quantize::{Quantize, QuantizeFigures};

/// Boundaries that are searched for side by side.
const BLOCK: usize = 1 << 11;

/// A quantisation that is looked at, and the values that it is for.
pub(crate) struct WorstError<'a> {
    finder: &'a RangeFinder,
    scaling: Scaling,
    kernel: Quantize,
    /// The codes of `ends`.
    codes: (i64, i64),
    /// The least and the greatest value.
    ends: (f64, f64),
}

/// The place between two codes: the greatest value that gets `code` or less, and the least that gets more.
struct Boundary {
    code: i64,
    /// The ordinal of a value known to get `code` or less.
    below: i64,
    /// The ordinal of a value known to get more.
    above: i64,
    search: Search,
}

/// Choice of the next value to try.
#[derive(Clone, Copy)]
enum Search {
    /// Where exact arithmetic has the boundary.
    At(i64),
    /// That was below it: up, ever further.
    Up(i64),
    /// That was above it: down, ever further.
    Down(i64),
    /// Between the two sides.
    Halve,
}

impl Boundary {
    /// Whether the two sides are neighbours.
    fn is_found(&self) -> bool {
        self.below.saturating_add(1) >= self.above
    }

    /// The ordinal that is tried next.
    fn next(&self) -> i64 {
        let next = match self.search {
            Search::At(ordinal) => ordinal,
            Search::Up(stride) => self.below.saturating_add(stride),
            Search::Down(stride) => self.above.saturating_sub(stride),
            // The mean of two integers, rounded down, without overflow.
            Search::Halve => (self.below & self.above) + ((self.below ^ self.above) >> 1),
        };
        next.clamp(self.below + 1, self.above - 1)
    }

    /// Takes the code of the value that was tried.
    fn take(&mut self, tried: i64, code: i64) {
        let is_below = code <= self.code;
        self.search = match self.search {
            Search::At(_) if is_below => Search::Up(1),
            Search::At(_) => Search::Down(1),
            Search::Up(stride) if is_below => Search::Up(stride.saturating_mul(8)),
            Search::Down(stride) if !is_below => Search::Down(stride.saturating_mul(8)),
            _ => Search::Halve,
        };
        if is_below {
            self.below = tried;
        } else {
            self.above = tried;
        }
    }
}

impl<'a> WorstError<'a> {
    /// The quantisation of values from `lo` to `hi`; `None` where an end gets no code of the finder.
    ///
    /// A NaN code among the others counts as theirs: what is proved holds for a number that would get it.
    pub(crate) fn new(finder: &'a RangeFinder, scaling: Scaling, (lo, hi): (f64, f64)) -> Option<Self> {
        let with_all = RangeFinder { codes: Codes { nan: None, ..finder.codes }, ..finder.clone() };
        let kernel = Quantize::new(with_all.options(scaling));
        let worst = WorstError { finder, scaling, kernel, codes: (0, 0), ends: (lo, hi) };
        let float = finder.float;
        let codes = worst.encode(&[float.ordinal(lo), float.ordinal(hi)])?.0;
        Some(WorstError { codes: (*codes.first()?, *codes.last()?), ..worst })
    }

    /// The codes of the least and the greatest value.
    pub(crate) fn codes(&self) -> Codes {
        let (first, last) = self.codes;
        Codes { first, last, ..self.finder.codes }
    }

    /// Whether the error is at most `allowed` at the ends of the codes, as the codecs decode and as CF attributes do;
    /// where there are more than `most` boundaries of codes, at so many of them, densest at the ends of the range.
    pub(crate) fn keeps(&self, allowed: f64, most: i64) -> bool {
        let float = self.finder.float;
        let ends = (float.ordinal(self.ends.0), float.ordinal(self.ends.1));
        let codes: Vec<i64> = sample(self.codes, most).collect();
        // What is exceeded is so at many places: the first blocks tell.
        self.keeps_at(&[ends.0, ends.1], allowed)
            && codes.rchunks(BLOCK).all(|codes| {
                let sides = self.sides(codes, ends);
                sides.is_some_and(|sides| self.keeps_at(&sides, allowed))
            })
    }

    /// Both sides of the boundaries above some codes, as ordinals.
    fn sides(&self, codes: &[i64], ends: (i64, i64)) -> Option<Vec<i64>> {
        let boundary = |code: &i64| Boundary { code: *code, below: ends.0, above: ends.1, search: self.guess(*code) };
        let mut boundaries: Vec<Boundary> = codes.iter().map(boundary).collect();
        let mut open: Vec<&mut Boundary> = boundaries.iter_mut().filter(|one| !one.is_found()).collect();
        while !open.is_empty() {
            let tried: Vec<i64> = open.iter().map(|boundary| boundary.next()).collect();
            let (codes, _) = self.encode(&tried)?;
            for ((boundary, ordinal), code) in open.iter_mut().zip(tried).zip(codes) {
                boundary.take(ordinal, code);
            }
            open.retain(|boundary| !boundary.is_found());
        }
        Some(boundaries.iter().flat_map(|boundary| [boundary.below, boundary.above]).collect())
    }

    fn keeps_at(&self, ordinals: &[i64], allowed: f64) -> bool {
        self.encode(ordinals).is_some_and(|(codes, figures)| {
            let is_kept = |(ordinal, code): (&i64, i64)| self.cf_error(*ordinal, code) <= allowed;
            figures.max_abs_error <= allowed && ordinals.iter().zip(codes).all(is_kept)
        })
    }

    /// Where exact arithmetic has the boundary above a code.
    fn guess(&self, code: i64) -> Search {
        let edge = match self.finder.rounding {
            Rounding::NearestEven | Rounding::NearestAway => 0.5,
            Rounding::TowardsNegative => 1.0,
            Rounding::TowardsZero if code >= 0 => 1.0,
            Rounding::TowardsPositive | Rounding::TowardsZero => 0.0,
        };
        let (scale, offset) = self.parameters();
        let value = self.finder.float.round((float_of(code) + edge) / scale + offset, Rounding::NearestEven);
        Search::At(self.finder.float.ordinal(value.clamp(self.ends.0, self.ends.1)))
    }

    /// The scale, and what decoding adds.
    fn parameters(&self) -> (f64, f64) {
        (self.scaling.scale.unwrap_or(1.0), self.scaling.offset.unwrap_or(0.0))
    }

    /// The error that a reader of `scale_factor` and `add_offset` sees, who computes in float64, and may round to the
    /// array's type afterwards.
    fn cf_error(&self, ordinal: i64, code: i64) -> f64 {
        let (float, (scale, offset)) = (self.finder.float, self.parameters());
        let value = float.value(float.of_ordinal(ordinal));
        let decoded = float_of(code) * (1.0 / scale) + offset;
        let rounded = float.value(float.bits(decoded));
        (decoded - value).abs().max((rounded - value).abs())
    }

    /// The codes of values by their ordinals, and the error figures; `None` where one has no code.
    fn encode(&self, ordinals: &[i64]) -> Option<(Vec<i64>, QuantizeFigures)> {
        let RangeFinder { float, target, .. } = *self.finder;
        let source = float.0;
        let mut elements = Vec::with_capacity(ordinals.len() * source.size());
        for ordinal in ordinals {
            push_element(&mut elements, source, float.of_ordinal(*ordinal));
        }
        let mut codes = vec![0; ordinals.len() * target.size()];
        let mut figures = QuantizeFigures::default();
        self.kernel.convert(&elements, &mut codes, &mut figures).ok()?;
        let codes = codes.chunks_exact(target.size()).map(|code| integer_of(target, code)).collect();
        Some((codes, figures))
    }
}

/// Appends an element in the order of this machine.
fn push_element(elements: &mut Vec<u8>, number_type: NumberType, bits: u64) {
    let size = number_type.size();
    if cfg!(target_endian = "big") {
        elements.extend_from_slice(bits.to_be_bytes().get(8 - size..).unwrap_or_default());
    } else {
        elements.extend_from_slice(bits.to_le_bytes().get(..size).unwrap_or_default());
    }
}

/// The codes from the first up to the last, which has no boundary above it, or `most` of them: a quarter at either
/// end, where values are largest and their arithmetic coarsest, the others evenly between.
fn sample((first, last): (i64, i64), most: i64) -> impl Iterator<Item = i64> {
    let count = last - first;
    let quarter = most / 4;
    let (head, tail, stride) =
        if count <= most { (count, 0, 1) } else { (quarter, quarter, (count / (most / 2)).max(1)) };
    let middle = (first + head..last - tail).step_by(usize::try_from(stride).unwrap_or(usize::MAX));
    (first..first + head).chain(middle).chain(last - tail..last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sample_holds_all_of_few_codes_and_both_ends_of_many() {
        assert_eq!(sample((3, 7), 8).collect::<Vec<_>>(), [3, 4, 5, 6]);
        assert_eq!(sample((3, 3), 8).count(), 0);
        let many: Vec<i64> = sample((-1000, 5000), 100).collect();
        assert!(many.len() <= 130 && many.is_sorted_by(|a, b| a < b), "{many:?}");
        assert_eq!((many[0], many[24], many[many.len() - 1]), (-1000, -976, 4999));
    }
}
