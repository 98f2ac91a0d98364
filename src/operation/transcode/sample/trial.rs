//! A way of storing an array, tried on a sample of its chunks.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::{Sample, Sampler, elements_inside, has_fixed_size, held, stored_bytes};
use crate::array::{ChunkSet, Listing, position};
use crate::diagnostic::quantity::approximate;
use crate::engine::Silent;
use crate::grid::{Grid, num_elements};
use crate::kernel::quantize::QuantizeFigures;
use crate::metadata::Json;
use crate::operation::transcode::plan::{Settled, keep_bits};
use crate::operation::transcode::{BitRounding, Plan};
use crate::operation::transcode_result::SampleResult;
use crate::operation::{ChangeOptions, FirstPass, KeepBits, OpenedArray, OperationError, Quantization, Request};
use crate::pipeline::Pipeline;

/// The sample after a change.
#[derive(Debug)]
pub(crate) struct Trial {
    /// The estimate for the chunks of the whole array, without the indexes of shards.
    pub estimate: Estimate,
    /// The quantisation, of the sample's range.
    pub quantization: Option<Quantization>,
    /// The bits of the significand that are kept.
    pub bits: Option<u32>,
    /// The errors over the sample.
    pub figures: QuantizeFigures,
    /// Whether absent chunks are written, too.
    pub fills: bool,
    /// Where its chunks lie.
    pub array: OpenedArray,
}

/// The estimated size and error of a whole array.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Estimate {
    /// Bytes of its chunks.
    pub bytes: f64,
    /// Bytes of those of the sample.
    pub found: f64,
    /// Whether it is no estimate: all chunks were tried, or all have one size.
    pub is_exact: bool,
    /// Wall time of the passes over SOURCE, with what decodes and encodes, in seconds.
    pub seconds: f64,
}

impl Estimate {
    /// Bytes of all objects: of the chunks, and of the indexes of so many shards.
    pub(crate) fn bytes_stored(&self, pipeline: &Pipeline, num_objects: u64) -> u64 {
        // Shards without any chunk are not written.
        let shards = if self.bytes > 0.0 { num_objects } else { 0 };
        let indexes = pipeline.shard_index_bytes().unwrap_or(0).saturating_mul(shards);
        indexes.saturating_add(self.whole_bytes())
    }

    /// Bytes of the chunks.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a sum of sizes times a ratio of counts: neither below 0 nor near the end of 64 bits"
    )]
    pub(crate) fn whole_bytes(&self) -> u64 {
        self.bytes.round() as u64
    }
}

impl Sample {
    /// The sample as results have it.
    pub(crate) fn result(&self) -> SampleResult {
        let chunks = self.drawn.len();
        let metadata = &self.array.metadata;
        let positions = self.drawn.iter().take(SampleResult::MOST_POSITIONS);
        SampleResult {
            chunks,
            of: self.written.len(),
            chunk_shape: metadata.largest_chunk().to_vec(),
            positions: positions.map(|chunk| position(chunk, metadata)).collect(),
            bytes_read: self.bytes_read,
        }
    }

    /// The array that holds its chunks.
    pub(crate) fn array(&self) -> &OpenedArray {
        &self.array
    }

    /// The drawn chunks that an array holds, which is that of the sample or of a trial.
    pub(crate) fn held_by(&self, array: &OpenedArray) -> Result<ChunkSet, OperationError> {
        held(&self.drawn, array)
    }

    /// Shards of a grid that a trial leaves a chunk in, which are those that are written; `None` where chunks are not in it.
    pub(crate) fn shards_held_by(&self, array: &OpenedArray, shards: &Grid) -> Result<Option<u64>, OperationError> {
        if !self.is_whole {
            return Ok(None);
        }
        let metadata = &array.metadata;
        let shard_of = |chunk| -> Vec<u64> {
            let start = metadata.grid.start_of(&position(chunk, metadata));
            start.iter().enumerate().map(|(dimension, at)| shards.chunk_of(dimension, *at)).collect()
        };
        let held: BTreeSet<Vec<u64>> = self.held_by(array)?.iter().map(shard_of).collect();
        Ok(Some(held.len() as u64))
    }

    /// The chunks of the whole array over those of the sample.
    fn times(&self) -> f64 {
        if self.is_whole { 1.0 } else { approximate(self.written.len()) / approximate(self.drawn.len()) }
    }
}

impl Sampler<'_> {
    /// Makes of a sample what options make of the array. Of a quantisation that is `settled` the range is not looked for.
    pub(crate) fn try_way(
        &self,
        sample: &Sample,
        options: &ChangeOptions,
        settled: Option<&Quantization>,
    ) -> Result<Trial, OperationError> {
        let (mut options, is_cut_off) = of_chunks_alone(options);
        let finds_bits = matches!(options.keep_bits, Some(KeepBits::Auto(_)));
        let there = sample.drawn.common(&sample.present);
        // What grows with the array, and what does not.
        let (mut passes, mut growing, mut fixed) = (1.0, Duration::ZERO, Duration::ZERO);
        let mut quantization = settled.cloned();
        if let (Some(quantize), None) = (&options.quantize, settled) {
            passes += 1.0;
            let request = Request::new(&sample.array, &options, quantize)?;
            let using = (self.budget, self.driver.interrupt());
            let pass = FirstPass::new(&request, Some(&there), sample.lacks_chunks, using, &Silent)?;
            let begun = Instant::now();
            let (survey, _) = pass.survey()?;
            growing += begun.elapsed();
            let begun = Instant::now();
            quantization = Some(pass.settle(&survey)?);
            fixed += begun.elapsed();
        }
        if let Some(KeepBits::Auto(share)) = options.keep_bits {
            passes += 1.0;
            let using = (self.budget, self.driver.interrupt());
            let chunks = (Some(&there), sample.is_whole);
            let begun = Instant::now();
            options.keep_bits = Some(keep_bits::find((&sample.array, options.unpack), chunks, share, using, &Silent)?);
            growing += begun.elapsed();
        }
        let settled = Settled { quantization: quantization.clone(), blocks: None };
        let listing = Listing { present: sample.present.clone(), ..Listing::default() };
        let plan = self.plan(&sample.array, &options, &listing, Some(&settled))?;
        let begun = Instant::now();
        let report = self.run(&plan, &sample.drawn)?;
        growing += begun.elapsed();
        let of_sample = sample.seconds.mul_add(passes, growing.as_secs_f64());
        let seconds = of_sample.mul_add(sample.times(), fixed.as_secs_f64());
        let mut estimate = Estimate { seconds, ..Self::estimate(sample, &plan)? };
        // Bits that a few chunks need are a guess at those of all; and nothing was tried of what stands behind shards.
        if is_cut_off || (finds_bits && !sample.is_whole) {
            estimate.is_exact = false;
        }
        let array = Self::open(&plan)?;
        let fills = plan.job.objects().is_some_and(|job| job.transfer.absent_element.is_some());
        Ok(Trial {
            fills,
            estimate,
            quantization,
            bits: plan.rounding.as_ref().and_then(BitRounding::bits),
            figures: report.figures,
            array,
        })
    }

    /// The bytes of all chunks: as many as those of the sample where all have one size, else by what SOURCE's chunks take,
    /// or by their elements.
    fn estimate(sample: &Sample, plan: &Plan) -> Result<Estimate, OperationError> {
        let Sample { array, drawn, is_whole, .. } = sample;
        let (metadata, pipeline) = (&array.metadata, &plan.destination.pipeline);
        let (mut sizes, mut inside, mut encoded) = (Vec::new(), 0_u64, 0_u64);
        for chunk in drawn.iter() {
            sizes.push(stored_bytes(&plan.target, &plan.destination.metadata, chunk)?);
            inside += elements_inside(chunk, metadata);
            encoded += stored_bytes(&array.node, metadata, chunk)?;
        }
        let found = approximate(sizes.iter().sum());
        let ratio = |known: u64| found / approximate(known.max(1));
        let elements = if sample.written.len() == metadata.num_chunks() {
            approximate(num_elements(&metadata.shape).unwrap_or(u64::MAX))
        } else {
            approximate(inside) * sample.times()
        };
        let is_fixed = has_fixed_size(pipeline);
        // No chain makes of chunks much more than their elements.
        let size = pipeline.input.data_type.size().map(|size| size as u64);
        let most = size.map_or(f64::INFINITY, |size| 2.0 * approximate(size) * elements);
        let by_bytes = sample.source_bytes.map(|bytes| ratio(encoded) * approximate(bytes));
        let bytes = match by_bytes.filter(|bytes| *bytes <= most) {
            _ if *is_whole || is_fixed => found * sample.times(),
            Some(bytes) => bytes,
            None => ratio(inside) * elements,
        };
        let are_alike = sizes.len() > 1 && sizes.iter().all(|size| *size > 0 && *size == sizes[0]);
        Ok(Estimate { bytes, found, is_exact: *is_whole || (is_fixed && are_alike), seconds: 0.0 })
    }
}

/// The options for chunks that lie as they are to lie already, without shards; and whether codecs are left out for that.
fn of_chunks_alone(options: &ChangeOptions) -> (ChangeOptions, bool) {
    let chain = options.codecs.as_ref().map(|codecs| without_shards(codecs));
    let is_cut_off = chain.as_ref().is_some_and(|(_, is_cut_off)| *is_cut_off);
    let (chunk_shape, shard_shape, select) = (None, None, Vec::new());
    let codecs = chain.map(|(codecs, _)| codecs);
    (ChangeOptions { codecs, chunk_shape, shard_shape, select, ..options.clone() }, is_cut_off)
}

/// The codecs that an innermost chunk goes through: those in front of shards, and those inside. Whether some stand behind
/// shards, which they compress as a whole.
fn without_shards(codecs: &[Json]) -> (Vec<Json>, bool) {
    let inside = |codec: &Json| match codec.pointer("/configuration/codecs") {
        Some(Json::Array(codecs)) => Some(codecs.clone()),
        _ => None,
    };
    let Some((place, inner)) = codecs.iter().enumerate().find_map(|(place, codec)| Some((place, inside(codec)?)))
    else {
        return (codecs.to_vec(), false);
    };
    let (inner, is_cut_off) = without_shards(&inner);
    let chain = codecs[..place].iter().cloned().chain(inner).collect();
    (chain, is_cut_off || place + 1 < codecs.len())
}
