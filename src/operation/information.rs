//! The bitwise real information of an array, along each of its dimensions: one pass over its chunks.
//!
//! Every pair of neighbours counts, also those that lie in two chunks. The thread that has read a chunk leaves its faces for
//! the one that reads, or has read, the chunk beyond; who comes second counts the pairs between. Counts are integers, so
//! that the outcome is the same whatever the order.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use super::budget::{BASE_BYTES, Budget};
use super::draft::edit_innermost;
use super::error::OperationError;
use super::numbers::Numbers;
use super::open::OpenedArray;
use super::quantize::range::FloatType;
use super::stored::side;
use crate::array::chunk_set::position;
use crate::array::fault::{ChunkFault, Fault};
use crate::array::reader::ReadBuffers;
use crate::array::stored::StoredArray;
use crate::codec::kinds::Role;
use crate::codec::region::as_index;
use crate::data_type::DataType;
use crate::element::NumberType;
use crate::engine::driver::Driver;
use crate::engine::progress::Progress;
use crate::grid::{Region, ravel};
use crate::kernel::bit_pairs::{BitPairs, BitPatterns, Block, BlockAxis, Information, PairCounter};
use crate::kernel::cast::Cast;
use crate::pipeline::{ArrayRepresentation, Completeness, Pipeline, Representation, Stage};

/// What is looked at: an array whose elements are numbers, and which of them count as missing.
pub(super) struct BitSurvey<'a> {
    /// The array.
    pub side: &'a StoredArray,
    /// Its elements as numbers.
    pub numbers: &'a Numbers,
    /// Their bits.
    pub patterns: &'a BitPatterns,
    /// The bits of the number that absent elements are.
    pub fill_bits: u64,
    /// Whether nothing is known of the chunks that are not there: then pairs inside chunks count alone.
    pub is_sample: bool,
}

/// Of a dimension: what was counted, and over how many pairs of neighbours, missing ones among them.
#[derive(Debug, Clone, Default)]
struct Counted {
    pairs: BitPairs,
    looked_at: u64,
}

/// What a thread keeps from object to object.
#[derive(Default)]
struct Workspace {
    read: ReadBuffers,
    block: Block,
    counter: Option<PairCounter>,
}

/// A side of a chunk, until the chunk on the other side is read.
enum Face {
    /// The last elements of the chunk before.
    Last(Block),
    /// The first of the chunk after.
    First(Block),
    /// That chunk is absent.
    Absent,
}

/// The dimension across which two chunks are neighbours, and the first element of the one after.
type Border = (usize, Vec<u64>);

/// Faces whose other side has not been seen.
type Waiting = Mutex<HashMap<Border, Face>>;

impl BitSurvey<'_> {
    /// Bytes that a thread holds for a chunk: its elements, their patterns, and which are missing.
    pub(super) fn unit_bytes(side: &StoredArray) -> u64 {
        let chain = side.subchunk_chain();
        let buffers = chain.max_representation_bytes().saturating_mul(2);
        let patterns = chain.decoded_bytes().saturating_mul(4);
        [buffers, patterns, chain.context_bytes(), side.index_bytes(), BASE_BYTES]
            .into_iter()
            .fold(0, u64::saturating_add)
    }

    /// Bytes of faces that wait at most: chunks are read in the order of the grid, so that those of the first dimension
    /// wait until a whole layer of chunks is read, with as many again of those that are read meanwhile.
    pub(super) fn waiting_bytes(side: &StoredArray, size: usize) -> u64 {
        let shape = &side.metadata.shape;
        let chunk = &side.chain.decoded().shape;
        let layer = |dimension: usize| -> u64 {
            let before = chunk.iter().take(dimension);
            let after = shape.iter().skip(dimension + 1);
            before.chain(after).fold(size as u64, |all, length| all.saturating_mul(*length))
        };
        (0..shape.len()).fold(0_u64, |all, dimension| all.saturating_add(layer(dimension))).saturating_mul(2)
    }

    /// The threads that a budget has room for.
    pub(super) fn threads_of(
        side: &StoredArray,
        size: usize,
        budget: Budget,
    ) -> Result<usize, OperationError> {
        let waiting = Self::waiting_bytes(side, size);
        let unit = Self::unit_bytes(side);
        let store = side.node.name();
        let Some(left) = budget.bytes().checked_sub(waiting).filter(|left| *left >= unit) else {
            let needed = waiting.saturating_add(unit);
            let purpose =
                format!("for the information in the bits of `{store}`, whose layers of chunks are large");
            return Err(budget.too_small(needed, &purpose));
        };
        Ok(budget.threads().min(usize::try_from(left / unit).unwrap_or(usize::MAX)).max(1))
    }

    /// Makes the pass: of each dimension its information.
    pub(super) fn run(
        &self,
        driver: &Driver,
        progress: &dyn Progress,
    ) -> Result<Vec<Information>, ChunkFault> {
        let objects = self.side.objects();
        let bytes = self.side.chunk_bytes();
        let waiting = Waiting::default();
        let mut all = self.nothing();
        progress.start("information", Some(objects.len().saturating_mul(bytes)));
        let outcome = driver.run_ahead::<Workspace, Vec<Counted>>(
            &objects,
            &[self.side],
            |workspace, index| self.object(workspace, index, &waiting),
            |_, found| {
                add(&mut all, &found);
                progress.advance(bytes);
            },
        );
        progress.finish();
        outcome?;
        if !self.is_sample {
            self.finish(waiting, &mut all);
        }
        let width = self.patterns.number_type().size() * 8;
        Ok(all.iter().map(|counted| counted.pairs.information(width)).collect())
    }

    fn nothing(&self) -> Vec<Counted> {
        vec![Counted::default(); self.side.metadata.shape.len()]
    }

    fn size(&self) -> usize {
        self.patterns.number_type().size()
    }

    /// The pattern of absent elements; `None` where they are missing.
    fn fill(&self) -> Option<u64> {
        self.patterns.pattern(self.fill_bits)
    }

    /// Faces that nobody came for lie beside what is absent; and all pairs that were not looked at are of absent elements.
    fn finish(&self, waiting: Waiting, all: &mut [Counted]) {
        let mut counter = PairCounter::new(self.size());
        let waiting = waiting.into_inner().unwrap_or_else(PoisonError::into_inner);
        for ((dimension, _), face) in waiting {
            self.meet(face, Face::Absent, &mut counter, &mut all[dimension]);
        }
        let shape = &self.side.metadata.shape;
        for (dimension, counted) in all.iter_mut().enumerate() {
            let neighbours =
                |axis: usize, length: u64| if axis == dimension { length.saturating_sub(1) } else { length };
            let pairs = shape.iter().enumerate().map(|(axis, length)| neighbours(axis, *length));
            let pairs: u64 = pairs.fold(1, u64::saturating_mul);
            if let Some(fill) = self.fill() {
                counted.pairs.add_constant(fill, pairs.saturating_sub(counted.looked_at));
            }
        }
    }

    fn object(
        &self,
        workspace: &mut Workspace,
        index: u64,
        waiting: &Waiting,
    ) -> Result<Vec<Counted>, Fault> {
        let mut found = self.nothing();
        let Workspace { read, block, counter } = workspace;
        let counter = counter.get_or_insert_with(|| PairCounter::new(self.size()));
        self.side.each(index, read, |unit, elements| {
            if let Some(elements) = elements {
                self.fill_block(elements, block);
                self.inside(unit, block, counter, &mut found);
            }
            let block = elements.map(|_| &*block);
            if self.is_sample {
                return Ok(());
            }
            self.borders((index, unit), block, waiting, counter, &mut found);
            Ok(())
        })?;
        Ok(found)
    }

    fn fill_block(&self, elements: &[u8], block: &mut Block) {
        if let Numbers::Own(_) = self.numbers {
            return self.patterns.fill(elements, block);
        }
        let mut numbers = Vec::with_capacity(elements.len() / self.numbers.size() * self.size());
        self.numbers.each_piece(elements, |piece| numbers.extend_from_slice(piece));
        self.patterns.fill(&numbers, block);
    }

    /// Counts the pairs inside of a unit.
    fn inside(&self, unit: &Region, block: &Block, counter: &mut PairCounter, found: &mut [Counted]) {
        let shape: Vec<usize> = unit.shape.iter().map(|length| as_index(*length)).collect();
        let ones = counter.ones(block);
        for (dimension, counted) in found.iter_mut().enumerate() {
            let axis = BlockAxis::new(&shape, dimension, self.size());
            counter.add_inside(block, &ones, axis, &mut counted.pairs);
            let others = unit.num_elements() / unit.shape[dimension].max(1);
            counted.looked_at += others * (unit.shape[dimension] - 1);
        }
    }

    /// Counts the pairs across the borders of a unit whose other side has been seen, and leaves its faces at the others.
    fn borders(
        &self,
        (object, unit): (u64, &Region),
        block: Option<&Block>,
        waiting: &Waiting,
        counter: &mut PairCounter,
        found: &mut [Counted],
    ) {
        let shape: Vec<usize> = unit.shape.iter().map(|length| as_index(*length)).collect();
        for dimension in 0..shape.len() {
            let axis = BlockAxis::new(&shape, dimension, self.size());
            let last = shape[dimension].saturating_sub(1);
            let end = unit.start[dimension] + unit.shape[dimension];
            let before = unit.start[dimension].checked_sub(1);
            let after = Some(end).filter(|end| *end < self.side.metadata.shape[dimension]);
            for (beyond, is_first, index) in [(before, true, 0), (after, false, last)] {
                let Some(beyond) = beyond else { continue };
                let face = match block {
                    None => Face::Absent,
                    Some(block) if is_first => Face::First(block.face(axis, index)),
                    Some(block) => Face::Last(block.face(axis, index)),
                };
                let counted = &mut found[dimension];
                if self.is_beyond_absent(object, dimension, beyond) {
                    self.meet(face, Face::Absent, counter, counted);
                    continue;
                }
                let mut border = (dimension, unit.start.clone());
                border.1[dimension] = if is_first { unit.start[dimension] } else { end };
                let mut waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
                match waiting.remove(&border) {
                    None => {
                        waiting.insert(border, face);
                    }
                    Some(other) => {
                        drop(waiting);
                        self.meet(face, other, counter, counted);
                    }
                }
            }
        }
    }

    /// Whether the element beyond a unit's border lies in another object than the unit, which is not there.
    fn is_beyond_absent(&self, object: u64, dimension: usize, beyond: u64) -> bool {
        let metadata = &self.side.metadata;
        let mut at = position(object, metadata);
        let chunk = metadata.grid.chunk_of(dimension, beyond);
        if at[dimension] == chunk {
            return false;
        }
        at[dimension] = chunk;
        !self.side.may_hold(ravel(&at, &metadata.chunk_grid_shape()))
    }

    /// Counts the pairs between two faces; of two that are absent, none.
    fn meet(&self, one: Face, other: Face, counter: &mut PairCounter, counted: &mut Counted) {
        let absent = |beside: &Block| Block::constant(self.fill(), self.size(), beside.len() / self.size());
        let (last, first) = match (one, other) {
            (Face::Last(last), Face::First(first)) | (Face::First(first), Face::Last(last)) => (last, first),
            (Face::Last(last), _) | (_, Face::Last(last)) => {
                let first = absent(&last);
                (last, first)
            }
            (Face::First(first), _) | (_, Face::First(first)) => (absent(&first), first),
            (Face::Absent, Face::Absent) => return,
        };
        counter.add_between(&last, &first, &mut counted.pairs);
        counted.looked_at += (last.len() / self.size()) as u64;
    }
}

fn add(all: &mut [Counted], found: &[Counted]) {
    for (all, found) in all.iter_mut().zip(found) {
        all.pairs.merge(&found.pairs);
        all.looked_at += found.looked_at;
    }
}

/// An array whose chain makes integers of its elements, as the array of these integers.
pub(super) struct Codes {
    /// The array.
    pub array: StoredArray,
    /// Its type.
    pub data_type: DataType,
    /// Codes that stand for NaN.
    pub nan: Vec<u64>,
    /// The code of absent elements.
    pub fill_bits: u64,
}

/// The codes of an array; `None` where its chain makes none.
///
/// What is decoded of codes are values on the steps of a grid, whose bits show information that the codes do not have.
pub(super) fn codes(source: &OpenedArray) -> Result<Option<Codes>, OperationError> {
    let outer = &source.pipeline;
    let inner = outer.sharding().map_or(outer, |(_, sharding)| &sharding.inner);
    let of_values = |stage: &&Stage| {
        let role = stage.configuration.role();
        matches!(role, Role::ScaleOffset(_) | Role::Cast { .. } | Role::Filter { .. })
    };
    let leading: Vec<&Stage> = inner.stages.iter().take_while(of_values).collect();
    let Some(Some(Representation::Array(encoded))) = leading.last().map(|stage| &stage.output) else {
        return Ok(None);
    };
    let number_type = encoded.data_type.number().filter(|number_type| !number_type.is_float());
    let Some(number_type) =
        number_type.filter(|_| source.data_type.number().is_some_and(NumberType::is_float))
    else {
        return Ok(None);
    };
    let nan = leading.iter().find_map(|stage| match stage.configuration.role() {
        Role::Cast { decode, .. } => Some(codes_of_nan(decode)),
        _ => None,
    });
    let fill = encoded.fill_value.as_ref().and_then(|fill| fill.to_bits(&encoded.data_type));
    let mut codecs: Vec<_> = outer.stages.iter().map(|stage| stage.metadata.clone()).collect();
    edit_innermost(&mut codecs, |chain| {
        chain.drain(..leading.len());
    });
    let input = ArrayRepresentation { shape: outer.input.shape.clone(), ..encoded.clone() };
    let pipeline = Pipeline::build(input, &codecs, Completeness::ToBytes, "/codecs", &mut Vec::new());
    let mut metadata = source.metadata.clone();
    metadata.codecs = codecs;
    let array = side(source.node.clone(), metadata, &pipeline, &source.store, 0, false)?;
    Ok(Some(Codes {
        array,
        data_type: DataType::Number(number_type),
        nan: nan.unwrap_or_default(),
        fill_bits: fill.unwrap_or(0),
    }))
}

/// The codes that a cast decodes to NaN.
fn codes_of_nan(decode: &Cast) -> Vec<u64> {
    let options = decode.options();
    let is_nan = |bits: u64| options.target.is_float() && FloatType(options.target).value(bits).is_nan();
    let entries = options.scalar_map.iter().filter(|(_, value)| is_nan(*value));
    entries.map(|(code, _)| *code).collect()
}
