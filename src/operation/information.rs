//! The bitwise real information of an array along each of its dimensions, from one pass over its chunks.
//!
//! Every pair of neighbours counts, also across two chunks. The thread that reads a chunk stores its faces for the
//! thread that reads the adjacent chunk. The second thread counts the pairs between. Counts are integers, so the order
//! of the chunks does not change the result.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use super::draft::code_pipeline;
use super::{Budget, Numbers, OpenedArray, Result, budget::BASE_BYTES, stored::bound_array};
use crate::array::{ChunkFault, ChunkSet, Fault, StoredArray};
use crate::codec::{Effect, fault::number_value, region::as_index};
use crate::element::NumberType;
use crate::engine::{Accumulator, Chunk, Driver, Fold, Progress};
use crate::grid::Region;
use crate::kernel::bit_pairs::{BitPairs, BitPatterns, Block, BlockAxis, Information, PairCounter};
use crate::kernel::cast::Cast;
use crate::pipeline::{ArrayRepresentation, Stage};

/// An array of numbers, and the values that count as missing.
pub(super) struct BitSurvey {
    array: StoredArray,
    /// The elements as numbers.
    numbers: Numbers,
    /// The bit patterns of the numbers.
    patterns: BitPatterns,
    /// The bits of the number that absent elements have.
    fill_bits: u64,
    /// True for a sample: nothing is known of the other chunks, so only pairs inside chunks count.
    is_sample: bool,
    /// Faces, until the chunk on their other side is read: the last elements before a border, or the first after it.
    /// `None` if the chunk is absent.
    waiting: Mutex<HashMap<Border, Option<Block>>>,
}

/// The counts along one dimension, and the number of pairs of neighbours, also those with a missing value.
#[derive(Debug, Clone, Default)]
pub(super) struct Counted {
    pairs: BitPairs,
    looked_at: u64,
}

/// The dimension across which two chunks are neighbours, and the first element of the second chunk.
type Border = (usize, Vec<u64>);

impl BitSurvey {
    /// Returns the survey of an array, given the bits of its missing values and of its fill value.
    pub(super) fn new(array: StoredArray, numbers: Numbers, missing: &[u64], fill_bits: u64, is_sample: bool) -> Self {
        let patterns = BitPatterns::new(numbers.number_type(), missing);
        BitSurvey { array, numbers, patterns, fill_bits, is_sample, waiting: Mutex::default() }
    }

    pub(super) fn number_type(&self) -> NumberType {
        self.numbers.number_type()
    }

    /// Returns the number of threads for which a budget has memory.
    pub(super) fn threads_of(&self, budget: Budget) -> Result<usize> {
        // Chunks are read in grid order. Faces of the first dimension are therefore stored until a layer of chunks is
        // read. The chunks that are read meanwhile need as many again.
        let shape = &self.array.metadata.shape;
        let chunk = &self.array.chain.decoded().shape;
        let layer = |dimension: usize| -> u64 {
            let before = chunk.iter().take(dimension);
            let after = shape.iter().skip(dimension + 1);
            before.chain(after).fold(self.size() as u64, |all, length| all.saturating_mul(*length))
        };
        let waiting = (0..shape.len()).map(layer).fold(0_u64, u64::saturating_add).saturating_mul(2);
        // A thread needs the elements of a chunk, their patterns, and which are missing.
        let patterns = self.array.subchunk_chain().decoded_bytes().saturating_mul(4);
        let unit = self.array.reading_bytes().saturating_add(patterns).saturating_add(BASE_BYTES);
        let store = self.array.node.name();
        let Some(left) = budget.bytes().checked_sub(waiting).filter(|left| *left >= unit) else {
            let needed = waiting.saturating_add(unit);
            let purpose = format!("for the bit information of `{store}`: its layers of chunks are large");
            return Err(budget.too_small(needed, &purpose));
        };
        Ok(budget.threads().min(usize::try_from(left / unit).unwrap_or(usize::MAX)).max(1))
    }

    /// Runs the only pass. Returns the information of each dimension.
    pub(super) fn run(&self, driver: &Driver, progress: &dyn Progress) -> Result<Vec<Information>, ChunkFault> {
        let mut all = Fold { array: &self.array, driver, progress }.run("information", self)?.part;
        if !self.is_sample {
            self.add_absent(&mut all);
        }
        let width = self.size() * 8;
        Ok(all.iter().map(|counted| counted.pairs.information(width)).collect())
    }

    fn size(&self) -> usize {
        self.patterns.number_type.size()
    }

    /// Adds the pairs that were not counted. They are all of absent elements.
    fn add_absent(&self, all: &mut [Counted]) {
        let Some(fill) = self.patterns.pattern(self.fill_bits) else { return };
        let metadata = &self.array.metadata;
        for (dimension, counted) in all.iter_mut().enumerate() {
            let mut shape = Region::between(metadata.skipped.clone(), &metadata.shape).shape;
            shape[dimension] = shape[dimension].saturating_sub(1);
            let pairs = shape.into_iter().fold(1, u64::saturating_mul);
            counted.pairs.add_constant(fill, pairs.saturating_sub(counted.looked_at));
        }
    }

    fn fill_block(&self, elements: &[u8], block: &mut Block) {
        if self.numbers.are_stored() {
            return self.patterns.fill(elements, block);
        }
        let mut numbers = Vec::with_capacity(elements.len() / self.numbers.size() * self.size());
        self.numbers.each_piece(elements, |piece| numbers.extend_from_slice(piece));
        self.patterns.fill(&numbers, block);
    }
}

impl Accumulator for BitSurvey {
    /// The counts of each dimension.
    type Part = Vec<Counted>;
    type Buffers = (Block, Option<PairCounter>);

    fn start(&self, region: &Region) -> Vec<Counted> {
        vec![Counted::default(); region.shape.len()]
    }

    fn add(&self, part: &mut Vec<Counted>, chunk: Chunk<'_>, buffers: &mut Self::Buffers) -> Result<(), Fault> {
        let (Chunk { region: chunk, elements }, (block, counter)) = (chunk, buffers);
        let size = self.size();
        let counter = counter.get_or_insert_with(|| PairCounter::new(size));
        let block = elements.map(|elements| {
            self.fill_block(elements, block);
            &*block
        });
        let ones = block.map(|block| counter.ones(block));
        let shape: Vec<usize> = chunk.shape.iter().map(|length| as_index(*length)).collect();
        for (dimension, counted) in part.iter_mut().enumerate() {
            let axis = BlockAxis::new(&shape, dimension, size);
            if let (Some(block), Some(ones)) = (block, &ones) {
                counter.add_inside(block, ones, axis, &mut counted.pairs);
                let others = chunk.num_elements() / chunk.shape[dimension].max(1);
                counted.looked_at += others * (chunk.shape[dimension] - 1);
            }
            if self.is_sample {
                continue;
            }
            let last = shape[dimension].saturating_sub(1);
            for (is_after, index) in [(true, 0), (false, last)] {
                let face = || block.map(|block| block.face(axis, index));
                let Some((face, beyond)) = self.exchange(face, (dimension, is_after), chunk) else {
                    continue;
                };
                let sides = if is_after { [beyond, face] } else { [face, beyond] };
                self.add_between(sides, counter, counted);
            }
        }
        Ok(())
    }

    fn merge(&self, all: &mut Vec<Counted>, part: &Vec<Counted>) {
        for (all, part) in all.iter_mut().zip(part) {
            all.pairs.merge(&part.pairs);
            all.looked_at += part.looked_at;
        }
    }

    // The faces of a piece are not those of its chunk.
    fn takes_whole(&self) -> bool {
        true
    }
}

impl BitSurvey {
    /// Returns the face of a chunk at one of its borders, and the face on the other side. `None` if there is no other
    /// side, or if its chunk is not read yet. The face is then stored for it.
    fn exchange(
        &self,
        face: impl FnOnce() -> Option<Block>,
        (dimension, is_after): (usize, bool),
        chunk: &Region,
    ) -> Option<(Option<Block>, Option<Block>)> {
        let array = &self.array;
        let mut border = chunk.start.clone();
        if !is_after {
            border[dimension] += chunk.shape[dimension];
        }
        let mut beyond = Region { start: border.clone(), shape: vec![1; border.len()] };
        beyond.start[dimension] = border[dimension].checked_sub(u64::from(is_after))?;
        if array.inside(&beyond).is_empty() {
            return None;
        }
        let face = face();
        // An absent chunk is never read, so no thread would come to take the face.
        if !array.objects_in(&beyond).any(|object| array.may_hold(object)) {
            return Some((face, None));
        }
        // Both steps need one lock. Otherwise two threads could each find nothing and store their faces, and the pairs
        // would be lost.
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let border = (dimension, border);
        if let Some(beyond) = waiting.remove(&border) {
            return Some((face, beyond));
        }
        waiting.insert(border, face);
        None
    }

    /// Counts the pairs across a border, unless both chunks are absent.
    fn add_between(&self, [before, after]: [Option<Block>; 2], counter: &mut PairCounter, counted: &mut Counted) {
        let Some(bytes) = before.as_ref().or(after.as_ref()).map(Block::len) else { return };
        let size = self.size();
        let fill = self.patterns.pattern(self.fill_bits);
        let absent = || Block::constant(fill, size, bytes / size);
        let (before, after) = (before.unwrap_or_else(absent), after.unwrap_or_else(absent));
        counter.add_between(&before, &after, &mut counted.pairs);
        counted.looked_at += (bytes / size) as u64;
    }
}

/// Returns the survey of the codes of a quantised array, of which the `present` chunks are stored. `None` if its chain
/// makes no codes.
///
/// Decoded values are steps of a grid. Their bits show information that the codes do not have.
pub(super) fn codes(source: &OpenedArray, present: Option<&ChunkSet>) -> Result<Option<BitSurvey>> {
    let of_values = |stage: &Stage| {
        let effect = stage.configuration.effect();
        matches!(effect, Effect::ScaleOffset(_) | Effect::Cast { .. } | Effect::Filter { .. })
    };
    let Some((leading, pipeline)) = code_pipeline(&source.pipeline, of_values) else { return Ok(None) };
    let Some(number_type) = pipeline.input.data_type.number() else { return Ok(None) };
    // The codes that stand for NaN.
    let missing = leading.iter().find_map(|stage| match stage.configuration.effect() {
        Effect::Cast { decode, .. } => Some(codes_of_nan(decode)),
        _ => None,
    });
    let ArrayRepresentation { fill_value, data_type, .. } = &pipeline.input;
    let fill = fill_value.as_ref().and_then(|fill| fill.to_bits(data_type));
    let array = bound_array((&source.node, &source.metadata, &pipeline), &source.store, false)?;
    let array = array.with_present(present);
    let numbers = Numbers::of(number_type, None);
    Ok(Some(BitSurvey::new(array, numbers, &missing.unwrap_or_default(), fill.unwrap_or(0), false)))
}

/// Returns the codes that a cast decodes to NaN.
fn codes_of_nan(decode: &Cast) -> Vec<u64> {
    let options = &decode.options;
    let is_nan = |bits: u64| number_value(options.target, bits).is_nan();
    options.scalar_map.iter().filter(|(_, value)| is_nan(*value)).map(|(code, _)| *code).collect()
}
