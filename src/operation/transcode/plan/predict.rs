//! `--predict`: differences along dimensions behind the codes, which compress better and lose nothing (Lorenzo's predictor).
//!
//! `numcodecs.delta` takes differences along the last dimension of a chunk in C order; `transpose` brings others there.

use super::regrid::Names;
use crate::codec::kinds::Role;
use crate::data_type::DataType;
use crate::metadata::extension::CodecMetadata;
use crate::metadata::json::{Json, Object};
use crate::metadata::v2::write_dtype;
use crate::operation::draft::{DELTA, Draft, build, codec_names};
use crate::operation::error::OperationError;
use crate::operation::open::OpenedArray;
use crate::pipeline::Pipeline;

/// Puts differences along these dimensions, one after the other, into the innermost chain.
pub(super) fn apply(
    draft: &mut Draft,
    dimensions: &[String],
    source: &OpenedArray,
    asked: Option<&[String]>,
) -> Result<(), OperationError> {
    let store = &source.store;
    let refusal = |why: &str| OperationError::data(format!("--predict does not fit `{store}`: {why}"));
    if codec_names(&draft.codecs).iter().any(|name| name == DELTA) {
        return Err(refusal("its chain takes differences already")
            .with_help("leave --predict out: the differences stay as they are"));
    }
    let names = Names { source: &source.metadata, asked };
    let places = dimensions.iter().map(|dimension| names.place_or_number("--predict", dimension));
    let mut places = places.collect::<Result<Vec<usize>, _>>()?;
    let (metadata, pipeline, _) = build(draft, store)?;
    let mut chain = &pipeline;
    let is_regular = metadata.grid.uniform().is_some() || pipeline.sharding().is_some();
    while let Some((stages, sharding)) = chain.sharding() {
        for stage in &chain.stages[..stages] {
            if let Role::Transpose(order) = stage.configuration.role() {
                for place in &mut places {
                    *place = order.iter().position(|dimension| dimension == place).unwrap_or(*place);
                }
            }
        }
        chain = &sharding.inner;
    }
    let Some((first, data_type, dtype)) = codes(chain) else {
        return Err(refusal("it stores no integers of 8, 16, 32 or 64 bits")
            .with_help("differences are exact for integers only: add --max-error, --step or --quantize for floats"));
    };
    let differences = Differences { shape: is_regular.then_some(&*chain.input.shape), data_type, dtype };
    let codecs = differences.codecs(chain.input.shape.len(), &places);
    if !codecs.is_empty() {
        draft.edit_innermost(|chain| drop(chain.splice(first..first, codecs)));
    }
    Ok(())
}

/// The dimensions along which differences may be taken of a chain's codes: none where it has no codes.
pub(in crate::operation::transcode) fn lengths(pipeline: &Pipeline) -> Vec<u64> {
    let mut innermost = pipeline;
    while let Some((_, sharding)) = innermost.sharding() {
        innermost = &sharding.inner;
    }
    let has_differences = innermost.stages.iter().any(|stage| stage.name == DELTA);
    if has_differences || codes(innermost).is_none() { Vec::new() } else { pipeline.innermost_chunk_shape() }
}

/// The place in a chain where elements are integers, their type, and its name in numpy.
fn codes(chain: &Pipeline) -> Option<(usize, DataType, Json)> {
    let mut array = &chain.input;
    let mut place = 0;
    loop {
        let is_code = |data_type: &DataType| {
            data_type.number().is_some_and(|number| !number.is_float() && number.is_whole() && number.bits() >= 8)
        };
        if is_code(&array.data_type) {
            return Some((place, array.data_type.clone(), write_dtype(&array.data_type, false).ok()?));
        }
        let stage = chain.stages.get(place)?;
        let (Role::ScaleOffset(_) | Role::Cast { .. }) = stage.configuration.role() else { return None };
        array = stage.output.as_ref()?.array()?;
        place += 1;
    }
}

/// Codecs that take differences of the codes of chunks.
struct Differences<'a> {
    /// The shape of all chunks; `None` where they have several.
    shape: Option<&'a [u64]>,
    data_type: DataType,
    dtype: Json,
}

impl Differences<'_> {
    fn codecs(&self, rank: usize, dimensions: &[usize]) -> Vec<CodecMetadata> {
        let mut order: Vec<usize> = (0..rank).collect();
        let mut chain = Vec::new();
        for dimension in dimensions {
            let Some(place) = order.iter().position(|other| other == dimension) else { continue };
            if place + 1 < rank {
                let turned: Vec<usize> = (0..rank).filter(|other| *other != place).chain([place]).collect();
                if !chain.is_empty() && self.misleads_numcodecs(&order, &turned) {
                    let same = Object::new().with("data_type", self.data_type.to_metadata());
                    chain.push(CodecMetadata::new("cast_value", Some(same)));
                }
                order = turned.iter().map(|place| order[*place]).collect();
                let turned = turned.into_iter().map(|place| Json::from(place as u64)).collect();
                let turned = Object::new().with("order", Json::Array(turned));
                chain.push(CodecMetadata::new("transpose", Some(turned)));
            }
            chain.push(CodecMetadata::new(DELTA, Some(Object::new().with("dtype", self.dtype.clone()))));
        }
        chain
    }

    /// True if a transposition, undone as a view, leaves a chunk contiguous in Fortran order. The delta of numcodecs 0.17
    /// reads such a chunk in the order of memory, and so decodes other values. A `cast_value` in front copies it.
    fn misleads_numcodecs(&self, order: &[usize], turned: &[usize]) -> bool {
        let Some(shape) = self.shape else { return true };
        let long: Vec<usize> = turned.iter().copied().filter(|place| shape[order[*place]] > 1).collect();
        long.len() > 1 && long.windows(2).all(|pair| pair[0] > pair[1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::{ElementType, NumberType};

    fn names(shape: Option<&[u64]>, rank: usize, dimensions: &[usize]) -> String {
        let data_type = DataType::Number(NumberType::of(ElementType::UInt8));
        let codecs = Differences { shape, data_type, dtype: Json::from("|u1") }.codecs(rank, dimensions);
        let word = |codec: &CodecMetadata| match codec.member("order") {
            Some(order) => order.to_string_compact(),
            None => codec.name.chars().skip_while(|letter| *letter != '.').skip(1).collect(),
        };
        codecs.iter().map(word).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn dimension_is_brought_to_the_end_and_a_cast_stands_where_numcodecs_would_go_wrong() {
        assert_eq!(names(Some(&[9]), 1, &[0, 0]), "delta delta");
        assert_eq!(names(Some(&[4, 5, 6]), 3, &[0]), "[1,2,0] delta");
        assert_eq!(names(Some(&[4, 5, 6]), 3, &[2, 0]), "delta [1,2,0] delta");
        assert_eq!(names(Some(&[4, 5, 6]), 3, &[0, 1]), "[1,2,0] delta [1,2,0] delta");
        // Two long dimensions change places: the empty word is `cast_value`.
        assert_eq!(names(Some(&[4, 5]), 2, &[1, 0]), "delta  [1,0] delta");
        assert_eq!(names(Some(&[1, 4, 5]), 3, &[2, 1]), "delta  [0,2,1] delta");
        assert_eq!(names(Some(&[4, 1]), 2, &[1, 0]), "delta [1,0] delta");
        assert_eq!(names(None, 3, &[2, 0]), "delta  [1,2,0] delta");
    }
}
