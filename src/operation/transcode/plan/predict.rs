//! `--predict`: differences along dimensions after the codes, which compress better and lose nothing (Lorenzo's
//! predictor).
//!
//! `numcodecs.delta` encodes differences along the last dimension of a chunk in C order. `transpose` makes another
//! dimension the last. The codec pcodec encodes differences itself, along the last dimension in memory. So it gets the
//! dimensions in their original order.

use super::regrid::Names;
use crate::codec::Effect;
use crate::metadata::{CodecMetadata, Json, Object, v2};
use crate::operation::draft::{DELTA, PCODEC, build, changes_integers, has_differences, innermost};
use crate::operation::{ChangeOptions, Draft, OpenedArray, OperationError, Result};
use crate::pipeline::{ArrayRepresentation, Pipeline, Representation, Stage};

/// Adds differences along the requested dimensions, one after the other, to the innermost chain.
pub(super) fn predict(draft: &mut Draft, source: &OpenedArray, options: &ChangeOptions) -> Result<()> {
    let store = &source.store;
    let refusal = |why: &str| OperationError::data(format!("--predict does not fit `{store}`: {why}"));
    if has_differences(&draft.codecs) {
        return Err(refusal("its codec chain already stores differences")
            .with_help("leave --predict out: the differences stay as they are"));
    }
    let names = Names { source: &source.metadata, asked: options.dimension_names.as_deref() };
    let dimensions = options.predicted().iter().map(|dimension| names.dimension_or_number("--predict", dimension));
    let mut dimensions = dimensions.collect::<Result<Vec<usize>, _>>()?;
    let (_, pipeline, _) = build(draft)?;
    let mut chain = &pipeline;
    // The dimensions are those of the array. Codecs before a shard may have permuted them.
    while let Some((stages, sharding)) = chain.sharding() {
        for stage in &chain.stages[..stages] {
            if let Effect::Transpose(order) = stage.configuration.effect() {
                for dimension in &mut dimensions {
                    *dimension = order.iter().position(|other| other == dimension).unwrap_or(*dimension);
                }
            }
        }
        chain = &sharding.inner;
    }
    let Some((first, dtype)) = codes(chain) else {
        return Err(refusal("it stores no integers of 8, 16, 32 or 64 bits")
            .with_help("differences are exact for integers only: add --max-error, --step or --quantize for floats"));
    };
    if let Some(lossy) = chain.stages[first..].iter().find(|stage| changes_integers(stage)) {
        return Err(refusal(&format!(
            "`{}` changes integers, and these changes of differences would add up",
            lossy.metadata.name
        ))
        .with_help("leave --predict out, or give a chain without this codec by --codecs"));
    }
    let restores = chain.stages.iter().any(|stage| stage.metadata.name == PCODEC);
    let codecs = differences(&dtype, chain.input.shape.len(), &dimensions, restores);
    if !codecs.is_empty() {
        draft.edit_innermost(|chain| drop(chain.splice(first..first, codecs)));
    }
    Ok(())
}

/// Returns the lengths of the dimensions along which differences of a chain's codes are possible. Empty if it has no
/// codes, or stores differences already.
pub(crate) fn lengths(pipeline: &Pipeline) -> Vec<u64> {
    let innermost = innermost(pipeline);
    let has_differences = innermost.stages.iter().any(|stage| stage.metadata.name == DELTA);
    let are_exact = |(first, _): (usize, Json)| !innermost.stages[first..].iter().any(changes_integers);
    let is_possible = !has_differences && codes(innermost).is_some_and(are_exact);
    if is_possible { pipeline.innermost_chunk_shape() } else { Vec::new() }
}

/// Returns the index in a chain after all casts, where elements are integers, and the numpy name of their type.
fn codes(chain: &Pipeline) -> Option<(usize, Json)> {
    let is_of_values =
        |stage: &&Stage| matches!(stage.configuration.effect(), Effect::ScaleOffset(_) | Effect::Cast { .. });
    let index = chain.stages.iter().take_while(is_of_values).count();
    let array = chain.array_at(index)?;
    let number = array.data_type.number()?;
    if number.is_float() || !number.is_whole() || number.bits() < 8 {
        return None;
    }
    Some((index, v2::write_dtype(&array.data_type, false).ok()?))
}

/// Returns codecs for differences along dimensions, one after the other. `restores`: the dimensions get their original
/// order at the end.
fn differences(dtype: &Json, rank: usize, dimensions: &[usize], restores: bool) -> Vec<CodecMetadata> {
    let mut order: Vec<usize> = (0..rank).collect();
    let mut chain = Vec::new();
    let transpose = |order: Vec<usize>| {
        let order = order.into_iter().map(|dimension| Json::from(dimension as u64)).collect();
        CodecMetadata::new("transpose", Some(Object::new().with("order", Json::Array(order))))
    };
    let index_in = |order: &[usize], dimension| order.iter().position(|other| *other == dimension);
    for dimension in dimensions {
        let Some(index) = index_in(&order, *dimension) else { continue };
        if index + 1 < rank {
            let turned: Vec<usize> = (0..rank).filter(|other| *other != index).chain([index]).collect();
            order = turned.iter().map(|index| order[*index]).collect();
            chain.push(transpose(turned));
        }
        chain.push(CodecMetadata::new(DELTA, Some(Object::new().with("dtype", dtype.clone()))));
    }
    if restores && !order.is_sorted() {
        chain.push(transpose((0..rank).filter_map(|dimension| index_in(&order, dimension)).collect()));
    }
    chain
}

/// Adds a `cast_value` to the same type after each difference that numcodecs 0.17 decodes wrongly. If `transpose`
/// returns a chunk as a view in Fortran order, it reads the chunk in memory order. The cast copies such a chunk.
pub(super) fn keep_readable(draft: &mut Draft) -> Result<()> {
    if !has_differences(&draft.codecs) {
        return Ok(());
    }
    let (metadata, pipeline, _) = build(draft)?;
    let has_one_shape = metadata.grid.uniform().is_some() || pipeline.sharding().is_some();
    let copies = copies(innermost(&pipeline), has_one_shape);
    if !copies.is_empty() {
        // From the last on, because each insertion moves the codecs after it.
        draft.edit_innermost(|chain| copies.into_iter().rev().for_each(|(index, copy)| chain.insert(index, copy)));
    }
    Ok(())
}

/// Returns the casts that a chain needs, and their positions in the present chain.
fn copies(chain: &Pipeline, has_one_shape: bool) -> Vec<(usize, CodecMetadata)> {
    let mut copies = Vec::new();
    let mut since: Option<(usize, &ArrayRepresentation, Vec<usize>)> = None;
    for (index, stage) in chain.stages.iter().enumerate() {
        match (stage.configuration.effect(), &mut since) {
            (Effect::Transpose(turned), Some((.., order))) => {
                *order = turned.iter().map(|index| order[*index]).collect();
                continue;
            }
            // numpy's arithmetic keeps the order in memory.
            (Effect::ScaleOffset(_), _) => continue,
            _ => {}
        }
        if let Some((behind, array, order)) = since.take() {
            // A dimension of length 1 does not change the order in memory. If chunks have several shapes, any dimension
            // may have this length in one of them.
            let long: Vec<usize> =
                order.into_iter().filter(|index| !has_one_shape || array.shape[*index] > 1).collect();
            let is_reversed = long.windows(2).all(|pair| pair[0] > pair[1]);
            let may_be = if has_one_shape { is_reversed } else { !long.is_sorted() };
            if long.len() > 1 && may_be {
                let same = Object::new().with("data_type", array.data_type.to_metadata());
                copies.push((behind, CodecMetadata::new("cast_value", Some(same))));
            }
        }
        let array = stage.output.as_ref().and_then(Representation::array).filter(|_| stage.metadata.name == DELTA);
        since = array.map(|array| (index + 1, array, (0..array.shape.len()).collect()));
    }
    copies
}
