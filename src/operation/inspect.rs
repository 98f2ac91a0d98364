//! `inspect` of an array: its metadata, the data after each codec, the stored objects, and the values. `inspect` of a
//! group: its members.

mod chunk;
mod contents;
mod group;
mod preview;
#[cfg(test)]
mod tests;
mod ways;

use super::description::describe;
use super::inspect_result::StorageResult;
use super::open::{open_documents, opened, read_array_of};
use super::stored::{opaque_array, side};
use super::{
    ArrayDrawing, ArrayReading, ArrayResult, Budget, InspectOptions, InspectResult, Interrupt, NodePath,
    OperationError, Result, Suggest, narrowed, new_driver, stored,
};
use crate::array::{Listing, StoredArray};
use crate::diagnostic::{Diagnostic, Profile, code};
use crate::element::NumberType;
use crate::engine::listing::{list, list_with_sizes};
use crate::engine::{Driver, Progress};
use crate::metadata::{ArrayMetadata, NodeKind};
use contents::{Contents, finding, no_statistics};

/// Reads an array, or a group and all nodes below it.
pub fn inspect(options: &InspectOptions, progress: &dyn Progress, interrupt: &Interrupt) -> Result<InspectResult> {
    let place = NodePath::new(&options.store, options.node.as_deref())?;
    let name = place.name();
    let node = place.node(&options.store)?;
    let documents = open_documents(&node, &name)?;
    if documents.kind != NodeKind::Group {
        let reading = read_array_of(place, node, documents);
        return Ok(InspectResult::Array(Box::new(inspect_reading(reading, options, (progress, interrupt))?)));
    }
    if options.asks_for_more_than_figures() {
        let help = if options.suggested_type().is_some() {
            "name an array in it; `zarrcast inspect --suggest` of the group, without a type, has a table for each"
        } else {
            "name an array in it; `zarrcast inspect --stats` of the group has a row for each"
        };
        return Err(OperationError::data(format!("`{name}` is a group: it has no values")).with_help(help));
    }
    Ok(InspectResult::Group(group::inspect_group(options, documents, progress, interrupt)?))
}

/// Reads the metadata of an array as far as possible, then answers the requests about its chunks. All faults are among
/// the findings.
fn inspect_reading(
    mut reading: ArrayReading,
    options: &InspectOptions,
    (progress, interrupt): (&dyn Progress, &Interrupt),
) -> Result<ArrayResult> {
    let mut result = describe(&mut reading, &options.store);
    if options.storage || options.asks_for_values() {
        let (place, of_metadata) = (reading.place.clone(), result.warnings.len());
        let key = reading.documents.key;
        contents(reading, options, (progress, interrupt), &mut result)?;
        place.locate(&mut result.warnings[of_metadata..], key);
    }
    let lacks_chunks = |storage: &StorageResult| storage.chunks_present < storage.chunks;
    if !result.storage.as_ref().is_some_and(lacks_chunks) {
        // No absent chunk is known, so the value of its elements does not matter.
        result.warnings.retain(|found| !found.is(code::V2_FILL_VALUE_NULL));
    }
    Ok(result)
}

/// Answers the requests about the chunks, as far as the metadata allow.
fn contents(
    reading: ArrayReading,
    options: &InspectOptions,
    (progress, interrupt): (&dyn Progress, &Interrupt),
    result: &mut ArrayResult,
) -> Result<()> {
    let (Some(metadata), Some(pipeline)) = (&reading.metadata, &reading.pipeline) else {
        let is_at_fault = reading.diagnostics.iter().any(Diagnostic::is_error);
        // Without a fault, the chunks of the grid are not supported. The error says so.
        return if is_at_fault || !options.asks_for_values() { Ok(()) } else { opened(reading).map(|_| ()) };
    };
    let threads = options.common.num_threads();
    let driver = new_driver(threads, interrupt)?;
    let side = side(reading.node.clone(), metadata.clone(), pipeline, &reading.store, 0, false);
    let listing = listing(&reading, metadata, options, &driver)?;
    if let Some(listing) = &listing {
        result.warnings.extend(stored::dangling_links(listing));
        result.warnings.extend(stored::not_keys(&listing.not_keys()));
    }
    if let (true, Some(listing)) = (options.storage, &listing) {
        let array = (&reading.node, metadata, pipeline);
        // The indexes of shards are read for any content of the inner chunks.
        let opaque = || opaque_array(reading.node.clone(), metadata.clone(), pipeline, &reading.store).ok();
        let unread = if side.is_err() { opaque() } else { None };
        let shards = side.as_ref().ok().or(unread.as_ref());
        let (counts, damaged) = stored::census(&reading.store, array, listing, shards, &driver)?;
        result.storage = Some(counts);
        result.warnings.extend(damaged);
    }
    if !options.asks_for_values() || reading.diagnostics.iter().any(Diagnostic::is_error) {
        return Ok(());
    }
    let bound = side.and_then(|side| {
        let side = side.with_present(listing.as_ref().and_then(Listing::known));
        let purpose = || format!("for the chunks of `{}`", reading.store);
        let needed = needed_bytes(&side, listing.as_ref(), options);
        Ok((side, Budget::new(&options.common).threads_of(needed, purpose)?))
    });
    let (side, threads) = match bound {
        Ok(bound) => bound,
        Err(error) if !options.asks_for_values_by_name() => {
            result.drawing = Some(ArrayDrawing::noted(error.in_one_line()));
            return Ok(());
        }
        Err(error) => {
            let text = reading.data_type.as_ref().filter(|data_type| data_type.is_variable_length());
            result.warnings.extend(match text.filter(|_| options.chunk.is_none()) {
                // Text has no statistics, in any decoder.
                Some(data_type) => vec![no_statistics(data_type)],
                // For `validate` this is not a fault of the store. Here it prevents the requested answer.
                None => Profile::Values.judged(vec![finding(error, code::CODEC_UNSUPPORTED)?]),
            });
            return Ok(());
        }
    };
    let driver = narrowed(&driver, threads)?;
    let source = opened(reading)?;
    let listing = listing.as_ref();
    Contents { source: &source, side: &side, driver: &driver, progress, listing }.all(options, result)
}

/// Returns the listing of the stored chunks, if an option needs it.
fn listing(
    reading: &ArrayReading,
    metadata: &ArrayMetadata,
    options: &InspectOptions,
    driver: &Driver,
) -> Result<Option<Listing>> {
    let listing = if options.storage || matches!(options.suggest, Some(Suggest::Ways { .. })) {
        list_with_sizes(&reading.node, metadata, driver)
    } else if options.reads_all_values() {
        list(&reading.node, metadata, driver)
    } else {
        return Ok(None);
    };
    listing.map(Some).map_err(|error| OperationError::cannot_list(&reading.store, error))
}

/// Returns the bytes that a thread needs at a time.
fn needed_bytes(side: &StoredArray, listing: Option<&Listing>, options: &InspectOptions) -> u64 {
    let reads_chunks =
        options.preview.is_some() || options.draws || listing.is_some_and(|listing| !listing.present.is_empty());
    // A picture needs whole chunks, and codes are made of whole chunks.
    let suggests_codecs = options.suggested_type().is_some();
    let unit = match options.draws || options.preview.is_some() || suggests_codecs {
        _ if !reads_chunks => 0,
        true => side.reading_bytes(),
        false => side.reading_bytes_in_pieces(),
    };
    let codes = if suggests_codecs { side.subchunk_chain().decoded_bytes().min(unit) } else { 0 };
    let chunk = options.chunk.as_ref().map_or(0, |chunk| chunk::needed_bytes(side, chunk));
    unit.saturating_add(codes).max(chunk)
}

impl InspectOptions {
    /// True if every value is read.
    fn reads_all_values(&self) -> bool {
        self.stats || self.histogram.is_some() || self.suggested_type().is_some() || self.information
    }

    /// `--suggest TYPE`.
    fn suggested_type(&self) -> Option<NumberType> {
        match self.suggest {
            Some(Suggest::Codecs(target)) => Some(target),
            Some(Suggest::Ways { .. }) | None => None,
        }
    }

    /// True if a request needs a single array.
    fn asks_for_more_than_figures(&self) -> bool {
        self.histogram.is_some()
            || self.suggested_type().is_some()
            || self.information
            || self.chunk.is_some()
            || self.preview.is_some()
    }

    /// True if an option was given that needs the chunks.
    fn asks_for_values_by_name(&self) -> bool {
        self.stats || self.suggest.is_some() || self.asks_for_more_than_figures()
    }

    /// True if chunks are decoded.
    fn asks_for_values(&self) -> bool {
        self.draws || self.asks_for_values_by_name()
    }
}
