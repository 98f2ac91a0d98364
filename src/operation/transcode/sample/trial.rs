//! A trial of one way to store an array, on a sample of its chunks.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::{Sample, SampleSize, Sampler, has_fixed_size, held, source_array, stored_bytes};
use crate::array::{ChunkSet, Listing, position};
use crate::diagnostic::quantity::approximate;
use crate::engine::Silent;
use crate::engine::progress::mixed;
use crate::grid::{Grid, Region, num_elements};
use crate::kernel::quantize::QuantizeFigures;
use crate::metadata::Json;
use crate::operation::transcode::plan::{ResolvedPlan, keep_bits};
use crate::operation::transcode::{BitRounding, Plan, SourceArray};
use crate::operation::transcode_result::SampleResult;
use crate::operation::{ChangeOptions, FirstPass, KeepBits, OpenedArray, Quantization, Request, Result};
use crate::pipeline::Pipeline;

/// The most places that a result lists.
const MOST_POSITIONS: usize = 100;

/// The sample after a change.
pub(crate) struct Trial {
    /// Estimated bytes of the chunks of the whole array, without shard indexes.
    pub bytes: f64,
    /// Bytes of the chunks of the sample.
    pub found: f64,
    /// Whether the size is exact: all chunks were tried, or all have the same size.
    pub is_exact: bool,
    /// Estimated wall time of the passes over SOURCE in seconds, including decoding and encoding.
    pub seconds: f64,
    /// The quantisation, with the range of the sample.
    pub quantization: Option<Quantization>,
    /// Number of significand bits that are kept.
    pub bits: Option<u32>,
    /// Errors in the sample.
    pub figures: QuantizeFigures,
    /// Whether absent chunks are written, too.
    pub fills: bool,
    /// The array with the written chunks.
    pub array: OpenedArray,
}

impl Trial {
    /// Returns the bytes of all objects: the chunks, and the indexes of `num_objects` shards.
    pub(crate) fn bytes_stored(&self, pipeline: &Pipeline, num_objects: u64) -> u64 {
        // Shards without any chunk are not written.
        let shards = if self.bytes > 0.0 { num_objects } else { 0 };
        let indexes = pipeline.shard_index_bytes().unwrap_or(0).saturating_mul(shards);
        indexes.saturating_add(whole_bytes(self.bytes))
    }
}

/// Rounds estimated bytes.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a sum of sizes times a ratio of counts: neither below 0 nor near the end of 64 bits"
)]
pub(crate) fn whole_bytes(bytes: f64) -> u64 {
    bytes.round() as u64
}

impl Sample {
    /// Returns the sample for results.
    pub(crate) fn result(&self) -> SampleResult {
        let (chunks, of, metadata) = (self.drawn.len(), self.written.len(), &self.array.metadata);
        let positions = self.drawn.iter().take(MOST_POSITIONS).map(|chunk| position(chunk, metadata)).collect();
        let chunk_shape = metadata.grid.largest().to_vec();
        SampleResult { chunks, of, chunk_shape, positions, bytes_read: self.bytes_read }
    }

    /// Returns the drawn chunks that are stored in an array. It is the array of the sample or of a trial.
    pub(crate) fn held_by(&self, array: &OpenedArray) -> Result<ChunkSet> {
        held(&self.drawn, array)
    }

    /// Returns the number of shards of a grid in which a trial stores a chunk. Only these are written. `None` if the
    /// sample is not the whole array.
    pub(crate) fn shards_held_by(&self, array: &OpenedArray, shards: &Grid) -> Result<Option<u64>> {
        if !self.is_whole {
            return Ok(None);
        }
        let metadata = &array.metadata;
        let shard_of = |chunk| -> Vec<u64> {
            let start = metadata.grid.start_of(&position(chunk, metadata));
            start.iter().enumerate().map(|(dimension, at)| shards.axes()[dimension].chunk_of(*at)).collect()
        };
        let held: BTreeSet<Vec<u64>> = self.held_by(array)?.iter().map(shard_of).collect();
        Ok(Some(held.len() as u64))
    }

    /// Returns the ratio of the chunks of the whole array to those of the sample.
    fn times(&self) -> f64 {
        if self.is_whole { 1.0 } else { approximate(self.written.len()) / approximate(self.drawn.len()) }
    }
}

impl Sampler<'_> {
    /// Applies options to a sample as to the whole array. The range of a `settled` quantisation is not determined
    /// again.
    pub(crate) fn try_way(
        &self,
        sample: &Sample,
        options: &ChangeOptions,
        settled: Option<&Quantization>,
    ) -> Result<Trial> {
        // The sample stays in memory, and so does what the trial writes.
        let sampler = self.beside(sample.bytes.saturating_mul(2));
        // The chunks of the sample have their final grid already, without shards.
        let (codecs, is_cut_off) = options.codecs.as_deref().map(without_shards).unzip();
        let (chunk_shape, shard_shape, select) = (None, None, Vec::new());
        let mut options = ChangeOptions { codecs, chunk_shape, shard_shape, select, ..options.clone() };
        let finds_bits = matches!(options.keep_bits, Some(KeepBits::Auto(_)));
        let there = sample.drawn.common(&sample.present);
        let using = (sampler.budget, self.driver.interrupt());
        // Some times grow with the array, others do not.
        let (mut passes, mut growing, mut fixed) = (1.0, Duration::ZERO, Duration::ZERO);
        let mut quantization = settled.cloned();
        if let (Some(quantize), None) = (&options.quantize, settled) {
            passes += 1.0;
            let request = Request::new(&sample.array, &options, quantize)?;
            let pass = FirstPass::new(&request, Some(&there), sample.lacks_chunks, using, &Silent)?;
            let begun = Instant::now();
            let (survey, _) = pass.survey()?;
            growing += begun.elapsed();
            let begun = Instant::now();
            quantization = Some(pass.resolve(&survey)?);
            fixed += begun.elapsed();
        }
        if let Some(KeepBits::Auto(share)) = options.keep_bits {
            passes += 1.0;
            let chunks = (Some(&there), sample.is_whole);
            let begun = Instant::now();
            options.keep_bits = Some(keep_bits::find((&sample.array, options.unpack), chunks, share, using, &Silent)?);
            growing += begun.elapsed();
        }
        let settled = Some(ResolvedPlan { quantization: quantization.clone(), blocks: None });
        let listing = Listing { present: sample.present.clone(), ..Listing::default() };
        let plan = sampler.plan(SourceArray { settled, ..source_array(&sample.array, &options, &listing) })?;
        let begun = Instant::now();
        let report = sampler.run(&plan, &sample.drawn)?;
        growing += begun.elapsed();
        let of_sample = sample.seconds.mul_add(passes, growing.as_secs_f64());
        let seconds = of_sample.mul_add(sample.times(), fixed.as_secs_f64());
        let (bytes, found, is_exact) = Self::estimate(sample, &plan)?;
        // The bits that a few chunks need are an estimate for all. Codecs after shards were not tried.
        let is_exact = is_exact && is_cut_off != Some(true) && (sample.is_whole || !finds_bits);
        let (array, figures) = (Self::open(&plan)?, report.figures);
        let bits = plan.changed.rounding.as_ref().and_then(BitRounding::bits);
        let fills = plan.job.objects().is_some_and(|job| job.transfer.absent_element.is_some());
        Ok(Trial { bytes, found, is_exact, seconds, quantization, bits, figures, fills, array })
    }

    /// Returns the estimated bytes of all chunks, those of the sample, and whether the estimate is exact. It scales the
    /// sample if all chunks have the same size. Otherwise it uses the bytes of the chunks of SOURCE, or their elements.
    fn estimate(sample: &Sample, plan: &Plan) -> Result<(f64, f64, bool)> {
        let Sample { array, drawn, is_whole, .. } = sample;
        let (metadata, pipeline) = (&array.metadata, &plan.destination.pipeline);
        let (mut sizes, mut inside, mut encoded) = (Vec::new(), 0_u64, 0_u64);
        for chunk in drawn.iter() {
            sizes.push(stored_bytes(&plan.target, &plan.destination.metadata, chunk)?);
            let region = metadata.grid.region_of(&position(chunk, metadata));
            inside += region.common(&Region::whole(&metadata.shape)).num_elements();
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
        // No chain makes chunks much larger than their elements.
        let size = pipeline.input.data_type.size().map(|size| size as u64);
        let most = size.map_or(f64::INFINITY, |size| 2.0 * approximate(size) * elements);
        let by_bytes = sample.source_bytes.map(|bytes| ratio(encoded) * approximate(bytes));
        let bytes = match by_bytes.filter(|bytes| *bytes <= most) {
            _ if *is_whole || is_fixed => found * sample.times(),
            Some(bytes) => bytes,
            None => ratio(inside) * elements,
        };
        let are_alike = sizes.len() > 1 && sizes.iter().all(|size| *size > 0 && *size == sizes[0]);
        Ok((bytes, found, *is_whole || (is_fixed && are_alike)))
    }
}

/// Returns the codecs of an innermost chunk: those before shards, and those inside. Also returns whether some are after
/// shards, where they compress whole shards.
fn without_shards(codecs: &[Json]) -> (Vec<Json>, bool) {
    let mut chain = codecs.iter().enumerate();
    let shards = chain.find_map(|(place, codec)| Some((place, codec.pointer("/configuration/codecs")?.as_array()?)));
    let Some((place, inner)) = shards else { return (codecs.to_vec(), false) };
    let (inner, is_cut_off) = without_shards(inner);
    let chain = codecs[..place].iter().cloned().chain(inner).collect();
    (chain, is_cut_off || place + 1 < codecs.len())
}

/// Least number of chunks in a sample, if there are as many.
const LEAST_CHUNKS: u64 = 16;

/// A sample of a large array is at most one of this many units, or the least number of chunks.
const ONE_OF: u64 = 100;

/// A sample of an array of this many units is a hundredth. It is large from this many decoded bytes on.
const LARGE_OF_MANY: (u64, u64) = (LEAST_CHUNKS * ONE_OF, 8 << 20);

/// Any array is large from this many decoded bytes on.
const LARGE: u64 = 64 << 20;

/// Maximum number of chunks in a sample of unspecified size.
const MOST_CHUNKS: u64 = 1 << 14;

/// Memory of a chunk in addition to its bytes: its key, list entries and buffers.
const CHUNK_OVERHEAD: u64 = 1 << 10;

/// Decoded bytes that are always read of an array that is not large.
const BYTES_OF_A_SMALL_ARRAY: u64 = 16 << 20;

/// The units from which a sample is drawn. Each has the chunks of DEST that are read together.
#[derive(Debug, Clone, Copy)]
pub(super) struct Population {
    /// Number of units that are not empty.
    pub units: u64,
    /// Maximum number of chunks of DEST in a unit.
    pub chunks_per_unit: u64,
    /// Maximum number of decoded bytes in a unit.
    pub unit_bytes: u64,
    /// Maximum ratio of the decoded bytes of SOURCE to those of the unit.
    pub amplification: u64,
    /// Decoded bytes of the array.
    pub array_bytes: u64,
    /// Memory limit for all units, in bytes.
    pub memory: u64,
}

impl Population {
    /// Returns the number of units for a sample of `size` chunks of DEST.
    pub(super) fn num_drawn(&self, size: SampleSize) -> u64 {
        let chunks = self.chunks_per_unit.max(1);
        let most = (MOST_CHUNKS / chunks).max(1);
        let wanted = match size {
            SampleSize::ByDefault => self.by_default().min(most),
            SampleSize::Chunks(asked) | SampleSize::Always(asked) => asked.div_ceil(chunks),
        };
        let held = self.unit_bytes.saturating_add(chunks.saturating_mul(CHUNK_OVERHEAD));
        let room = self.memory / held;
        wanted.min(room).clamp(1, self.units.max(1)).min(self.units)
    }

    /// Returns the default number of units. It is divided by the amplification, if units need more of SOURCE than they
    /// contain.
    fn by_default(&self) -> u64 {
        let times = self.amplification.max(1);
        let least = LEAST_CHUNKS.div_ceil(self.chunks_per_unit.saturating_mul(times).max(1));
        let share = self.units / ONE_OF.saturating_mul(times);
        let (many, bytes_of_many) = LARGE_OF_MANY;
        let is_large = self.array_bytes > if self.units >= many { bytes_of_many } else { LARGE };
        let read = self.unit_bytes.saturating_mul(times).max(1);
        let quick = if is_large { 0 } else { BYTES_OF_A_SMALL_ARRAY / read };
        least.max(share).max(quick)
    }
}

/// Returns `count` members of a set: one from each of `count` stretches of equal length. Its position in the stretch is
/// pseudorandom and always the same. So the sample follows slow changes along the array, and does not always hit the
/// same position of a regular pattern.
pub(super) fn spread(all: &ChunkSet, count: u64) -> ChunkSet {
    // The increment of the generator `SplitMix64`.
    const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
    let total = u128::from(all.len());
    let edge = |stretch: u64| u64::try_from(u128::from(stretch) * total / u128::from(count.max(1))).unwrap_or(u64::MAX);
    let drawn = (0..count).filter_map(|stretch| {
        let (first, end) = (edge(stretch), edge(stretch + 1));
        let length = end.saturating_sub(first).max(1);
        all.nth(first + mixed(stretch.wrapping_mul(GOLDEN)) % length)
    });
    drawn.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn population(units: u64, bytes: u64) -> Population {
        Population {
            units,
            chunks_per_unit: 1,
            unit_bytes: bytes,
            amplification: 1,
            array_bytes: units * bytes,
            memory: 1 << 30,
        }
    }

    #[test]
    fn sample_is_a_hundredth_within_bounds() {
        let (kib, mib) = (1 << 10, 1 << 20);
        let tiny = Population { chunks_per_unit: 256, ..population(1_000_000, 256 * 4) };
        let in_memory = |memory| Population { memory, ..population(400, mib) };
        let amplified = Population { amplification: 4, ..population(40_000, mib) };
        let by_default = [
            // For a large array a hundredth, and at least 16 chunks.
            (population(1_000_000, kib), 10_000),
            (population(1600, 8 * kib), 16),
            (population(400, mib), 16),
            (population(9, mib), 9),
            (population(0, mib), 0),
            // Chunks of a few bytes do not make a sample of millions.
            (population(1_000_000_000_000, kib), MOST_CHUNKS),
            (tiny, MOST_CHUNKS / 256),
            // For a small array, as much as is read at once.
            (population(100, kib), 100),
            (population(2000, kib), 2000),
            (population(1000, 1 << 15), 512),
            // Limited by memory, but at least one unit.
            (in_memory(5 * (CHUNK_OVERHEAD + mib)), 5),
            (Population { chunks_per_unit: 8, ..population(400, 64 * mib) }, 4),
            (amplified, 100),
        ];
        for (population, expected) in by_default {
            assert_eq!(population.num_drawn(SampleSize::ByDefault), expected, "{population:?}");
        }
        assert_eq!(population(400, mib).num_drawn(SampleSize::Chunks(40)), 40);
        assert_eq!(in_memory(0).num_drawn(SampleSize::Chunks(9)), 1);
        let asked = Population { memory: mib, ..population(1_000_000_000_000, 4) };
        assert_eq!(asked.num_drawn(SampleSize::Chunks(u64::MAX)), mib / (CHUNK_OVERHEAD + 4));
    }

    #[test]
    fn sample_has_one_of_each_stretch_and_is_the_same_each_time() {
        let all = ChunkSet::from_ranges(vec![5..505, 1000..1500]);
        let drawn = spread(&all, 10);
        assert_eq!(drawn.len(), 10);
        let stretches: Vec<u64> =
            drawn.iter().map(|index| if index < 505 { (index - 5) / 100 } else { (index - 1000) / 100 + 5 }).collect();
        assert_eq!(stretches, (0..10).collect::<Vec<u64>>());
        assert!(spread(&all, 10).iter().eq(drawn.iter()));
        assert!(spread(&all, 1000).iter().eq(all.iter()));
        assert!(spread(&ChunkSet::default(), 0).is_empty());
    }
}
