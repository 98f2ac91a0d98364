//! `--chunk-shape` and `--shard-shape`: another grid for DEST, with its chain in new shards, or without shards.

use crate::codec::Effect;
use crate::diagnostic::{quantity::counted, spelling};
use crate::grid::{Lengths, fit, volume, zip_with};
use crate::metadata::{ArrayMetadata, CodecMetadata, Json, Object, edit};
use crate::operation::draft;
use crate::operation::{ChangeOptions, Draft, OperationError, Result, ShapeRequest, ShardRequest};
use crate::pipeline::{Pipeline, ShardingStage, Stage};

const SHARDING: &str = "sharding_indexed";

/// Changes the chunk grid of the draft. If shards are added or removed, also changes its chain. `element` is the
/// size of an element in bytes, for sizes of `auto`.
pub(super) fn apply(draft: &mut Draft, options: &ChangeOptions, source: &ArrayMetadata, element: u64) -> Result<()> {
    if source.skips() && source.grid.uniform().is_none() && options.chunk_shape.is_none() {
        // The selected chunks are not those of the present grid.
        return Err(of_several_shapes(&draft.store, "chunks", "--chunk-shape"));
    }
    if options.chunk_shape.is_none() && options.shard_shape.is_none() {
        return Ok(());
    }
    let source = &source.by_itself();
    let (metadata, pipeline, _) = draft::build(draft)?;
    let shards = Shards::new(draft, &pipeline)?;
    let names = Names { source, asked: options.dimension_names.as_deref() };
    let present = shards.as_ref().map_or(metadata.grid.largest(), |shards| &shards.inner);
    if metadata.grid.uniform().is_none() && keeps_several_shapes(options, shards.is_some(), &draft.store)? {
        return Ok(());
    }
    let subchunk = match &options.chunk_shape {
        Some(ShapeRequest::Auto(bytes)) => {
            let kept = shards.as_ref().map(|_| metadata.grid.largest());
            fit(&names.lengths_that_fill(options.shard_shape.as_ref(), kept)?, bytes / element)
        }
        Some(request) => names.resolve("--chunk-shape", request, present, |_, axis| axis)?,
        None => present.to_vec(),
    };
    let keeps_shards = options.shard_shape.is_none() && shards.is_some();
    let shard = match &options.shard_shape {
        Some(ShardRequest::None) => None,
        Some(ShardRequest::Shape(ShapeRequest::Auto(bytes))) => {
            Some(fitted_shard(&subchunk, &source.shape, bytes / element))
        }
        Some(ShardRequest::Shape(request)) => {
            let base = if shards.is_some() { metadata.grid.largest() } else { &subchunk };
            // A shard of the whole axis ends with its last inner chunk.
            Some(names.resolve("--shard-shape", request, base, |dimension, axis| {
                axis.checked_next_multiple_of(subchunk[dimension]).unwrap_or(axis)
            })?)
        }
        None => shards.as_ref().map(|_| metadata.grid.largest().to_vec()),
    };
    if let Some(shard) = &shard {
        check_divides(&subchunk, shard, options, &source.shape)?;
    }
    match (shards, &shard) {
        (Some(shards), None) => draft.keep_codecs(shards.taken_out(&draft.codecs)),
        (Some(shards), Some(_)) => draft.keep_codecs(shards.with_inner(&draft.codecs, &subchunk)),
        (None, Some(_)) => draft.keep_codecs(vec![wrapped(&draft.codecs, &subchunk)]),
        (None, None) => {}
    }
    let grid = draft.document.pointer("/chunk_grid/name").and_then(Json::as_str);
    let shape = shard.unwrap_or(subchunk);
    // The grid is that of the shards. If they stay, new inner chunks change only the chain.
    if !keeps_shards && (grid == Some("rectilinear") || metadata.grid.largest() != shape) {
        edit::set_chunk_shape(&mut draft.document, &shape);
    }
    Ok(())
}

/// Returns true if objects of several shapes stay as they are. Fails if the options do not give the new shape.
fn keeps_several_shapes(options: &ChangeOptions, has_shards: bool, store: &str) -> Result<bool> {
    let has_chunks = !has_shards && options.chunk_shape.is_none();
    match &options.shard_shape {
        None if has_shards => Err(of_several_shapes(store, "shards", "--shard-shape")),
        Some(ShardRequest::Shape(_)) if has_chunks => Err(of_several_shapes(store, "chunks", "--chunk-shape")),
        request => Ok(has_chunks && matches!(request, Some(ShardRequest::None))),
    }
}

/// Returns the shape of shards of at most `limit` elements, but at least one chunk.
fn fitted_shard(chunk: &[u64], shape: &[u64], limit: u64) -> Vec<u64> {
    let counts: Vec<Lengths> = zip_with(shape, chunk, u64::div_ceil).into_iter().map(Lengths::UpTo).collect();
    let chunks = fit(&counts, limit / volume(chunk));
    // A multiple that exceeds 64 bits is not needed: a chunk contains nearly all of the axis.
    chunks.iter().zip(chunk).map(|(count, chunk)| count.checked_mul(*chunk).unwrap_or(*chunk)).collect()
}

/// Returns the error for a new grid without a new shape, if the present grid has several shapes.
fn of_several_shapes(store: &str, what: &str, option: &str) -> OperationError {
    OperationError::data(format!("the {what} of `{store}` have different shapes: its grid is `rectilinear`"))
        .with_help(format!("give {option}, too, for a regular grid"))
}

/// Fails if a shard does not consist of whole inner chunks. The error names the wrong option, and the nearest valid
/// shape.
fn check_divides(inner: &[u64], shard: &[u64], options: &ChangeOptions, shape: &[u64]) -> Result<()> {
    let Some(axis) = inner.iter().zip(shard).position(|(inner, shard)| !shard.is_multiple_of(*inner)) else {
        return Ok(());
    };
    let at_fault = format!(
        "along dimension {axis}, {} is not a multiple of {} (the array's shape is {shape:?})",
        shard[axis], inner[axis]
    );
    let (message, nearest, option, other): (_, fn(u64, u64) -> u64, _, _) = if options.shard_shape.is_some() {
        let (of, other) = match options.chunk_shape {
            None => ("of shape", "give --chunk-shape, too"),
            Some(_) => ("of --chunk-shape", "give another --chunk-shape"),
        };
        let message = format!("--shard-shape {shard:?} does not contain whole chunks {of} {inner:?}");
        (message, nearest_multiple, "--shard-shape", other)
    } else {
        let of = if options.codecs.is_some() { "--codecs" } else { "SOURCE" };
        let message = format!("--chunk-shape {inner:?} does not divide the shard shape of {of}, {shard:?}");
        (message, nearest_divisor, "--chunk-shape", "give --shard-shape, too")
    };
    let nearest: Vec<u64> = inner.iter().zip(shard).map(|(inner, shard)| nearest(*inner, *shard)).collect();
    Err(OperationError::data(format!("{message}: {at_fault}"))
        .with_help(format!("the nearest that does is {option} {}; or {other}", as_option(&nearest))))
}

/// Returns a shape in the notation of options.
pub(crate) fn as_option(shape: &[u64]) -> String {
    shape.iter().map(u64::to_string).collect::<Vec<_>>().join(",")
}

/// Returns the positive multiple of `unit` that is nearest to `length`.
fn nearest_multiple(unit: u64, length: u64) -> u64 {
    let below = length - length % unit;
    let above = below.saturating_add(unit);
    if below > 0 && length - below <= above - length { below } else { above }
}

/// Returns the divisor of `whole` that is nearest to `length`. 1 if the search would take long.
fn nearest_divisor(length: u64, whole: u64) -> u64 {
    const MOST_TRIED: u64 = 1 << 20;
    let divides = |candidate: u64| candidate > 0 && whole.is_multiple_of(candidate);
    (0..MOST_TRIED.min(length.max(whole)))
        .find_map(|away| {
            let near = [length.checked_sub(away), length.checked_add(away)];
            near.into_iter().flatten().find(|candidate| divides(*candidate))
        })
        .unwrap_or(1)
}

/// Returns a new `sharding_indexed` with a chain inside.
fn wrapped(codecs: &[CodecMetadata], inner: &[u64]) -> CodecMetadata {
    let little = CodecMetadata::new("bytes", Some(Object::new().with("endian", "little")));
    let index_codecs = [little, CodecMetadata::new("crc32c", None)];
    let configuration = Object::new()
        .with("chunk_shape", Json::from(inner.to_vec()))
        .with("codecs", edit::codecs_json(codecs))
        .with("index_codecs", edit::codecs_json(&index_codecs))
        .with("index_location", "end");
    CodecMetadata::new(SHARDING, Some(configuration))
}

struct Shards<'a> {
    pipeline: &'a Pipeline,
    index: usize,
    sharding: &'a ShardingStage,
    /// The inner chunk shape, in the array's dimensions.
    inner: Vec<u64>,
}

impl<'a> Shards<'a> {
    fn new(draft: &Draft, pipeline: &'a Pipeline) -> Result<Option<Self>> {
        let Some((index, sharding)) = pipeline.sharding() else {
            let is_sharded = draft.codecs.iter().any(|codec| codec.name == SHARDING);
            let unreadable = || OperationError::data("the configuration of `sharding_indexed` has errors");
            return if is_sharded { Err(unreadable()) } else { Ok(None) };
        };
        let help = "give the whole chain with --codecs";
        if sharding.inner.stages.iter().any(|stage| stage.metadata.name == SHARDING) {
            let message = "shards inside shards have no single inner chunk shape";
            return Err(OperationError::data(message).with_help(help));
        }
        let changes_shape = |stage: &Stage| matches!(stage.configuration.effect(), Effect::Reshape | Effect::Packs);
        if pipeline.stages[..index].iter().any(changes_shape) {
            let message = "the inner chunks of shards behind a codec that changes the shape are no chunks of the array";
            return Err(OperationError::data(message).with_help(help));
        }
        Ok(Some(Shards { pipeline, index, sharding, inner: pipeline.innermost_chunk_shape() }))
    }

    /// Returns the chain with another inner chunk shape.
    fn with_inner(&self, codecs: &[CodecMetadata], inner: &[u64]) -> Vec<CodecMetadata> {
        let mut codecs = codecs.to_vec();
        if let Some(configuration) = codecs[self.index].configuration.as_mut().filter(|_| inner != self.inner) {
            // The configuration has the shape at the shard, which a transposition before it may have changed.
            let encoded = self.pipeline.for_shape(inner, &mut Vec::new());
            if let Some(encoded) = encoded.array_at(self.index) {
                configuration.insert("chunk_shape", Json::from(encoded.shape.clone()));
            }
        }
        codecs
    }

    /// Returns the chain without shards. Codecs before and after the shard remain for the inner chunk.
    fn taken_out(&self, codecs: &[CodecMetadata]) -> Vec<CodecMetadata> {
        [&codecs[..self.index], &self.sharding.inner.codecs(), &codecs[self.index + 1..]].concat()
    }
}

/// Finds the dimensions of the array by name.
pub(crate) struct Names<'a> {
    pub source: &'a ArrayMetadata,
    /// The new names, if they were requested.
    pub asked: Option<&'a [String]>,
}

impl Names<'_> {
    /// Returns the requested lengths. Dimensions that are not named keep the length in `present`. A length of 0 becomes
    /// the result of `whole` for the dimension and its length.
    fn resolve(
        &self,
        option: &str,
        request: &ShapeRequest,
        present: &[u64],
        whole: impl Fn(usize, u64) -> u64,
    ) -> Result<Vec<u64>> {
        let shape = &self.source.shape;
        let lengths = match request {
            // The caller chooses the shape, because it knows the element size.
            ShapeRequest::Auto(_) => present.to_vec(),
            ShapeRequest::Lengths(lengths) if lengths.len() == shape.len() => lengths.clone(),
            ShapeRequest::Lengths(lengths) => {
                let example = format!("{option} {}", as_option(present));
                let help = if shape.is_empty() {
                    format!("a scalar is always one chunk: leave {option} out, or give lengths by name")
                } else {
                    format!("give a length for each dimension, such as {example}, or some by name, such as time=1")
                };
                let (given, wanted) = (lengths.len() as u64, shape.len() as u64);
                let (given, wanted) = (counted(given, "length"), counted(wanted, "dimension"));
                let message = format!("{option} gives {given}, but the array has {wanted} (its shape is {shape:?})");
                return Err(OperationError::data(message).with_help(help));
            }
            ShapeRequest::Named(named) => {
                let mut lengths = present.to_vec();
                for (name, length) in named {
                    lengths[self.dimension(option, name)?] = *length;
                }
                lengths
            }
        };
        let of = |(dimension, length): (usize, &u64)| match *length {
            // An axis of length 0 has chunks of length 1 (SEMANTICS: D9).
            0 => whole(dimension, shape[dimension].max(1)),
            length => length,
        };
        Ok(lengths.iter().enumerate().map(of).collect())
    }

    /// Returns the possible lengths of inner chunks. Whole ones must fill the shards that are requested or `kept`.
    fn lengths_that_fill(&self, asked: Option<&ShardRequest>, kept: Option<&[u64]>) -> Result<Vec<Lengths>> {
        // 0 if the shard depends on its inner chunks.
        let free = vec![0; self.source.shape.len()];
        let kept = kept.unwrap_or(&free);
        let shard = match asked {
            Some(ShardRequest::None | ShardRequest::Shape(ShapeRequest::Auto(_))) => free,
            Some(ShardRequest::Shape(request)) => self.resolve("--shard-shape", request, kept, |_, _| 0)?,
            None => kept.to_vec(),
        };
        let length =
            |(shard, axis): (&u64, &u64)| if *shard == 0 { Lengths::UpTo(*axis) } else { Lengths::Dividing(*shard) };
        Ok(shard.iter().zip(&self.source.shape).map(length).collect())
    }

    /// Returns the dimension with a name, or else with a number.
    pub(crate) fn dimension_or_number(&self, option: &str, dimension: &str) -> Result<usize> {
        let number = dimension.parse().ok().filter(|number: &usize| *number < self.source.shape.len());
        self.dimension(option, dimension).or_else(|error| number.ok_or(error))
    }

    /// Returns the dimension with a name.
    fn dimension(&self, option: &str, name: &str) -> Result<usize> {
        let present: Vec<&str> = match (self.asked, &self.source.dimension_names) {
            (Some(asked), _) => asked.iter().map(String::as_str).collect(),
            (None, Some(names)) => names.iter().map(|name| name.as_deref().unwrap_or("")).collect(),
            (None, None) => Vec::new(),
        };
        let mut named = present.iter().enumerate().filter(|(_, known)| **known == name);
        let refused =
            |why| OperationError::data(format!("{option} names the dimension `{name}`, which the array {why}"));
        match (named.next(), named.next()) {
            (Some((dimension, _)), None) if dimension < self.source.shape.len() => Ok(dimension),
            (Some(_), Some(_)) => Err(refused("has more than once").with_help(match option {
                "--select" => "give the number of the dimension, such as 0=10:20",
                "--predict" => "give the number of the dimension, such as 0",
                _ => "give the lengths of all dimensions as numbers",
            })),
            _ => {
                let numbers = match option {
                    "--select" => "their numbers, such as 0=10:20",
                    "--predict" => "their numbers, such as 0,1",
                    _ => "the lengths as numbers",
                };
                let known = match spelling::near(name, present.iter().copied()).first() {
                    _ if self.source.shape.is_empty() => "the array is a scalar: it has no dimension".to_owned(),
                    _ if present.is_empty() => format!("its dimensions have no names; give {numbers}"),
                    Some(near) => format!("did you mean `{near}`? its dimensions are {}", present.join(", ")),
                    None => format!("its dimensions are {}", present.join(", ")),
                };
                Err(refused("does not have").with_help(known))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_shapes_do() {
        assert_eq!(
            [(10, 24), (10, 25), (10, 26), (10, 3)].map(|(unit, length)| nearest_multiple(unit, length)),
            [20, 20, 30, 10]
        );
        assert_eq!(
            [(7, 20), (3, 20), (30, 20), (1, 1)].map(|(length, whole)| nearest_divisor(length, whole)),
            [5, 2, 20, 1]
        );
        assert_eq!(nearest_divisor(u64::MAX / 2, u64::MAX), 1);
    }
}
