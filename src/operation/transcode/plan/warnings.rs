//! Warnings about codecs that do not decode the numbers that they encode, if chunks are encoded again (SEMANTICS: D15),
//! and about types that few programs read (SEMANTICS: B23).

use crate::codec::{BoundChain, BoundCodec, Effect, conversion};
use crate::data_type::DataType;
use crate::diagnostic::{Diagnostic, code};
use crate::element::{ElementType, NumberType};
use crate::engine::{ObjectJob, Route};
use crate::operation::quantize::request::is_packed;
use crate::operation::{Draft, OpenedArray, draft};
use crate::pipeline::{Pipeline, Stage};

/// Returns the number of codecs of DEST's chain that have encoded SOURCE's values before, and do not encode them again.
pub(crate) fn kept(job: &ObjectJob) -> usize {
    match &job.route {
        // Cut chunks are encoded again, by all codecs but those that have rounded the values already.
        Route::Move(conversion) if !job.transfer.source.metadata.is_cut() => conversion.kept(),
        Route::Move(conversion) => conversion.num_rounded(),
        Route::Rechunk(rechunk) => rechunk.encoder.conversion.num_rounded(),
        Route::Staged(staged) => staged.second.encoder.conversion.num_rounded(),
        Route::VariableSize(_) => 0,
    }
}

/// Returns the first codec that encodes elements for DEST, and can change a number that it has rounded before: `delta`
/// of floats, a compressor that rounds, or a filter that calculates in float16. Codecs that have encoded the chunks
/// before, and do not encode them again, change nothing.
pub(crate) fn of(job: &ObjectJob) -> Option<&BoundCodec> {
    let (chain, kept) = (job.transfer.destination.subchunk_chain(), kept(job));
    let mut codecs = chain.codecs().iter().skip(kept);
    let is_filter = |codec: &&BoundCodec| matches!(codec.codec.effect(), Effect::Filter { .. });
    let rounding = codecs.clone().find(|codec| conversion::rounds(codec));
    rounding.or_else(|| codecs.find(is_filter).filter(|_| drifts(chain, kept)))
}

/// Returns whether a chain of float16 changes a number that it has rounded before. Filters of wider floats do so only
/// for codes beyond 2^24.
fn drifts(chain: &BoundChain, kept: usize) -> bool {
    if chain.decoded().data_type.real_number() != Some(NumberType::of(ElementType::Float16)) {
        return false;
    }
    let program = conversion::round_trip(chain, kept);
    (0..=u16::MAX).any(|bits| {
        let once = program.run_alone(&bits.to_ne_bytes());
        once.is_some_and(|once| program.run_alone(&once).is_some_and(|again| again != once))
    })
}

/// Returns whether absent elements are stored, alone or in chunks of another grid, and numcodecs filters change their
/// value.
pub(crate) fn loses_fill_value(job: &ObjectJob) -> bool {
    let is_other_grid = matches!(job.route, Route::Rechunk(_) | Route::Staged(_));
    let (source, chain) = (&job.transfer.source, job.transfer.destination.subchunk_chain());
    let has_filter =
        chain.codecs().iter().any(|codec| matches!(codec.codec.effect(), Effect::Filter { .. } | Effect::BitRound(_)));
    let lacks_chunks = || source.objects().len() < source.metadata.num_chunks();
    let fill = chain.decoded().fill_value.as_ref().filter(|_| is_other_grid).map(|fill| &fill.0);
    let absent = job.transfer.absent_element.as_ref().or(fill).filter(|_| has_filter && lacks_chunks());
    // Chunks of the same grid that are absent are encoded by all codecs.
    let kept = if is_other_grid { kept(job) } else { 0 };
    absent.is_some_and(|absent| conversion::round_trip(chain, kept).run_alone(absent).as_ref() != Some(absent))
}

/// Returns the warning about losses by encoding again.
pub(crate) fn warning(job: &ObjectJob) -> Option<Diagnostic> {
    if loses_fill_value(job) {
        let message =
            "missing elements are written, and the filters of the chain change their value: they get another one";
        let help = "`--codecs` with a chain without these filters keeps every value; so does a change that leaves the chunks as they are";
        return Some(Diagnostic::new(code::BITROUND_FILL_VALUE_LOST, message).with_help(help));
    }
    let codec = of(job)?;
    if let Some(loss) = codec.codec.max_loss() {
        let most = if loss.is_finite() { format!(" by up to {loss}") } else { String::new() };
        let message = format!(
            "chunks are encoded again by `{}`, which rounds: values can change{most}, and values near a NaN or an \
                infinite element can be lost",
            codec.metadata.name
        );
        let help =
            "the mode `reversible`, or another codec, keeps every value; `--verify` tells by how much they change";
        return Some(Diagnostic::new(code::ZFP_LOSSY, message).with_help(help));
    }
    let reason = match codec.codec.effect() {
        Effect::Filter { .. } => "in float16: values that it has rounded before can change",
        _ => {
            "of floats: its sums can differ from SOURCE's values in the last digits, and values after a NaN or an \
                infinite element in the chunk are lost"
        }
    };
    let message = format!("chunks are encoded again by `{}` {reason}", codec.metadata.name);
    let help =
        "`--codecs` with a chain without it keeps every value; so does a change that leaves the chunks as they are";
    Some(Diagnostic::new(code::DELTA_LOSSY, message).with_help(help))
}

/// Returns a warning about the first such type, if the source does not have it anywhere in its chain.
pub(crate) fn rare_type_warning(source: &Pipeline, destination: &Pipeline) -> Option<Diagnostic> {
    let is_rare = |one: &DataType| one.is_small_float() || (one.is_sub_byte() && one.is_registered());
    let is_known = |data_type: &DataType| types(source).any(|known| known == data_type);
    let new = types(destination).find(|data_type| is_rare(data_type) && !is_known(data_type))?;
    let message =
        format!("{new} is written: zarr-python cannot open the array, nor a consolidated group that contains it");
    let help = "zarrs reads it, and tensorstore reads some of these types as an array's own; float16 and uint8 are \
        read everywhere";
    Some(Diagnostic::new(code::DATA_TYPE_SUB_BYTE, message).with_help(help))
}

/// Returns a warning if raw bytes of v2 get the name of the core specification in v3 (SEMANTICS: A6).
pub(crate) fn raw_warning(source: &OpenedArray, draft: &Draft) -> Option<Diagnostic> {
    let DataType::Raw(size) = &draft.data_type else { return None };
    if source.documents.zarr_format == draft.zarr_format || draft.zarr_format != 3 {
        return None;
    }
    let message =
        format!("{} is written, as the core specification has it, which no zarr-python reads", draft.data_type);
    let help = format!(
        "for zarr-python: `--data-type '{{\"name\":\"raw_bytes\",\"configuration\":{{\"length_bytes\":{size}}}}}'`"
    );
    Some(Diagnostic::new(code::DATA_TYPE_UNREAD, message).with_help(help))
}

/// Returns a warning if `scale_offset` and `cast_value` replace `fixedscaleoffset` (SEMANTICS: A1.10).
pub(crate) fn rescaled_warning(source: &OpenedArray, draft: &Draft) -> Option<Diagnostic> {
    let is_scaled = |codecs| draft::has_codec(codecs, draft::FIXED_SCALE_OFFSET);
    if !is_scaled(&source.metadata.codecs) || is_scaled(&draft.codecs) || !is_packed(&draft.codecs) {
        return None;
    }
    let message = "values of `numcodecs.fixedscaleoffset` are encoded again by `scale_offset` and `cast_value`: they \
        are not bit-identical";
    let help = "`--verify` tells by how much they change; a chain that keeps the filter changes none";
    Some(Diagnostic::new(code::CAST_VALUE_LOSSY, message).with_help(help))
}

/// Returns a warning if a quantised array gets shards, and its chain cannot encode 0 (SEMANTICS: D19).
pub(crate) fn shards_warning(source: &OpenedArray, draft: &Draft) -> Option<Diagnostic> {
    let is_new = source.pipeline.sharding().is_none() && is_packed(&draft.codecs);
    let (_, pipeline, _) = draft::build(draft).ok().filter(|_| is_new)?;
    pipeline.sharding()?;
    let mut value = 0;
    let refuses = |stage: &Stage| match stage.configuration.effect() {
        Effect::ScaleOffset(codec) => codec.encode_one(value).map(|scaled| value = scaled).is_err(),
        Effect::Cast { encode, .. } => encode.convert_one(value).map(|code| value = code).is_err(),
        _ => false,
    };
    draft::innermost(&pipeline).stages.iter().any(refuses).then(|| {
        let message = "the chain cannot encode 0: zarr-python 3.4.1 and 3.4.2 do not open the array in shards";
        let help =
            "leave the shards out; or quantise the original values with `--shard-shape`, which adds a workaround";
        Diagnostic::new(code::QUANTIZE_READERS, message).with_help(help)
    })
}

/// Returns the types of a chunk before and after each codec, also inside shards.
fn types(pipeline: &Pipeline) -> impl Iterator<Item = &DataType> {
    draft::chains(pipeline).flat_map(|chain| {
        let encoded = chain.stages.iter().filter_map(|stage| stage.output.as_ref()?.array());
        [&chain.input].into_iter().chain(encoded).map(|array| &array.data_type)
    })
}
