//! Two arrays, block by block.

use std::cmp::Ordering;

use super::value::{Compared, Comparer, Difference, Greatest, Tolerance};
use crate::array::ChunkSet;
use crate::array::fault::Fault;
use crate::array::reader::ReadBuffers;
use crate::array::stored::StoredArray;
use crate::data_type::{DataType, FillValue};
use crate::element::NumberType;
use crate::engine::ahead::Reads;
use crate::engine::driver::Driver;
use crate::engine::listing::list;
use crate::engine::progress::Progress;
use crate::metadata::array::num_elements;
use crate::metadata::json::{Json, Number};
use crate::operation::block::{BlockReader, BlockReads, Blocks};
use crate::operation::cf::CfDecoding;
use crate::operation::error::OperationError;
use crate::operation::open::OpenedArray;
use crate::operation::stored::side;
use crate::operation::validate_result::AgainstNode;

/// An array that is ready to be read, or why it is not.
pub(super) struct Readable {
    side: StoredArray,
    name: String,
    /// Of the values that are compared.
    data_type: DataType,
    /// Under `--cf`, how they are made of the stored elements.
    decoding: Option<CfDecoding>,
    /// Whether CF attributes say that other values are stored than are meant, and they are compared all the same.
    is_packed: bool,
}

/// What a thread keeps from block to block.
#[derive(Debug, Default)]
struct Buffers {
    elements: [Vec<u8>; 2],
    /// The values of both sides, where they are not the stored elements.
    decoded: [Vec<u8>; 2],
    reading: ReadBuffers,
}

/// What was found in a block, or in all so far.
#[derive(Debug, Default)]
struct Tally {
    /// Elements of blocks without any object on either side are not among them.
    elements: u64,
    differing: u64,
    relative: Option<f64>,
    greatest: Option<Place>,
}

/// An element that differs, where it is and what it is on both sides.
#[derive(Debug)]
struct Place {
    at: Vec<u64>,
    greatest: Greatest,
    values: [Vec<u8>; 2],
}

impl Readable {
    /// Binds and lists an array, whose values are compared as they are stored or, with `cf`, as CF readers see them: as floats
    /// of that type where one is given.
    pub(super) fn new(
        array: OpenedArray,
        (cf, floats): (bool, Option<NumberType>),
        driver: &Driver,
    ) -> Result<Self, OperationError> {
        let listing = list(&array.node, &array.metadata, driver)
            .map_err(|error| OperationError::cannot_list(&array.store, error))?;
        let decoding = if cf { CfDecoding::of(&array, floats)? } else { None };
        let has = |name| array.metadata.attributes.contains(name);
        let is_packed = !cf && (has("scale_factor") || has("add_offset"));
        let data_type = decoding.as_ref().map(|decoding| DataType::Number(decoding.target()));
        let data_type = data_type.unwrap_or(array.data_type);
        let side = side(array.node, array.metadata, &array.pipeline, &array.store, 0, false)?;
        let side = side.with_present(listing.known());
        Ok(Readable { side, name: array.store, data_type, decoding, is_packed })
    }

    fn reader(&self) -> BlockReader<'_> {
        BlockReader { side: &self.side, name: &self.name }
    }

    /// Bytes of a thread's buffers while it decodes a unit.
    fn unit_bytes(&self) -> u64 {
        let chain = self.side.subchunk_chain();
        let buffers = chain.max_representation_bytes().saturating_mul(2);
        buffers.saturating_add(chain.context_bytes()).saturating_add(self.side.index_bytes())
    }

    /// The values of stored elements, in `decoded` where they are others.
    fn values<'a>(&self, elements: &'a [u8], decoded: &'a mut Vec<u8>) -> &'a [u8] {
        match &self.decoding {
            None => elements,
            Some(decoding) => {
                decoding.decode(elements, decoded);
                decoded
            }
        }
    }

    /// Bytes of an element in a thread's buffers.
    fn element_bytes(&self) -> u64 {
        let stored = self.side.chain.decoded().data_type.size().unwrap_or(1) as u64;
        stored + self.decoding.as_ref().map_or(0, |decoding| decoding.target().size() as u64)
    }

    fn value(&self, bytes: &[u8]) -> Option<Json> {
        self.data_type.fill_value_to_json(&FillValue(bytes.to_vec())).ok()
    }
}

/// Two arrays of the same shape whose elements can be compared.
pub(super) struct Pair<'a> {
    a: &'a Readable,
    b: &'a Readable,
    comparer: Comparer,
    blocks: Blocks,
}

impl<'a> Pair<'a> {
    /// Pairs them, to be read in blocks of at most so many bytes where chunks are smaller; why they cannot be compared.
    pub(super) fn new(
        a: &'a Readable,
        b: &'a Readable,
        tolerance: Tolerance,
        block_bytes: u64,
    ) -> Result<Self, String> {
        let (shape, other) = (&a.side.metadata.shape, &b.side.metadata.shape);
        if shape != other {
            return Err(format!("the shape is {shape:?}, there {other:?}"));
        }
        let comparer = Comparer::new(&a.data_type, &b.data_type, tolerance)?;
        let blocks = Blocks::new(&a.side, &b.side, block_bytes);
        if blocks.count().is_none() {
            return Err("there are more chunks than can be counted".to_owned());
        }
        Ok(Pair { a, b, comparer, blocks })
    }

    /// Bytes that a thread needs.
    pub(super) fn bytes_per_thread(&self) -> u64 {
        if [self.a, self.b].iter().all(|array| array.side.objects().is_empty()) {
            return 0;
        }
        let size = self.a.element_bytes() + self.b.element_bytes();
        let block = self.blocks.block_elements().saturating_mul(size);
        block.saturating_add(self.a.unit_bytes()).saturating_add(self.b.unit_bytes())
    }

    /// Compares them. A chunk that cannot be decoded makes them not equal; an error is the machine's.
    pub(super) fn compare(
        &self,
        driver: &Driver,
        progress: &dyn Progress,
    ) -> Result<AgainstNode, OperationError> {
        let elements = num_elements(&self.a.side.metadata.shape).unwrap_or(u64::MAX);
        if elements == 0 {
            return Ok(AgainstNode { equal: true, ..AgainstNode::default() });
        }
        let (a, b) = (self.a.reader(), self.b.reader());
        let blocks = self.blocks.with_objects([&a, &b]);
        let mut all = Tally::default();
        let element = self.a.data_type.size().unwrap_or(1) as u64;
        let work = |buffers: &mut Buffers, index| {
            let tally = self.block(&a, &b, buffers, index)?;
            progress.advance(tally.elements.saturating_mul(element));
            Ok(tally)
        };
        let compared = blocks.len().saturating_mul(self.blocks.block_elements());
        progress.start("compare", Some(compared.min(elements).saturating_mul(element)));
        let reads = [&a, &b].map(|reader| BlockReads { blocks: &self.blocks, reader });
        let reads = [&reads[0] as &dyn Reads, &reads[1]];
        let outcome = driver.run_ahead::<Buffers, Tally>(&blocks, &reads, work, |_, tally| all.add(tally));
        progress.finish();
        if let Err(fault) = outcome {
            return match fault.fault {
                Fault::Interrupted(_) => Err(OperationError::interrupted()),
                fault if !fault.is_of_data() => {
                    Err(OperationError::environment("a chunk cannot be compared").because(fault))
                }
                fault => Ok(AgainstNode { reason: Some(fault.to_string()), ..AgainstNode::default() }),
            };
        }
        self.add_absent(&a, &b, &blocks, elements, &mut all);
        Ok(self.result(elements, all))
    }

    fn block(
        &self,
        a: &BlockReader<'_>,
        b: &BlockReader<'_>,
        buffers: &mut Buffers,
        index: u64,
    ) -> Result<Tally, Fault> {
        let region = self.blocks.region(index);
        let elements = region.num_elements();
        let Buffers { elements: [of_a, of_b], decoded: [seen_a, seen_b], reading } = buffers;
        if !a.has_objects(&region) && !b.has_objects(&region) {
            return Ok(self.fill_values(a, b, elements, region.start));
        }
        a.read(&region, reading, of_a)?;
        b.read(&region, reading, of_b)?;
        let (of_a, of_b) = (self.a.values(of_a, seen_a), self.b.values(of_b, seen_b));
        let Compared { differing, greatest, relative } = self.comparer.compare(of_a, of_b);
        let greatest = greatest.map(|greatest| {
            let element = |bytes: &[u8], count: u64| {
                let size = bytes.len() / usize::try_from(count).unwrap_or(usize::MAX).max(1);
                bytes[greatest.index * size..(greatest.index + 1) * size].to_vec()
            };
            let values = [element(of_a, elements), element(of_b, elements)];
            Place { at: region.position(greatest.index as u64), greatest, values }
        });
        Ok(Tally { elements, differing, relative, greatest })
    }

    /// So many elements, the first at `at`, that are absent on both sides.
    fn fill_values(&self, a: &BlockReader<'_>, b: &BlockReader<'_>, elements: u64, at: Vec<u64>) -> Tally {
        let mut decoded = Vec::new();
        let values = [(self.a, a), (self.b, b)]
            .map(|(side, reader)| side.values(&reader.fill_value(), &mut decoded).to_vec());
        let compared = self.comparer.compare(&values[0], &values[1]);
        Tally {
            elements,
            differing: compared.differing * elements,
            relative: compared.relative,
            greatest: compared.greatest.map(|greatest| Place { at, greatest, values }),
        }
    }

    /// Counts the elements of all blocks that were not looked at, since no object lies in them.
    fn add_absent(
        &self,
        a: &BlockReader<'_>,
        b: &BlockReader<'_>,
        looked_at: &ChunkSet,
        elements: u64,
        all: &mut Tally,
    ) {
        let rest = elements - all.elements;
        // In C order of the blocks, the first element of the first is the first of all.
        let first = (0..=looked_at.len()).find(|index| !looked_at.contains(*index));
        if let Some(first) = first.filter(|_| rest > 0) {
            all.add(self.fill_values(a, b, rest, self.blocks.region(first).start));
        }
    }

    fn result(&self, elements: u64, all: Tally) -> AgainstNode {
        let difference = all.greatest.as_ref().and_then(|place| place.greatest.difference);
        let (at, values) = all.greatest.map(|place| (place.at, place.values)).unzip();
        let [value, other_value] = values.map_or([None, None], |[a, b]| [self.a.value(&a), self.b.value(&b)]);
        AgainstNode {
            path: String::new(),
            equal: all.differing == 0,
            reason: (all.differing > 0).then(|| {
                let is_packed = self.a.is_packed || self.b.is_packed;
                let hint =
                    if is_packed { " as they are stored; `--cf` compares what CF readers see" } else { "" };
                format!("values differ{hint}")
            }),
            elements,
            differing: all.differing,
            max_abs_difference: difference.map(Difference::to_json),
            max_rel_difference: all.relative.map(float),
            at,
            value,
            other_value,
        }
    }
}

impl Tally {
    fn add(&mut self, other: Tally) {
        self.elements += other.elements;
        self.differing += other.differing;
        self.relative = match (self.relative, other.relative) {
            (Some(a), Some(b)) => Some(a.max(b)),
            (a, b) => a.or(b),
        };
        self.greatest = match (self.greatest.take(), other.greatest) {
            (Some(a), Some(b)) => Some(if b.is_before(&a) { b } else { a }),
            (a, b) => a.or(b),
        };
    }
}

impl Place {
    /// Whether it differs more, or as much and comes first in C order.
    fn is_before(&self, other: &Place) -> bool {
        match self.greatest.exceeds(&other.greatest) {
            Ordering::Greater => true,
            Ordering::Less => false,
            Ordering::Equal => self.at < other.at,
        }
    }
}

impl Difference {
    fn to_json(self) -> Json {
        match self {
            Difference::Integer(difference) => {
                Number::parse(&difference.to_string()).map_or(Json::Null, Json::Number)
            }
            Difference::Float(difference) => float(difference),
        }
    }
}

/// A number that is no NaN.
fn float(value: f64) -> Json {
    Number::from_f64_shortest(value).map_or_else(|| Json::from("Infinity"), Json::Number)
}
