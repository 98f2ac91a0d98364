//! Arrays of SOURCE or DEST with their chain bound, and their shards as streams if possible. Also their stored objects,
//! chunks and shards: possible and present, and their bytes.

use super::inspect_result::StorageResult;
use crate::array::{Fault, Listing, ReadBuffers, ShardLayout, StoredArray, UnexpectedKeyKind, position};
use crate::codec::{BindError, BoundChain, ChunkWriting, ElementSize};
use crate::diagnostic::{Code, Diagnostic, Profile, code};
use crate::engine::{Driver, PrefetchPlan, ahead::reads_of_object, listing::list};
use crate::metadata::{ArrayMetadata, array::num_elements};
use crate::operation::{OpenedArray, OperationError, Result};
use crate::pipeline::{ArrayRepresentation, Completeness, Pipeline};
use crate::store::{Node, Part};

/// The location of an array, its metadata, and its pipeline.
type Parts<'a> = (&'a Node, &'a ArrayMetadata, &'a Pipeline);

/// Binds an array.
pub(crate) fn bound_array(array: Parts<'_>, store: &str, write_empty: bool) -> Result<StoredArray> {
    bound(array, 0, |pipeline| bind_chain(pipeline, write_empty)).map_err(|error| undecoded(error, store))
}

/// Binds an array of DEST, whose chunks are not stored yet. `hoisted` codecs of the innermost chain are moved to the
/// front of a subchunk's, where a kernel replaces them. They convert each value by itself, so a `transpose` before the
/// shard makes no difference.
pub(crate) fn new_array(array: Parts<'_>, hoisted: usize, write_empty: bool) -> Result<StoredArray> {
    bound(array, hoisted, |pipeline| bind_chain(pipeline, write_empty)).map_err(|error| match error {
        BindError::TooLarge { .. } => undecoded(error, "DEST"),
        _ => OperationError::data("the chain of DEST cannot encode chunks")
            .because(error)
            .with_help("give --codecs codecs that are supported for the data type"),
    })
}

fn bind_chain(pipeline: &Pipeline, write_empty: bool) -> Result<BoundChain, BindError> {
    let mut chain = BoundChain::bind(pipeline)?;
    chain.write_with(ChunkWriting { empty: write_empty, ..chain.writing });
    Ok(chain)
}

/// Binds an opened array.
pub(crate) fn stored_array(opened: &OpenedArray) -> Result<StoredArray> {
    bound_array((&opened.node, &opened.metadata, &opened.pipeline), &opened.store, false)
}

/// Returns the stored chunks of an array.
pub(crate) fn listed(array: &OpenedArray, driver: &Driver) -> Result<Listing> {
    let listing = list(&array.node, &array.metadata, driver);
    listing.map_err(|error| OperationError::cannot_list(&array.store, error))
}

/// Binds an array whose chunks are not decoded to elements, or only by a caller that knows how.
pub(crate) fn opaque_array(array: Parts<'_>, store: &str) -> Result<StoredArray> {
    bound(array, 0, |pipeline| BoundChain::bind_elements(pipeline, ElementSize::Unread))
        .map_err(|error| undecoded(error, store))
}

fn bound(
    (node, metadata, pipeline): Parts<'_>,
    hoisted: usize,
    bind: impl Fn(&Pipeline) -> Result<BoundChain, BindError>,
) -> Result<StoredArray, BindError> {
    let chain = bind(pipeline)?;
    // Other shards cannot be streamed.
    let subchunk = ShardLayout::index_in(&chain).map(|_| bind(&subchunk_pipeline(pipeline, hoisted))).transpose()?;
    let layout = subchunk.and_then(|subchunk| ShardLayout::new(&chain, subchunk));
    Ok(StoredArray::new(node.clone(), metadata.clone(), chain, layout))
}

/// Fails for an array whose shards are compressed, inside others or behind other codecs. Such shards cannot be
/// quantised.
pub(crate) fn refuse_nested_shards(array: &StoredArray, store: &str) -> Result<()> {
    let mut codecs = array.chain.codecs().iter();
    if array.layout.is_some() || !codecs.any(|codec| codec.metadata.name == "sharding_indexed") {
        return Ok(());
    }
    let what = "that are compressed, inside others or behind other codecs";
    Err(OperationError::data(format!("shards of `{store}` {what} cannot be quantised"))
        .with_help("first give the array a simpler chain with --codecs"))
}

fn undecoded(error: BindError, store: &str) -> OperationError {
    let help = match &error {
        BindError::Unsupported { .. } => "such chunks can be copied, and `--compress` can change their compression",
        BindError::DataType(_) => "arrays of this type can be copied, and `--compress` can change their compression",
        BindError::TooLarge { .. } => "check `chunk_grid` in its metadata",
    };
    OperationError::data(format!("the chunks of `{store}` cannot be decoded")).because(error).with_help(help)
}

/// Returns the pipeline from the array itself to an innermost chunk: the codecs before each shard, then the innermost
/// chain, of which the first `hoisted` codecs are moved to the front.
pub(super) fn subchunk_pipeline(pipeline: &Pipeline, hoisted: usize) -> Pipeline {
    let (mut codecs, mut level) = (Vec::new(), pipeline);
    while let Some((index, sharding)) = level.sharding() {
        codecs.extend(level.stages[..index].iter().map(|stage| stage.metadata.clone()));
        level = &sharding.inner;
    }
    let hoisted = hoisted.min(level.stages.len());
    // The rotation moves the hoisted codecs in front of those before the shards and keeps all others in order.
    let end = codecs.len() + hoisted;
    codecs.extend(level.codecs());
    codecs[..end].rotate_right(hoisted);
    let input = ArrayRepresentation { shape: pipeline.innermost_chunk_shape(), ..pipeline.input.clone() };
    Pipeline::build(input, &codecs, Completeness::ToBytes, "/codecs", &mut Vec::new())
}

/// The maximum number of findings about single shards. If there are more, another one contains the count of all.
const MOST_FINDINGS: usize = 100;

/// The bytes of a stored object, the number of its inner chunks, and the fault of its index, if any.
type Object = (u64, u64, Option<Diagnostic>);

/// The shards of an array, to be counted.
struct Shards<'a> {
    array: &'a OpenedArray,
    /// `None` if their indexes are not read.
    stored: Option<&'a StoredArray>,
    /// The bytes of an index, which no shard is shorter than. 0 if unknown.
    least_bytes: u64,
}

/// Counts stored objects, and inner chunks by the shard indexes. A shard with a damaged index counts as an object
/// without inner chunks, and is a finding. The number of these findings is limited.
pub(super) fn census(
    array: &OpenedArray,
    listing: &Listing,
    stored: Option<&StoredArray>,
    driver: &Driver,
) -> Result<(StorageResult, Vec<Diagnostic>)> {
    let OpenedArray { metadata, pipeline, .. } = array;
    let stored = stored.filter(|stored| stored.layout.is_some());
    // Shards of many shapes have indexes of different sizes.
    let least_bytes = pipeline.shard_index_bytes().filter(|_| metadata.grid.uniform().is_some());
    let shards = Shards { array, stored, least_bytes: least_bytes.unwrap_or(0) };
    let present = listing.present.without(&listing.unreadable);
    let (mut bytes, mut inner_chunks, mut damaged) = (listing.present_bytes, 0, 0_u64);
    let mut findings = Vec::new();
    if stored.is_some() || shards.least_bytes > 0 {
        bytes = 0;
        let work = |buffers: &mut ReadBuffers, index| shards.object(index, buffers);
        let reads = [shards.reads_ahead()];
        let counted = driver.run_ahead::<ReadBuffers, Object>(&present, &reads, work, |_, object| {
            let (own_bytes, own_chunks, damage) = object;
            bytes += own_bytes;
            inner_chunks += own_chunks;
            damaged += u64::from(damage.is_some());
            findings.extend(damage.filter(|_| damaged <= MOST_FINDINGS as u64));
        });
        counted.map_err(|fault| match fault.fault {
            Fault::Interrupted(_) => OperationError::interrupted(),
            cause => {
                let shard = shards.chunk(fault.index);
                OperationError::environment(format!("shard {shard:?} of `{}` cannot be read", array.store))
                    .because(cause)
            }
        })?;
    }
    if damaged > findings.len() as u64 {
        let message = format!("{damaged} shards have an index that cannot be read; {MOST_FINDINGS} are named");
        findings.push(Diagnostic::new(code::SHARD_INDEX, message));
    }
    let is_sharded = pipeline.sharding().is_some();
    let grid = num_elements(&metadata.grid.counts());
    let inner_shape = pipeline.innermost_chunk_shape();
    // Inner chunks divide their shards, so they form one regular grid over the whole array.
    let inner_grid: Vec<u64> = metadata.shape.iter().zip(&inner_shape).map(|(s, c)| s.div_ceil((*c).max(1))).collect();
    let element = pipeline.input.data_type.size();
    let elements = num_elements(&metadata.shape);
    let storage = StorageResult {
        chunks: if is_sharded { num_elements(&inner_grid) } else { grid },
        chunks_present: match (is_sharded, stored) {
            (false, _) => Some(present.len()),
            (true, Some(_)) => Some(inner_chunks),
            (true, None) => None,
        },
        shards: grid.filter(|_| is_sharded),
        shards_present: is_sharded.then(|| present.len()),
        bytes_logical: elements.zip(element).and_then(|(n, size)| n.checked_mul(size as u64)),
        bytes_stored: bytes,
        unknown_keys: array.node.tells_keys().then(|| listing.unknown_keys()),
        num_unknown: listing.num_unknown,
    };
    Ok((storage, findings))
}

/// Returns the warning for names that are not keys. Listings omit them.
pub(super) fn not_keys(names: &[String]) -> Option<Diagnostic> {
    let first = names.first()?;
    let message = match names.len() {
        1 => "the name is not UTF-8 or not a path: it is left out".to_owned(),
        count => format!("{count} names are not UTF-8 or not paths, this is the first: they are left out"),
    };
    Some(Diagnostic::new(code::KEY_NOT_UTF8, message).with_help("rename or remove them").at_key(first.as_str()))
}

/// Returns the findings about chunks whose size the store does not give: those that it refuses, and damaged ones.
pub(super) fn unread(listing: &Listing) -> impl Iterator<Item = Diagnostic> {
    [true, false].into_iter().filter_map(|is_refused| {
        let mut found = listing.strays.iter().filter_map(|stray| match &stray.kind {
            UnexpectedKeyKind::Unread(chunk, why, help) if help.is_some() == is_refused => {
                Some((&stray.key, chunk, why, help))
            }
            _ => None,
        });
        let (key, chunk, why, help) = found.next()?;
        let message = match found.count() {
            0 => format!("1 chunk is not counted: {why}"),
            more => {
                // A full list may have left out more.
                let least = if more + 1 == Listing::MOST_STRAYS { "at least " } else { "" };
                format!("{least}{} chunks are not counted, this is the first: {why}", more + 1)
            }
        };
        Some(not_counted(message, help.as_deref()).at_key(key.as_str()).at_chunk(chunk.clone()))
    })
}

/// Returns the finding about a chunk that the store refuses, with its next step, or whose data are at fault.
fn not_counted(message: String, help: Option<&str>) -> Diagnostic {
    let code = if help.is_some() { code::NOT_CHECKED } else { code::CHUNK_CORRUPT };
    let mut found = Diagnostic::new(code, message).with_help(help.unwrap_or("restore the chunk from its source"));
    Profile::Read.judge([&mut found]);
    found
}

/// Returns the warning for chunks that are broken links. They count as absent in every command (SEMANTICS D8).
pub(super) fn dangling_links(listing: &Listing) -> Option<Diagnostic> {
    let first = listing.broken_links().next()?;
    let message = match listing.broken_links().count() {
        1 => "a broken link: readers treat the object as missing".to_owned(),
        count => {
            // A full list may have left out more.
            let least = if count == Listing::MOST_STRAYS { "at least " } else { "" };
            format!("{least}{count} broken links, this is the first: readers treat the objects as missing")
        }
    };
    let found = Diagnostic::new(code::LINK_LEADS_AWAY, message).with_help("replace the link by its target");
    Some(found.at_key(first))
}

impl Shards<'_> {
    fn reads_ahead(&self) -> PrefetchPlan<'_> {
        PrefetchPlan::new(&self.array.node, self.least_bytes, |object, each| match self.stored {
            Some(stored) => reads_of_object(stored, object, false, each),
            None => each(&self.key(object), Part::Last(self.least_bytes)),
        })
    }

    /// Reads the index of a shard. Only faults that are not of this object are errors.
    fn object(&self, index: u64, buffers: &mut ReadBuffers) -> Result<Object, Fault> {
        let reader = match self.array.node.open_listed(&self.key(index), u64::MAX) {
            Ok(Some(reader)) => reader,
            // The store refuses the shard, and refused objects count as absent (`--missing-status`).
            Ok(None) => return Ok((0, 0, None)),
            Err(error) if error.is_of_object() => {
                let found =
                    not_counted(format!("the inner chunks of a shard are not counted: {error}"), error.next_step());
                return Ok((0, 0, Some(self.at(index, found))));
            }
            Err(error) => return Err(error.into()),
        };
        let (bytes, least) = (reader.length(), self.least_bytes);
        if bytes < least {
            let message = format!("the shard of {bytes} bytes is shorter than its index of {least}");
            return Ok((bytes, 0, Some(self.damage(index, code::SHARD_TRUNCATED, message))));
        }
        let layout = self.stored.map(|stored| stored.layout_of(index)).transpose()?.flatten();
        let Some(layout) = layout else { return Ok((bytes, 0, None)) };
        match layout.read_index(&reader, buffers) {
            Ok(entries) => Ok((bytes, entries.iter().flatten().count() as u64, None)),
            // A failure of the store says nothing about this shard, so it ends the work.
            Err(Fault::Store(error)) if !error.is_data_fault() => Err(error.into()),
            Err(fault) => {
                let message = format!("the index of shard {:?} cannot be read: {fault}", self.chunk(index));
                Ok((bytes, 0, Some(self.damage(index, code::SHARD_INDEX, message))))
            }
        }
    }

    fn chunk(&self, index: u64) -> Vec<u64> {
        position(index, &self.array.metadata)
    }

    fn key(&self, index: u64) -> String {
        self.array.metadata.chunk_key_encoding.key(&self.chunk(index))
    }

    fn damage(&self, index: u64, code: Code, message: String) -> Diagnostic {
        let help = "the shard is damaged or truncated; restore it from a copy";
        self.at(index, Diagnostic::new(code, message).with_help(help))
    }

    fn at(&self, index: u64, found: Diagnostic) -> Diagnostic {
        found.at_key(self.key(index)).at_chunk(self.chunk(index))
    }
}
