//! `--compress auto` and `--predict auto`: the best of several chains, found by encoding a sample of the written data.

use super::{Attempt, SampleSize, SampleSpec, Sampler, Trial, element_bytes, whole_bytes};
use crate::diagnostic::quantity::approximate;
use crate::grid::volume;
use crate::metadata::{ArrayMetadata, CodecMetadata, Object};
use crate::operation::transcode::plan::predict::lengths;
use crate::operation::transcode::{DestinationMetadata, Plan};
use crate::operation::transcode_result::TriedResult;
use crate::operation::{
    ChangeOptions, Compression, CompressionGoal, CompressionResult, FaultClass, OpenedArray, OperationError, Predict,
    Result, draft, options,
};

/// Approximate decoded bytes of the sample. A plan must not depend on the memory of the machine, so that `--resume`
/// makes the same one.
const SAMPLE_BYTES: u64 = 16 << 20;

/// Maximum number of chunks in the sample.
const SAMPLE_CHUNKS: u64 = 256;

/// Maximum number of successive differences.
const MOST_DIFFERENCES: usize = 4;

/// A difference that leaves more than this share of the bytes is not worth its time.
const WORTH_A_DIFFERENCE: f64 = 0.995;

/// A faster chain with at most this times the least bytes is as good.
const AS_GOOD: f64 = 1.01;

/// Returns the chains by their names in `--compress`, faster ones first. pcodec is a whole chain after the change of
/// values, and no name in `--compress`.
fn chains(goal: CompressionGoal) -> Vec<&'static str> {
    let words = match goal {
        CompressionGoal::Balanced => "zstd:3 blosc:zstd:3:shuffle blosc:zstd:3:bitshuffle zstd:7",
        CompressionGoal::Fast => {
            "blosc:lz4:5:shuffle blosc:lz4:5:bitshuffle zstd:1 blosc:zstd:1:shuffle blosc:zstd:1:bitshuffle"
        }
        CompressionGoal::Small => {
            "blosc:zstd:7:shuffle blosc:zstd:7:bitshuffle zstd:12 blosc:zstd:9:shuffle blosc:zstd:9:bitshuffle zstd:19"
        }
        CompressionGoal::Any => return [chains(CompressionGoal::Balanced), vec![draft::PCODEC]].concat(),
    };
    words.split(' ').collect()
}

fn chain(words: &str) -> Vec<CodecMetadata> {
    if words == draft::PCODEC {
        return vec![CodecMetadata::new(draft::PCODEC, Some(Object::new().with("level", 8_u64)))];
    }
    options::compression(words).unwrap_or_default()
}

#[derive(Clone, Copy)]
pub(crate) struct Search {
    pub goal: Option<CompressionGoal>,
    /// Whether differences along dimensions are tried (`--predict auto`).
    pub predicts: bool,
}

impl Search {
    /// Returns the search that options request. Sets a placeholder for the chain in the options.
    pub(crate) fn new(options: &mut ChangeOptions) -> Self {
        let goal = if let Some(Compression::Auto(goal)) = options.compress { Some(goal) } else { None };
        let is_thorough = matches!(goal, Some(CompressionGoal::Small | CompressionGoal::Any));
        let is_thorough = is_thorough && options.repack.is_none();
        let predicts = options.predict.as_ref().map_or(is_thorough, |predict| *predict == Predict::Auto);
        if let Some(goal) = goal {
            let placeholder = chains(goal).first().map(|words| chain(words));
            options.compress = Some(Compression::Codecs(placeholder.unwrap_or_default()));
        }
        Search { goal, predicts }
    }

    /// Returns the chains for which differences are searched: the best ones may depend on the chain. `None`: the chain
    /// of the options.
    fn probes(self) -> Vec<Option<&'static str>> {
        match self.goal {
            None => vec![None],
            Some(CompressionGoal::Any) => vec![Some("zstd:3"), Some(draft::PCODEC)],
            Some(goal) => chains(goal).into_iter().take(1).map(Some).collect(),
        }
    }
}

impl Attempt<'_> {
    /// Tries differences along some dimensions before a chain. Without `words`: the chain of the options.
    fn trial(&self, words: Option<&str>, dimensions: &[String]) -> Result<Trial> {
        let compress = words.map(|words| Compression::Codecs(chain(words))).or_else(|| self.options.compress.clone());
        let predict = Some(Predict::Dimensions(dimensions.to_vec())).filter(|_| !dimensions.is_empty());
        let predict = predict.or_else(|| self.options.predict.clone());
        let options = ChangeOptions { compress, predict, ..self.options.clone() };
        Attempt { options: &options, ..*self }.run()
    }

    /// Returns the requested dimensions, and those that are best with a fast and with a strong compressor.
    fn predictions(&self, search: Search, among: &[String]) -> Result<Vec<Vec<String>>> {
        let mut predictions = vec![self.options.predicted().to_vec()];
        for words in search.probes().into_iter().filter(|_| !among.is_empty()) {
            match self.predict(words, among) {
                Err(error) if is_unfit(&error, words) => {}
                found => predictions.extend(Some(found?).filter(|found| !predictions.contains(found))),
            }
        }
        Ok(predictions)
    }

    /// Returns the dimensions along which differences of codes make the sample of an array smallest.
    pub(crate) fn best_dimensions(&self, source: &OpenedArray) -> Result<Vec<String>> {
        self.predict(None, &dimensions_of(&source.metadata, source.pipeline.innermost_chunk_shape()))
    }

    /// Returns the dimensions along which differences make the sample smallest, found one by one. A dimension that
    /// makes it larger is not tried again. At the end, each of them is tried as the last one, which is the last in
    /// memory.
    fn predict(&self, words: Option<&str>, among: &[String]) -> Result<Vec<String>> {
        let (mut chosen, mut least) = (Vec::new(), self.trial(words, &[])?.found);
        let mut among = among.to_vec();
        while chosen.len() < MOST_DIFFERENCES {
            // A dimension may be chosen twice, for differences of differences.
            among.retain(|name| chosen.iter().filter(|known| *known == name).count() < 2);
            let tried = among.iter().map(|name| [&chosen[..], std::slice::from_ref(name)].concat());
            let sizes = self.sizes(words, tried.collect())?;
            let best = smallest(&sizes).filter(|(found, _)| *found <= least * WORTH_A_DIFFERENCE);
            let Some((found, dimensions)) = best else { break };
            let smaller = sizes.iter().filter(|(found, _)| *found < least);
            among = smaller.filter_map(|(_, tried)| tried.last().cloned()).collect();
            (chosen, least) = (dimensions.clone(), *found);
        }
        let as_last = |name: &String| {
            let (last, others): (Vec<_>, Vec<_>) = chosen.iter().cloned().partition(|other| other == name);
            [others, last].concat()
        };
        let mut tried: Vec<_> = chosen.iter().map(as_last).filter(|order| *order != chosen).collect();
        tried.dedup();
        let sizes = self.sizes(words, tried)?;
        Ok(smallest(&sizes).filter(|(found, _)| *found < least).map_or(chosen, |(_, dimensions)| dimensions.clone()))
    }

    /// Returns the bytes of the sample for each choice of dimensions for differences.
    fn sizes(&self, words: Option<&str>, tried: Vec<Vec<String>>) -> Result<Vec<(f64, Vec<String>)>> {
        let size = |dimensions: Vec<String>| Ok((self.trial(words, &dimensions)?.found, dimensions));
        tried.into_iter().map(size).collect()
    }
}

fn smallest(sizes: &[(f64, Vec<String>)]) -> Option<&(f64, Vec<String>)> {
    sizes.iter().min_by(|one, other| one.0.total_cmp(&other.0))
}

impl Sampler<'_> {
    /// Sets the chain of `--compress auto` and the dimensions of `--predict auto` in the options, and returns what was
    /// tried. The plan must be made with the placeholders of [`Search::new`]. If a quantisation is not resolved, its
    /// range is that of the sample.
    pub(in crate::operation::transcode) fn choose(
        &self,
        search: Search,
        plan: &Plan,
        options: &mut ChangeOptions,
    ) -> Result<Option<CompressionResult>> {
        let elements = volume(&plan.destination.pipeline.innermost_chunk_shape());
        let bytes = element_bytes(&plan.source).saturating_mul(elements);
        let size = SampleSize::Always((SAMPLE_BYTES / bytes.max(1)).clamp(1, SAMPLE_CHUNKS));
        let sample = self.draw(&SampleSpec::new(plan, options), size)?;
        let resolved = plan.changed.quantization.as_ref().filter(|quantization| !quantization.is_open);
        let trying = Attempt { sampler: *self, sample: &sample, options, resolved };
        let DestinationMetadata { draft, metadata, pipeline } = &plan.destination;
        // Zarr v2 cannot express the transpositions that most dimensions need.
        let predicts = search.predicts && draft.zarr_format == 3;
        let among = if predicts { dimensions_of(metadata, lengths(pipeline)) } else { Vec::new() };
        let mut predictions = trying.predictions(search, &among)?;
        let Some(goal) = search.goal else {
            options.predict = predictions.pop().filter(|found| !found.is_empty()).map(Predict::Dimensions);
            return Ok(None);
        };
        let (chains, mut tried, mut times) = (chains(goal), Vec::new(), None);
        // zarr-python cannot read other types, such as complex numbers, from pcodec.
        let are_numbers = plan.destination.pipeline.input.data_type.number().is_some();
        for predict in &predictions {
            for words in chains.iter().filter(|words| are_numbers || **words != draft::PCODEC) {
                let (bytes, reason) = match trying.trial(Some(words), predict) {
                    Ok(trial) => {
                        // One ratio for all, so that they compare like their sizes in the sample.
                        let times = *times.get_or_insert(trial.bytes / trial.found.max(1.0));
                        (Some(whole_bytes(trial.found * times)), None)
                    }
                    Err(error) if is_unfit(&error, Some(words)) => (None, Some(error.in_one_line())),
                    Err(error) => return Err(error),
                };
                let codecs = chain(words).iter().map(CodecMetadata::to_json).collect();
                let compress = (*words).to_owned();
                tried.push(TriedResult { compress, predict: predict.clone(), codecs, bytes_stored: bytes, reason });
            }
        }
        let least = tried.iter().filter_map(|one| one.bytes_stored).min().unwrap_or(0);
        let most = approximate(least) * AS_GOOD;
        let is_as_good = |one: &&TriedResult| one.bytes_stored.is_some_and(|bytes| approximate(bytes) <= most);
        // The smallest of one chain: the additional time for differences is negligible.
        let rank = |one: &&TriedResult| chains.iter().position(|words| *words == one.compress);
        let best = tried.iter().filter(is_as_good).min_by_key(|one| (rank(one), one.bytes_stored));
        let chosen = best.map(|best| best.compress.clone());
        if let Some(best) = best {
            options.compress = Some(Compression::Codecs(chain(&best.compress)));
            let predict = Some(best.predict.clone()).filter(|predict| !predict.is_empty());
            options.predict = if search.predicts { predict.map(Predict::Dimensions) } else { options.predict.take() };
        }
        Ok(Some(CompressionResult { goal: goal.name().to_owned(), chosen, tried, sample: Some(sample.result()) }))
    }
}

/// Returns whether a chain failed because its codec does not support these elements.
fn is_unfit(error: &OperationError, words: Option<&str>) -> bool {
    error.class() == FaultClass::Data && words == Some(draft::PCODEC)
}

/// Returns the names of the dimensions along which chunks have several elements, or their numbers.
fn dimensions_of(metadata: &ArrayMetadata, chunk: Vec<u64>) -> Vec<String> {
    let names = metadata.dimension_names.as_deref().unwrap_or_default();
    let word = |(dimension, length): (usize, u64)| {
        let name = names.get(dimension).and_then(Option::as_ref).filter(|name| !name.contains(','));
        let is_known = |name: &&String| names.iter().flatten().filter(|other| other == name).count() == 1;
        (length > 1).then(|| name.filter(is_known).cloned().unwrap_or_else(|| dimension.to_string()))
    };
    chunk.into_iter().enumerate().filter_map(word).collect()
}
