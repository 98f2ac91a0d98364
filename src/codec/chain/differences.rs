//! Neighbouring codecs that only move integers and compute their differences, run as one. Differences are computed in
//! place, and transpositions that cancel are skipped.

use std::ops::Range;

use super::{BoundCodec, Workspace, expect_size};
use crate::codec::Effect;
use crate::codec::fault::Outcome;
use crate::codec::kinds::CodecError;
use crate::codec::kinds::{copy, zeroed};
use crate::codec::region::as_index;
use crate::kernel::differences::Differences;
use crate::kernel::transpose::Transpose;
use crate::pipeline::Representation;

/// `transpose`, `numcodecs.delta` of integers and `cast_value` to the same type, with at least one difference.
#[derive(Debug, Clone)]
pub(super) struct DifferenceRun {
    /// The indices of the codecs.
    pub(super) range: Range<usize>,
    /// The array before them. The array after them has the same number of bytes.
    decoded: Representation,
    element_size: usize,
    differences: Vec<Differences>,
    /// The permutation that remains of the transpositions.
    transpose: Option<Transpose>,
}

impl DifferenceRun {
    /// Returns all runs in a chain, in order.
    pub(super) fn all(codecs: &[BoundCodec]) -> Vec<Self> {
        let mut all = Vec::new();
        let mut index = 0;
        while index < codecs.len() {
            let run = Self::at(codecs, index);
            // A run that only moves elements is not examined again.
            index = run.as_ref().map_or(index, |run| run.range.end).max(index + 1);
            all.extend(run.filter(|run| !run.differences.is_empty()));
        }
        all
    }

    fn at(codecs: &[BoundCodec], first: usize) -> Option<Self> {
        let decoded = codecs[first].decoded.clone();
        let array = decoded.array()?;
        let shape: Vec<usize> = array.shape.iter().map(|length| as_index(*length)).collect();
        let element_size = array.data_type.size()?;
        let mut order: Vec<usize> = (0..shape.len()).collect();
        let mut differences = Vec::new();
        let mut end = first;
        for codec in &codecs[first..] {
            match codec.codec.effect() {
                Effect::Transpose(turned) => order = turned.iter().map(|index| order[*index]).collect(),
                // A filter with a view reads the bytes of other types or in another order, which `Differences` does not
                // do.
                Effect::Delta(delta) if delta.wraps_in_place() && codec.metadata.view.is_none() => {
                    differences.push(Differences::new(&shape, &order));
                }
                Effect::Cast { encode, decode } if encode.is_identity() && decode.is_identity() => {}
                _ => break,
            }
            end += 1;
        }
        let is_turned = !order.iter().copied().eq(0..shape.len());
        let transpose = if is_turned { Some(Transpose::new(&array.shape, &order, element_size)?) } else { None };
        Some(DifferenceRun { range: first..end, decoded, element_size, differences, transpose })
    }

    pub(super) fn encode(&self, decoded: &[u8], encoded: &mut Vec<u8>, workspace: &mut Workspace) -> Outcome {
        expect_size(self.decoded.max_bytes(), decoded.len())?;
        // `at` plans each difference along the dimensions of the input. So all of them run before the one
        // transposition.
        let [rows, turned] = &mut workspace.spare;
        let target = if self.transpose.is_some() { &mut *turned } else { &mut *encoded };
        copy(decoded, target)?;
        for differences in &self.differences {
            zeroed(rows, differences.num_rows() * self.element_size)?;
            differences.encode(self.element_size, target, rows);
        }
        let Some(transpose) = &self.transpose else { return Ok(()) };
        zeroed(encoded, turned.len())?;
        Ok(transpose.encode(turned, encoded).map_err(CodecError::bytes)?)
    }

    pub(super) fn decode(&self, encoded: &[u8], decoded: &mut Vec<u8>, workspace: &mut Workspace) -> Outcome {
        expect_size(self.decoded.max_bytes(), encoded.len())?;
        match &self.transpose {
            None => copy(encoded, decoded)?,
            Some(transpose) => {
                zeroed(decoded, encoded.len())?;
                transpose.decode(encoded, decoded).map_err(CodecError::bytes)?;
            }
        }
        let [rows, _] = &mut workspace.spare;
        for differences in self.differences.iter().rev() {
            zeroed(rows, differences.num_rows() * self.element_size)?;
            differences.decode(self.element_size, decoded, rows);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::chain::BoundChain;
    use crate::data_type::{DataType, FillValue};
    use crate::metadata::extension::read_codecs;
    use crate::metadata::json::Json;
    use crate::pipeline::{ArrayRepresentation, Completeness, Pipeline};

    /// Returns a chain for chunks of 3 x 4 x 5 `uint16`.
    fn chain(codecs: &str) -> BoundChain {
        let codecs = read_codecs(&Json::parse_str(codecs).unwrap(), "", &mut Vec::new()).unwrap();
        let data_type = DataType::from_name("uint16").unwrap();
        let input = ArrayRepresentation { data_type, shape: vec![3, 4, 5], fill_value: Some(FillValue(vec![0, 0])) };
        let pipeline = Pipeline::build(input, &codecs, Completeness::ToBytes, "/codecs", &mut Vec::new());
        BoundChain::bind(&pipeline).unwrap()
    }

    #[test]
    fn codecs_that_are_run_as_one_give_the_same_as_one_by_one() {
        let delta = r#"{"name":"numcodecs.delta","configuration":{"dtype":"<u2"}}"#;
        let turn = |order: &str| format!(r#"{{"name":"transpose","configuration":{{"order":[{order}]}}}}"#);
        let cast = r#"{"name":"cast_value","configuration":{"data_type":"uint16"}}"#;
        let to_signed = r#"{"name":"cast_value","configuration":{"data_type":"int16","out_of_range":"wrap"}}"#;
        let bytes = r#"{"name":"bytes","configuration":{"endian":"big"}}"#;
        let (turned, last, back) = (turn("1,2,0"), turn("0,2,1"), turn("2,0,1"));
        let cases: [(&[&str], Option<Range<usize>>); 7] = [
            (&[delta, bytes], Some(0..1)),
            (&[&turned, delta, bytes], Some(0..2)),
            (&[&turned, delta, &back, bytes], Some(0..3)),
            (&[delta, &turned, delta, cast, &last, delta, delta, bytes], Some(0..7)),
            (&[cast, &last, bytes], None),
            (&[&turned, to_signed, &last, bytes], None),
            (&[&turned, delta, bytes, r#"{"name":"crc32c"}"#], Some(0..2)),
        ];
        let decoded: Vec<u8> = (0..60_u16).flat_map(|index| (index * 977).to_ne_bytes()).collect();
        for (codecs, runs) in cases {
            let chain = chain(&format!("[{}]", codecs.join(",")));
            assert!(chain.runs.iter().map(|run| run.range.clone()).eq(runs), "{codecs:?}");
            let (mut encoded, mut back, mut workspace) = (Vec::new(), Vec::new(), Workspace::default());
            chain.encode(&decoded, &mut encoded, &mut workspace).unwrap();
            let mut expected = decoded.clone();
            for index in 0..chain.codecs().len() {
                let input = expected.clone();
                chain.encode_codec(index, &input, &mut expected, &mut workspace).unwrap();
            }
            assert_eq!(encoded, expected, "{codecs:?}");
            chain.decode(&encoded, &mut back, &mut workspace).unwrap();
            assert_eq!(back, decoded, "{codecs:?}");
            // A truncated chunk is an error, which has the direction.
            let fault = chain.decode(&encoded[..encoded.len() - 2], &mut back, &mut workspace).unwrap_err();
            assert!(!fault.is_encoding);
            let fault = chain.encode(&decoded[2..], &mut encoded, &mut workspace).unwrap_err();
            assert!(fault.is_encoding);
        }
    }
}
