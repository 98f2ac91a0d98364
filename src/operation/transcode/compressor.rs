//! `--compress auto`: the best of a few chains, found by encoding a sample of what will be written.

use super::plan::Plan;
use super::sample::{Drawing, Estimate, SampleSize, Sampler};
use crate::diagnostic::quantity::approximate;
use crate::metadata::extension::CodecMetadata;
use crate::metadata::json::Object;
use crate::operation::codec_words::compression;
use crate::operation::error::{FaultClass, OperationError};
use crate::operation::options::{ChangeOptions, Compression, CompressionGoal};
use crate::operation::sample_result::{CompressionResult, TriedResult};

/// Decoded bytes that are tried, about: a plan must not depend on the memory of the machine that makes it, so that
/// `--resume` makes it again.
const SAMPLE_BYTES: u64 = 16 << 20;

/// Chunks that are tried, at most.
const SAMPLE_CHUNKS: u64 = 256;

/// A chain that takes no more than this times the least is as good, if it is the quicker one.
const AS_GOOD: f64 = 1.01;

/// The chains, by the words of `--compress`; the quicker ones first.
const fn chains(goal: CompressionGoal) -> &'static [&'static str] {
    match goal {
        CompressionGoal::Balanced => &["zstd:3", "blosc:zstd:3:shuffle", "blosc:zstd:3:bitshuffle", "zstd:7"],
        CompressionGoal::Fast => &[
            "blosc:lz4:5:shuffle",
            "blosc:lz4:5:bitshuffle",
            "zstd:1",
            "blosc:zstd:1:shuffle",
            "blosc:zstd:1:bitshuffle",
        ],
        CompressionGoal::Small => &[
            "blosc:zstd:7:shuffle",
            "blosc:zstd:7:bitshuffle",
            "zstd:12",
            "blosc:zstd:9:shuffle",
            "blosc:zstd:9:bitshuffle",
            "zstd:19",
        ],
        CompressionGoal::Any => &["zstd:3", "blosc:zstd:3:shuffle", "blosc:zstd:3:bitshuffle", "zstd:7", PCODEC],
    }
}

/// It stands for the whole of a chain behind the change of values, and is no word of `--compress`.
const PCODEC: &str = "numcodecs.pcodec";

fn chain(words: &str) -> Vec<CodecMetadata> {
    if words == PCODEC {
        return vec![CodecMetadata::new(PCODEC, Some(Object::new().with("level", 8_u64)))];
    }
    compression(words).unwrap_or_default()
}

/// The chain that stands in until one is chosen.
pub(super) fn placeholder(goal: CompressionGoal) -> Vec<CodecMetadata> {
    chains(goal).first().map(|words| chain(words)).unwrap_or_default()
}

impl Sampler<'_> {
    /// The chain of `--compress auto` for a plan that is made with [`placeholder`], with what was tried and what it gave. Of a
    /// quantisation that is not settled, the range is that of the sample.
    pub(super) fn choose(
        &self,
        goal: CompressionGoal,
        plan: &Plan,
        options: &ChangeOptions,
    ) -> Result<(Vec<CodecMetadata>, CompressionResult), OperationError> {
        let with = |codecs| ChangeOptions { compress: Some(Compression::Codecs(codecs)), ..options.clone() };
        let size = SampleSize::Always(chunks_of(plan));
        let sample = self.draw(&plan.source, &plan.listing, &Drawing::of(plan, options), size)?;
        let settled = plan.quantization.as_ref().filter(|quantization| !quantization.is_open);
        let (mut tried, mut times) = (Vec::new(), None);
        // Others, such as complex numbers, zarr-python does not read back from it.
        let are_numbers = plan.destination.pipeline.input.data_type.number().is_some();
        for words in chains(goal).iter().filter(|words| are_numbers || **words != PCODEC) {
            let codecs = chain(words);
            let trial = self.try_way(&sample, &with(codecs.clone()), settled);
            let (bytes, reason) = match trial {
                Ok(trial) => {
                    // By one ratio: so they compare as what the sample came to does.
                    let estimate = trial.estimate;
                    let times = *times.get_or_insert(estimate.bytes / estimate.found.max(1.0));
                    (Some(Estimate { bytes: estimate.found * times, ..estimate }.whole_bytes()), None)
                }
                // A codec may not be for these elements.
                Err(error) if error.class() == FaultClass::Data && *words == PCODEC => {
                    (None, Some(error.in_one_line()))
                }
                Err(error) => return Err(error),
            };
            let codecs = codecs.iter().map(CodecMetadata::to_json).collect();
            tried.push(TriedResult { compress: (*words).to_owned(), codecs, bytes_stored: bytes, reason });
        }
        let least = tried.iter().filter_map(|one| one.bytes_stored).min().unwrap_or(0);
        let most = approximate(least) * AS_GOOD;
        let is_as_good = |one: &TriedResult| one.bytes_stored.is_some_and(|bytes| approximate(bytes) <= most);
        let chosen = tried.iter().find(|one| is_as_good(one)).map(|one| one.compress.clone());
        let codecs = chosen.as_deref().map_or_else(|| placeholder(goal), chain);
        let result = CompressionResult { goal: goal.name(), chosen, tried, sample: Some(sample.result()) };
        Ok((codecs, result))
    }
}

/// The number of chunks that are tried.
fn chunks_of(plan: &Plan) -> u64 {
    let element = plan.source.data_type.size().map_or(16, |size| size as u64);
    let shape = plan.destination.pipeline.innermost_chunk_shape();
    let bytes = shape.iter().fold(element, |all, length| all.saturating_mul(*length));
    (SAMPLE_BYTES / bytes.max(1)).clamp(1, SAMPLE_CHUNKS)
}
