//! DEST's metadata proved: read as any reader would, and held to the rules for writing.

use super::{change, normalize};
use crate::diagnostic::{Code, Diagnostic, Profile, code};
use crate::metadata::array::ArrayMetadata;
use crate::operation::draft::{Draft, Planned, build};
use crate::operation::error::OperationError;
use crate::operation::open::{OpenedArray, refusal};
use crate::operation::options::ChangeOptions;
use crate::pipeline::Pipeline;

/// What is said of names, which are others in v2.
const ABOUT_NAMES: [Code; 5] = [
    code::CODEC_MISNAMED,
    code::CODEC_UNREGISTERED,
    code::DATA_TYPE_MISNAMED,
    code::DATA_TYPE_UNREGISTERED,
    code::DATA_TYPE_UNSUPPORTED,
];

/// Proves the draft: the document, the chain, the fill value through it. While the range of the codes `is_open`, nobody can
/// tell whether the fill value survives.
pub(super) fn check(
    options: &ChangeOptions,
    is_open: bool,
    draft: &mut Draft,
    source: &OpenedArray,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Planned, OperationError> {
    let store = &source.store;
    if draft.is_as_read(source) {
        return Ok(Planned {
            zarr_format: draft.zarr_format,
            document: draft.document.clone(),
            metadata: source.metadata.by_itself(),
            pipeline: source.pipeline.clone(),
        });
    }
    let (metadata, pipeline, mut found) = build(draft, store)?;
    if is_open {
        found.retain(|found| !is_of_fill(found));
    }
    let profile = match (options.no_fill_check, draft.new_chain) {
        (true, _) => Profile::WriteAnyFillValue,
        (false, true) => Profile::Write,
        // What the chain does to the fill value, it has done in SOURCE.
        (false, false) => Profile::Read,
    };
    let (mut errors, mut accepted): (Vec<_>, Vec<_>) =
        profile.judged(found).into_iter().partition(Diagnostic::is_error);
    let about_names = |found: &Diagnostic| ABOUT_NAMES.iter().any(|code| found.is(*code));
    if draft.zarr_format == 2 {
        // Its own names are others.
        accepted.retain(|found| !about_names(found));
        errors.retain(|found| !about_names(found));
    }
    if !errors.is_empty() {
        return Err(refusal(&culprit(options, &errors, &source.store), &errors));
    }
    if draft.zarr_format == 3 && source.zarr_format == 2 {
        warnings.extend(accepted.iter().filter(|found| about_names(found)).cloned());
    }
    if !draft.new_chain {
        let (metadata, pipeline) = match explicit(draft, &pipeline, options, store)? {
            Some(built) => built,
            None => (metadata, pipeline),
        };
        let document = draft.document.clone();
        return Ok(Planned { zarr_format: draft.zarr_format, document, metadata, pipeline });
    }
    if !options.allow_lossy_cast {
        change::refuse_lossy_casts(&pipeline)?;
    }
    let known: Vec<String> = warnings.iter().map(|known| known.message.clone()).collect();
    warnings.extend(accepted.into_iter().filter(|found| !known.contains(&found.message)));
    // Written anew, the chain says what it means: permutations, byte orders, numbers in their own form.
    let codecs = normalize::codecs(&pipeline);
    draft.set_codecs(codecs);
    let (metadata, pipeline, _) = build(draft, store)?;
    Ok(Planned { zarr_format: draft.zarr_format, document: draft.document.clone(), metadata, pipeline })
}

/// Of a chain whose codecs stay, while the grid becomes another: byte orders, permutations and the like said as a chain
/// is written that is new (SEMANTICS: D17). `None` where it says them already.
fn explicit(
    draft: &mut Draft,
    pipeline: &Pipeline,
    options: &ChangeOptions,
    store: &str,
) -> Result<Option<(ArrayMetadata, Pipeline)>, OperationError> {
    let has_new_grid = options.chunk_shape.is_some() || options.shard_shape.is_some();
    if draft.zarr_format == 2 || !has_new_grid {
        return Ok(None);
    }
    let codecs = normalize::codecs(pipeline);
    if codecs == draft.codecs {
        return Ok(None);
    }
    draft.keep_codecs(codecs);
    let (metadata, pipeline, _) = build(draft, store)?;
    Ok(Some((metadata, pipeline)))
}

fn is_of_fill(found: &Diagnostic) -> bool {
    found.is(code::SCALE_OFFSET_FILL_VALUE_LOST) || found.is(code::CAST_VALUE_FILL_VALUE_LOST)
}

/// What is said of errors in what would be written: the option that brought them in, where one did.
fn culprit(options: &ChangeOptions, errors: &[Diagnostic], store: &str) -> String {
    let at = |part: &str| {
        let is_there = |error: &Diagnostic| {
            error.location.pointer.as_deref().is_some_and(|pointer| pointer.starts_with(part))
        };
        errors.iter().any(is_there)
    };
    let is_of_fill = at("/fill_value") || errors.iter().all(is_of_fill);
    let is_of_chain = at("/codecs");
    let candidates = [
        ("--fill-value", options.fill_value.is_some() && is_of_fill),
        ("--codecs", options.codecs.is_some() && is_of_chain),
        ("--compress", options.compress.is_some() && is_of_chain),
        ("--shard-shape", options.shard_shape.is_some()),
        ("--chunk-shape", options.chunk_shape.is_some()),
        ("--data-type", options.data_type.is_some()),
        ("--zarr-format", options.zarr_format.is_some()),
    ];
    match candidates.into_iter().find(|(_, is_at_fault)| *is_at_fault) {
        Some((option, _)) => format!("{option} does not fit `{store}`"),
        None => format!("the metadata of DEST, made from `{store}`, would be in error"),
    }
}
