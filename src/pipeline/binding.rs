//! One codec of a chain, bound to its input chunk.

use super::{Bound, BoundConfiguration, BytesSize, CodecKind, Representation, sharding_indexed};
use crate::codec::kinds::array::BoundArray;
use crate::codec::kinds::{BytesCodec, BytesKind};
use crate::codec::registry::{self, Entry, Other, OtherCodec};
use crate::diagnostic::{Diagnostic, Profile, code, spelling};
use crate::metadata::extension::CodecMetadata;
use crate::metadata::json::Json;

/// A codec and the program that runs it: this one by its row of the registry, or zarrs.
#[derive(Debug)]
pub(super) struct KnownCodec<'a> {
    pub(super) codec: &'a CodecMetadata,
    entry: Option<Entry>,
    /// The codec of another program, if this one does not have it.
    other: Option<Other>,
    /// The kinds of its input and output. `None` for an unknown codec.
    pub(super) kind: Option<CodecKind>,
}

impl<'a> KnownCodec<'a> {
    pub(super) fn new(codec: &'a CodecMetadata) -> Self {
        let entry = registry::of(codec);
        let is_lacking = entry.is_none_or(|entry| !entry.is_decoded && entry.reason.is_none());
        let other = if is_lacking { registry::other(codec) } else { None };
        let by_other = || Some(other.as_ref()?.as_ref().ok()?.kind());
        let kind = entry.map(|entry| entry.kind).or_else(by_other);
        KnownCodec { codec, entry, other, kind }
    }
}

/// Returns a codec's configuration and the chunk after it, which is `None` after a fault.
pub(super) fn bind(known: &KnownCodec<'_>, before: Option<&Representation>, found: &mut Vec<Diagnostic>) -> Bound {
    let KnownCodec { codec, entry, .. } = *known;
    report_name(known, found);
    if let Some(Ok(other)) = &known.other {
        return bind_other(codec, &**other, before, found);
    }
    let Some(Entry { kind, array: array_kind, bytes, .. }) = entry else { return (BoundConfiguration::Other, None) };
    if kind == CodecKind::BytesToBytes {
        return bind_bytes(codec, bytes, before, found);
    }
    let array = before.and_then(Representation::array);
    let (configuration, output) = match array_kind {
        // It contains chains of codecs, which only a pipeline can follow.
        _ if codec.name == "sharding_indexed" => {
            let stage = sharding_indexed::bind(codec, array, found);
            let size = stage.as_ref().map(sharding_indexed::shard_size).map(Representation::Bytes);
            (stage.map_or(BoundConfiguration::Other, BoundConfiguration::Sharding), size)
        }
        Some(array_kind) => of_array(array_kind.bind(codec, array, found)),
        None => (BoundConfiguration::Other, None),
    };
    match before {
        Some(Representation::Bytes(_)) => (BoundConfiguration::Other, None),
        None | Some(Representation::Array(_)) => (configuration, output.or_else(|| bytes_of(kind))),
    }
}

fn of_array(BoundArray { codec, output }: BoundArray) -> Bound {
    (codec.map_or(BoundConfiguration::Other, BoundConfiguration::Array), output)
}

fn bind_bytes(
    codec: &CodecMetadata,
    kind: Option<&'static BytesKind>,
    before: Option<&Representation>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Bound {
    let reported = diagnostics.len();
    let parsed = kind.and_then(|kind| BytesCodec::parse(kind, codec, registry::inner_kind, diagnostics));
    let is_faulty = diagnostics[reported..].iter().any(|found| Profile::Read.forbids(found));
    let size = match before {
        Some(Representation::Bytes(size)) => Some(*size),
        None => Some(BytesSize::Unbounded),
        Some(Representation::Array(_)) => None,
    };
    // A fault of a codec inside is reported for the chain.
    for codec in parsed.as_ref().map_or(&[][..], |parsed| parsed.transform.inner()) {
        bind(&KnownCodec::new(codec), Some(&Representation::Bytes(BytesSize::Unbounded)), diagnostics);
    }
    let by_kind = |size| kind.map_or(BytesSize::Unbounded, |kind| kind.size.of(size));
    let size = size.map(|size| parsed.as_ref().map_or_else(|| by_kind(size), |parsed| parsed.encoded_size(size)));
    let runs = parsed.filter(|parsed| !is_faulty && parsed.transform.refusal().is_none());
    let configuration = runs.map_or(BoundConfiguration::Other, BoundConfiguration::BytesToBytes);
    (configuration, size.map(Representation::Bytes))
}

/// Binds a codec that zarrs runs.
fn bind_other(
    codec: &CodecMetadata,
    other: &dyn OtherCodec,
    before: Option<&Representation>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Bound {
    match (other.kind(), before) {
        (CodecKind::BytesToBytes, Some(Representation::Bytes(size))) => {
            let bytes_codec = other.bytes_codec(codec);
            let encoded = Representation::Bytes(bytes_codec.encoded_size(*size));
            (BoundConfiguration::BytesToBytes(bytes_codec), Some(encoded))
        }
        (CodecKind::ArrayToArray | CodecKind::ArrayToBytes, Some(Representation::Array(array))) => {
            let refused = |reason: String| {
                let name = Json::from(codec.name.as_str()).excerpt();
                let message = format!("zarrs refuses the codec {name} here: {reason}");
                let found = Diagnostic::new(code::CODEC_UNSUPPORTED, message);
                diagnostics.push(found.at_pointer(codec.pointer.clone()));
                (BoundConfiguration::Other, bytes_of(other.kind()))
            };
            other.bind(array).map_or_else(refused, of_array)
        }
        (kind, _) => (BoundConfiguration::Other, bytes_of(kind)),
    }
}

/// Reports faults of the name, whatever the configuration.
fn report_name(known: &KnownCodec<'_>, diagnostics: &mut Vec<Diagnostic>) {
    let KnownCodec { codec, entry, other, .. } = known;
    let name = Json::from(codec.name.as_str()).excerpt();
    let by_other = matches!(other, Some(Ok(_)));
    let mut report = |found: Diagnostic| diagnostics.push(found.at_pointer(codec.pointer.clone()));
    // For an unlisted name not even the kind is known.
    if entry.is_none() && !by_other {
        report(unknown_name(&codec.name, &name));
    } else if entry.is_none_or(|entry| !entry.is_registered) {
        let runner = if by_other { "; zarrs runs it" } else { "" };
        let message = format!("no registry has the codec name {name}{runner}");
        let help = "not every reader can decode the array";
        report(Diagnostic::new(code::CODEC_UNREGISTERED, message).with_help(help));
    }
    if let Some(entry) = entry.filter(|entry| !entry.is_decoded && !by_other) {
        let refused = other.as_ref().and_then(|found| found.as_ref().err().map(String::as_str));
        let reason = entry.reason.or(refused).map_or_else(String::new, |reason| format!(": {reason}"));
        let message = format!("the codec {name} is not decoded by this program{reason}");
        let help = "the array can be copied, but its chunks are not decoded";
        report(Diagnostic::new(code::CODEC_UNSUPPORTED, message).with_help(help));
    }
    if !codec.must_understand {
        let message = format!("codec {name} says \"must_understand\": false: readers that do not know it ignore it");
        let help = "where decoding needs the codec, remove \"must_understand\"";
        report(Diagnostic::new(code::CODEC_PASSED_OVER, message).with_help(help));
    }
}

/// Returns the finding of a name that no list has. It is an error if the name is not valid, or similar to a known one.
fn unknown_name(name: &str, shown: &str) -> Diagnostic {
    let meant = registry::meant(name);
    let help = meant.map(|meant| format!("write {meant:?}, if you mean that"));
    let message = if !spelling::is_extension_name(name) {
        format!("{shown} cannot be the name of a codec: expected `^[a-z][a-z0-9-_.]+$` or a URI")
    } else if let Some(meant) = meant {
        format!("no registry has the codec name {shown}, which is similar to {meant:?}")
    } else {
        let message = format!("the codec {shown} is not known and in no registry");
        return Diagnostic::new(code::CODEC_UNKNOWN, message).with_help("not every reader can decode the array");
    };
    Diagnostic { help, ..Diagnostic::new(code::CODEC_MISNAMED, message) }
}

/// Reports that a codec is ignored because it need not be understood.
pub(super) fn report_passed_over(codec: &CodecMetadata, diagnostics: &mut Vec<Diagnostic>) {
    let name = Json::from(codec.name.as_str()).excerpt();
    let message = format!("the codec {name} is unknown and ignored, because it says \"must_understand\": false");
    let named = unknown_name(&codec.name, &name);
    let found = [Diagnostic::new(code::CODEC_PASSED_OVER, message)].into_iter();
    let found = found.chain(Some(named).filter(|named| named.is(code::CODEC_MISNAMED)));
    diagnostics.extend(found.map(|found| found.at_pointer(codec.pointer.clone())));
}

/// Returns bytes of any size for an array->bytes codec, the output even if the codec is faulty.
fn bytes_of(kind: CodecKind) -> Option<Representation> {
    (kind == CodecKind::ArrayToBytes).then_some(Representation::Bytes(BytesSize::Unbounded))
}
