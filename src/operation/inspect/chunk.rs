//! `--chunk`: decodes one stored chunk to its elements, codec by codec.

use std::time::Instant;

use crate::array::{Fault, ReadBuffers, ShardLayout, StoredArray};
use crate::codec::{BoundChain, BoundCodec, ChainFault, ChainFaultKind, Codec, CodecError, ForShape, Workspace};
use crate::diagnostic::{Diagnostic, code, quantity::counted};
use crate::grid::{Grid, Region, ravel};
use crate::operation::inspect_result::{ChunkResult, ChunkStage};
use crate::operation::{OperationError, Result, options::ChunkOptions};

/// The bytes of a chunk, and the offset of an inner chunk in its shard.
type Stored = (Vec<u8>, Option<u64>);

/// Reads a chunk and decodes it. A fault in it is a finding, next to the successful steps.
pub(super) fn inspect_chunk(
    array: &StoredArray,
    store: &str,
    options: &ChunkOptions,
) -> Result<(ChunkResult, Option<Diagnostic>)> {
    let layout = array.layout.as_ref();
    let is_sharded = array.chain.codecs().iter().any(|codec| matches!(codec.codec, Codec::Sharding(_)));
    if options.inner && layout.is_none() && is_sharded {
        return Err(OperationError::data(format!("the inner chunks of `{store}` cannot be read alone"))
            .with_help("its shards hold shards, or are compressed whole: leave --inner-chunk out"));
    }
    // Without shards the chunks are the smallest units themselves, and `--inner-chunk` counts them.
    let layout = layout.filter(|_| options.inner);
    let (index, region) = find(array, layout, store, options)?;
    let key = array.key(index);
    let named = format!("`{key}` of `{store}`");
    let shape = array.cropped(&region).unwrap_or_else(|| region.shape.clone());
    let (indices, inner) = (options.indices.clone(), options.inner);
    let mut result = ChunkResult { indices, inner, key, shape, ..ChunkResult::default() };
    let chain = layout.map_or_else(|| array.chain_of(index), |layout| Ok(ForShape::Same(&layout.subchunk)));
    let chain = chain.map_err(|fault| OperationError::data(format!("{named} cannot be decoded")).because(fault))?;
    let finding = match read(array, index, layout.map(|_| &*options.indices)) {
        Ok(None) => None,
        Ok(Some((bytes, offset))) => {
            result.present = true;
            result.offset = offset;
            result.bytes_stored = Some(bytes.len() as u64);
            let fault = decode(&chain, bytes, &result.shape, &mut result.stages);
            // A lack of memory says nothing about the chunk, so it is no finding.
            if let Some(fault) = fault.as_ref().filter(|fault| fault.missing_memory().is_some()) {
                return Err(OperationError::environment(format!("{named} is not decoded: {fault}"))
                    .with_help("run it where there is more memory"));
            }
            fault.map(|fault| (code::CHUNK_CORRUPT, fault.sentence_at(&region.start), fault.chunk_help()))
        }
        Err(Fault::Store(error)) if !error.is_data_fault() => {
            return Err(OperationError::environment(format!("{named} cannot be read")).because(error));
        }
        Err(fault) => {
            result.present = true;
            Some((if layout.is_some() { code::SHARD_INDEX } else { code::CHUNK_CORRUPT }, fault.to_string(), None))
        }
    };
    let finding = finding.map(|(code, message, help)| {
        let kind = if result.inner { "inner chunk" } else { "chunk" };
        Diagnostic::new(code, format!("{kind} {:?} does not decode: {message}", result.indices))
            .with_help(help.unwrap_or("the chunk is damaged, or was not written by this chain; restore it from a copy"))
            .at_key(result.key.clone())
            .at_chunk(result.indices.clone())
    });
    Ok((result, finding))
}

/// Returns the index of a stored object, and the chunk's box. The box is in the coordinates of the array, with padding.
fn find(array: &StoredArray, layout: Option<&ShardLayout>, store: &str, asked: &ChunkOptions) -> Result<(u64, Region)> {
    let inner = layout.map(|layout| Grid::regular(&array.metadata.shape, &layout.subchunk.decoded().shape));
    let chunks = inner.as_ref().unwrap_or(&array.metadata.grid);
    let indices = &asked.indices;
    let grid = chunks.counts();
    if indices.len() != grid.len() || indices.iter().zip(&grid).any(|(index, length)| index >= length) {
        let kind = if asked.inner { "inner chunks" } else { "chunks" };
        let message = if indices.len() == grid.len() {
            format!("--chunk {indices:?} is outside of `{store}`, a grid of {grid:?} {kind}")
        } else {
            let given =
                if indices.len() == 1 { "1 index is".to_owned() } else { format!("{} indices are", indices.len()) };
            let dimensions = counted(grid.len() as u64, "dimension");
            format!("--chunk {indices:?} does not fit `{store}`: the array has {dimensions}, {given} given")
        };
        let last: Vec<String> = grid.iter().map(|length| length.saturating_sub(1).to_string()).collect();
        return Err(OperationError::data(message).with_help(if grid.contains(&0) {
            "an array without elements has no chunks".to_owned()
        } else if grid.is_empty() {
            "the array has no dimensions: give --chunk scalar".to_owned()
        } else {
            format!("the last of them is {}", last.join(","))
        }));
    }
    let region = chunks.region_of(indices);
    Ok((if layout.is_some() { array.object_of(indices) } else { ravel(indices, &grid) }, region))
}

fn read(array: &StoredArray, object: u64, subchunk: Option<&[u64]>) -> Result<Option<Stored>, Fault> {
    let mut buffers = ReadBuffers::default();
    let offset = match subchunk {
        None => array.read_object(object, &mut buffers)?.then_some(None),
        Some(subchunk) => array.open_subchunks(object, false, &mut buffers)?.fetch(subchunk, &mut buffers)?.map(Some),
    };
    Ok(offset.map(|offset| (buffers.bytes, offset)))
}

/// Decodes codec by codec, up to the first that fails, and measures the time. Checks the elements inside the array, a
/// box of shape `valid`, against their type.
fn decode(chain: &BoundChain, mut bytes: Vec<u8>, valid: &[u64], stages: &mut Vec<ChunkStage>) -> Option<ChainFault> {
    let mut workspace = Workspace::default();
    let mut decoded = Vec::new();
    for (number, codec) in chain.codecs().iter().enumerate().rev() {
        // The flag is read from the encoded bytes, so before they are replaced by the decoded ones.
        let has_checksum = holds_checksum(codec, &bytes);
        let begun = Instant::now();
        let outcome = chain.decode_codec(number, &bytes, &mut decoded, &mut workspace);
        let seconds = begun.elapsed().as_secs_f64();
        let error = outcome.as_ref().err().map(ToString::to_string);
        let is_wrong =
            outcome.as_ref().is_err_and(|fault| matches!(fault.kind, ChainFaultKind::Codec(CodecError::Checksum(_))));
        let array = codec.decoded.array().filter(|_| error.is_none());
        stages.push(ChunkStage {
            codec: codec.metadata.name.clone(),
            place: number as u64,
            bytes_encoded: bytes.len() as u64,
            bytes: error.is_none().then_some(decoded.len() as u64),
            data_type: array.map(|array| array.data_type.to_metadata()),
            shape: array.map(|array| array.shape.clone()),
            seconds,
            checksum: if is_wrong { Some("wrong") } else { (has_checksum && error.is_none()).then_some("ok") },
            error,
        });
        if let Err(fault) = outcome {
            return Some(fault);
        }
        std::mem::swap(&mut bytes, &mut decoded);
    }
    chain.check_values(&bytes, &chain.decoded().shape, valid).err()
}

/// True if the encoded data of a codec contain a checksum. It is then verified.
fn holds_checksum(codec: &BoundCodec, encoded: &[u8]) -> bool {
    match &codec.codec {
        Codec::Sharding(sharding) => sharding.index_holds_checksum(),
        Codec::BytesToBytes(codec) => codec.holds_checksum(encoded),
        _ => false,
    }
}

/// Returns the bytes that are needed at a time: the chunk on both sides of its largest codec.
pub(super) fn chunk_bytes(array: &StoredArray, options: &ChunkOptions) -> u64 {
    let subchunk = array.layout.as_ref().filter(|_| options.inner).map(|layout| &layout.subchunk);
    let chain = subchunk.unwrap_or(&array.chain);
    chain.max_representation_bytes().saturating_mul(2).saturating_add(chain.context_bytes())
}
