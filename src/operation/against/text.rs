//! Two arrays of elements of any length: each is equal to the other's, or not.

use std::ops::AddAssign;

use super::super::budget::{BASE_BYTES, Budget};
use super::super::fault::explain;
use super::super::options::CommonOptions;
use super::super::stored::opaque_array;
use crate::array::ChunkSet;
use crate::array::chunk_set::{ChunkSetBuilder, position};
use crate::array::fault::{ChunkFault, Fault, ObjectOf};
use crate::array::stored::StoredArray;
use crate::array::subchunks::SubchunkSource;
use crate::codec::elements::VlenChain;
use crate::data_type::{DataType, FillValue};
use crate::engine::driver::Driver;
use crate::engine::listing::list;
use crate::engine::route::variable_size::{
    BETWEEN_SUBCHUNKS, ElementReader, Groups, VariableSizeBuffers, block_of, subchunks_inside,
};
use crate::engine::transfer::Transfer;
use crate::metadata::array::num_elements;
use crate::metadata::json::Json;
use crate::operation::error::OperationError;
use crate::operation::open::OpenedArray;
use crate::operation::validate_result::AgainstNode;

/// What differs in some objects.
#[derive(Debug, Default)]
struct Tally {
    elements: u64,
    differing: u64,
    first: Option<Place>,
}

/// An element that differs, and what it is on both sides.
#[derive(Debug)]
struct Place {
    at: Vec<u64>,
    values: [Vec<u8>; 2],
}

/// Whether elements of both types are text, or bytes.
pub(super) fn is_comparable(a: &DataType, b: &DataType) -> bool {
    matches!((a, b), (DataType::String, DataType::String) | (DataType::Bytes { .. }, DataType::Bytes { .. }))
}

/// An array with what of it is there.
fn opened(array: &OpenedArray, driver: &Driver) -> Result<StoredArray, OperationError> {
    let listing = list(&array.node, &array.metadata, driver)
        .map_err(|error| OperationError::cannot_list(&array.store, error))?;
    let side = opaque_array(array.node.clone(), array.metadata.clone(), &array.pipeline, &array.store)?;
    if VlenChain::of(side.subchunk_chain()).is_none() {
        return Err(OperationError::data(format!("the chunks of `{}` cannot be decoded", array.store)));
    }
    Ok(side.with_present(listing.known()))
}

/// Compares them. A chunk that cannot be decoded makes them not equal; an error is the machine's.
pub(super) fn compare(
    [a, b]: [&OpenedArray; 2],
    options: &CommonOptions,
    driver: &Driver,
) -> Result<AgainstNode, OperationError> {
    let (shape, other) = (&a.metadata.shape, &b.metadata.shape);
    let reason = |reason: String| AgainstNode { reason: Some(reason), ..AgainstNode::default() };
    if shape != other {
        return Ok(reason(format!("the shape is {shape:?}, there {other:?}")));
    }
    let elements = num_elements(shape).unwrap_or(u64::MAX);
    if elements == 0 {
        return Ok(AgainstNode { equal: true, ..AgainstNode::default() });
    }
    let budget = Budget::of(options);
    let memory_share = budget.memory_share(BASE_BYTES + BETWEEN_SUBCHUNKS);
    let memory_share = memory_share.map_err(|least| budget.too_small(least, "to compare chunks"))?;
    let (from, to) = (opened(a, driver)?, opened(b, driver)?);
    let objects = touched(&from, &to);
    let sources = (SubchunkSource::new(&from), SubchunkSource::new(&to));
    let (Some(of_a), Some(of_b)) = (ElementReader::new(&sources.0, 0), ElementReader::new(&sources.1, 1))
    else {
        return Ok(reason("their chunks cannot be decoded".to_owned()));
    };
    let mut all = Tally::default();
    let work = |buffers: &mut VariableSizeBuffers, object| {
        let mut tally = Tally::default();
        for subchunk in subchunks_inside(&from, object) {
            driver.interrupt().check()?;
            tally.subchunk([&of_a, &of_b], &from, &subchunk, buffers)?;
        }
        Ok(tally)
    };
    let groups = Groups::new(&from, &to);
    match memory_share.run(driver, (&groups, &objects, &[]), work, |tally| all += tally) {
        Ok(()) => {}
        Err(ChunkFault { index, fault }) => {
            let (array, index, fault) = match fault {
                Fault::At { of: ObjectOf::Destination, index, fault } => (b, index, *fault),
                Fault::At { index, fault, .. } => (a, index, *fault),
                fault => (a, index, fault),
            };
            if !fault.is_of_data() {
                return Err(explain(ChunkFault { index, fault }, &array.metadata, &array.store, None));
            }
            let key = array.metadata.chunk_key_encoding.key(&position(index, &array.metadata));
            return Ok(reason(format!("chunk {key} of {}: {fault}", array.store)));
        }
    }
    // What neither side stores holds the fill values.
    let rest = elements.saturating_sub(all.elements);
    let fills = [&from, &to]
        .map(|side| side.chain.decoded().fill_value.as_ref().map_or(Vec::new(), |fill| fill.0.clone()));
    if rest > 0 && fills[0] != fills[1] {
        let absent = (0..from.metadata.num_chunks()).find(|index| !objects.contains(*index));
        if let Some(at) = absent.map(|index| from.start_of(index)) {
            all += Tally { elements: 0, differing: rest, first: Some(Place { at, values: fills }) };
        }
    }
    Ok(all.result(elements, &a.data_type))
}

/// The objects of one side that hold elements which either side stores.
fn touched(a: &StoredArray, b: &StoredArray) -> ChunkSet {
    let from_b = Transfer { source: b.clone(), destination: a.clone(), absent_element: None, origin: None };
    let mut all = ChunkSetBuilder::default();
    all.insert_all(&a.objects());
    all.insert_all(&from_b.overlapped_by(&a.metadata.grid));
    all.finish()
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.elements += other.elements;
        self.differing += other.differing;
        self.first = match (self.first.take(), other.first) {
            (Some(a), Some(b)) => Some(if b.at < a.at { b } else { a }),
            (a, b) => a.or(b),
        };
    }
}

impl Tally {
    fn subchunk(
        &mut self,
        readers: [&ElementReader<'_>; 2],
        side: &StoredArray,
        subchunk: &[u64],
        buffers: &mut VariableSizeBuffers,
    ) -> Result<(), Fault> {
        buffers.next();
        let block = block_of(side, subchunk);
        let [a, b] = readers;
        let (a, _) = a.read(&block, &block.start, buffers)?;
        let (b, _) = b.read(&block, &block.start, buffers)?;
        self.elements += a.places.len() as u64;
        for index in (0..a.places.len()).filter(|index| a.element(*index) != b.element(*index)) {
            self.differing += 1;
            let at = block.position(index as u64);
            if self.first.as_ref().is_none_or(|first| at < first.at) {
                self.first =
                    Some(Place { at, values: [a.element(index).to_vec(), b.element(index).to_vec()] });
            }
        }
        Ok(())
    }

    fn result(self, elements: u64, data_type: &DataType) -> AgainstNode {
        let value = |bytes: Vec<u8>| data_type.fill_value_to_json(&FillValue(bytes)).unwrap_or(Json::Null);
        let (at, values) = self.first.map(|place| (place.at, place.values.map(value))).unzip();
        let [value, other_value] = values.map_or([None, None], |[a, b]| [Some(a), Some(b)]);
        AgainstNode {
            equal: self.differing == 0,
            reason: (self.differing > 0).then(|| "values differ".to_owned()),
            elements,
            differing: self.differing,
            at,
            value,
            other_value,
            ..AgainstNode::default()
        }
    }
}
