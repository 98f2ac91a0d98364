//! Two arrays of elements of any length: each is equal to the other's, or not.

use super::super::budget::{BASE_BYTES, Budget};
use super::array::{Place, Tally, fault, listed};
use super::value::Greatest;
use crate::array::chunk_set::ChunkSetBuilder;
use crate::array::fault::Fault;
use crate::array::stored::StoredArray;
use crate::array::subchunks::SubchunkSource;
use crate::codec::elements::VlenChain;
use crate::data_type::DataType;
use crate::engine::driver::Driver;
use crate::engine::route::variable_size::{BETWEEN_SUBCHUNKS, ElementReader, VariableSizeBuffers, fold_subchunks};
use crate::engine::transfer::Transfer;
use crate::grid::Region;
use crate::operation::error::OperationError;
use crate::operation::open::OpenedArray;
use crate::operation::stored::opaque_array;
use crate::operation::validate_result::AgainstNode;

/// True if elements of both types are text, or bytes.
pub(super) fn is_comparable(a: &DataType, b: &DataType) -> bool {
    matches!((a, b), (DataType::String, DataType::String) | (DataType::Bytes { .. }, DataType::Bytes { .. }))
}

/// An array with what of it is there.
fn opened(array: &OpenedArray, driver: &Driver) -> Result<StoredArray, OperationError> {
    let listing = listed(array, driver)?;
    let side = opaque_array(array.node.clone(), array.metadata.clone(), &array.pipeline, &array.store)?;
    if VlenChain::of(side.subchunk_chain()).is_none() {
        return Err(OperationError::data(format!("the chunks of `{}` cannot be decoded", array.store)));
    }
    Ok(side.with_present(listing.known()))
}

/// Compares arrays of as many elements. A chunk that cannot be decoded makes them not equal; an error is the machine's.
pub(super) fn compare(
    [a, b]: [&OpenedArray; 2],
    elements: u64,
    budget: Budget,
    driver: &Driver,
) -> Result<AgainstNode, OperationError> {
    let memory_share = budget.memory_share(BASE_BYTES + BETWEEN_SUBCHUNKS);
    let memory_share = memory_share.map_err(|least| budget.too_small(least, "to compare chunks"))?;
    let (source, destination) = (opened(a, driver)?, opened(b, driver)?);
    let fills = [&source, &destination]
        .map(|side| side.chain.decoded().fill_value.as_ref().map_or(Vec::new(), |fill| fill.0.clone()));
    let transfer = Transfer { source, destination, absent_element: None, origin: None };
    let Transfer { source, destination, .. } = &transfer;
    // The objects that hold elements which either side stores.
    let mut objects = ChunkSetBuilder::default();
    objects.insert_all(&destination.objects());
    objects.insert_all(&transfer.overlapped_by(&destination.metadata.grid));
    let objects = objects.finish();
    let sources = [source, destination].map(SubchunkSource::new);
    let (Some(of_a), Some(of_b)) = (ElementReader::new(&sources[0], 0), ElementReader::new(&sources[1], 1)) else {
        return Err(OperationError::data("their chunks cannot be decoded"));
    };
    let visit =
        |buffers: &mut VariableSizeBuffers, _: &[u64], block: &Region| differences([&of_a, &of_b], block, buffers);
    let mut all = Tally::default();
    let compared = fold_subchunks(&transfer, &objects, (memory_share, driver), visit, |tally| all += tally);
    if let Err(ended) = compared {
        return fault(ended, [a, b]);
    }
    // What neither side stores holds the fill values.
    let rest = elements.saturating_sub(all.elements);
    let absent = (0..destination.metadata.num_chunks()).find(|index| !objects.contains(*index));
    if let Some(absent) = absent.filter(|_| rest > 0 && fills[0] != fills[1]) {
        let greatest = Greatest { index: 0, difference: None };
        let place = Place { at: destination.start_of(absent), greatest, values: fills };
        all += Tally { differing: rest, greatest: Some(place), ..Tally::default() };
    }
    Ok(all.result(elements, [&a.data_type, &b.data_type], false))
}

/// The elements of a box that differ.
fn differences(
    [a, b]: [&ElementReader<'_, '_>; 2],
    block: &Region,
    buffers: &mut VariableSizeBuffers,
) -> Result<Tally, Fault> {
    let (a, _) = a.read(block, &block.start, buffers)?;
    let (b, _) = b.read(block, &block.start, buffers)?;
    let mut differing = (0..a.places.len()).filter(|index| a.element(*index) != b.element(*index));
    let first = differing.next();
    let place = first.map(|index| Place {
        at: block.position(index as u64),
        greatest: Greatest { index, difference: None },
        values: [a.element(index).to_vec(), b.element(index).to_vec()],
    });
    let count = u64::from(first.is_some()) + differing.count() as u64;
    Ok(Tally { elements: a.places.len() as u64, differing: count, relative: None, greatest: place })
}
