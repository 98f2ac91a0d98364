//! The representation of a chunk after each codec of a chain, from the metadata alone.
//!
//! Building continues after a fault, so that `inspect` and `validate` can show the rest. Every fault is a diagnostic.
//! No codec runs on data here. Only fill values pass through the kernels.

use std::sync::Arc;

use crate::codec::kinds::members::{ConfigurationReader, Member, MemberDefault, MemberType, shown, wrong};
pub use crate::codec::kinds::{ArrayRepresentation, BytesSize, Representation};
use crate::codec::kinds::{BytesCodec, Coder, Effect, Kind, Made};
use crate::codec::registry::{self, Entry, Other, OtherCodec};
pub use crate::codec::registry::{CodecKind, codec_kind};
use crate::data_type::DataType;
use crate::diagnostic::{Diagnostic, Profile, code, spelling};
use crate::element::{ElementType, NumberType};
use crate::grid::MAX_RANK;
use crate::metadata::extension::{CodecMetadata, Findings, read_codecs};
use crate::metadata::json::Json;

/// A codec, bound to its input chunk. `S` contains the chains inside a shard.
#[derive(Debug, Clone)]
pub enum Codec<S> {
    /// A codec whose input is an array.
    Array(Arc<dyn Coder>),
    /// `sharding_indexed`.
    Sharding(S),
    /// A bytes->bytes codec.
    BytesToBytes(BytesCodec),
    /// Any other codec, which does not run. Its configuration and its encoded chunks are copied unchanged.
    Other,
}

/// The configuration of a codec, bound to its input chunk.
pub type BoundConfiguration = Codec<ShardingStage>;

/// A codec's configuration and the chunk after it, which is `None` after a fault.
type Bound = (BoundConfiguration, Option<Representation>);

impl<S> Codec<S> {
    /// Returns the effect on the elements of a chunk, as far as other code uses it.
    pub fn effect(&self) -> Effect<'_> {
        if let Codec::Array(codec) = self { codec.effect() } else { Effect::Other }
    }
}

/// The chains inside a shard.
#[derive(Debug, Clone)]
pub struct ShardingStage {
    /// Returns the chain of an inner chunk.
    pub inner: Pipeline,
    /// The chain of the index.
    pub index: Pipeline,
    /// The location of the index in the shard.
    pub index_location: IndexLocation,
}

/// A codec in the chain, and the representation of the chunk after it.
#[derive(Debug, Clone)]
pub struct Stage {
    /// The metadata as in the document.
    pub metadata: CodecMetadata,
    /// The kinds of its input and output. `None` for an unknown codec.
    pub kind: Option<CodecKind>,
    /// Its configuration. `Other` also if it is faulty.
    pub configuration: BoundConfiguration,
    /// The chunk after it. `None` after a fault.
    pub output: Option<Representation>,
}

/// A codec chain with the representation of a chunk after each codec.
#[derive(Debug, Clone)]
pub struct Pipeline {
    /// Returns the representation of the chunk as an array.
    pub input: ArrayRepresentation,
    /// Returns the codecs, in encode order.
    pub stages: Vec<Stage>,
}

/// The end that a chain must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completeness {
    /// It ends in bytes, as an array's chain must.
    ToBytes,
    /// It may end with array->array codecs.
    Partial,
}

impl Pipeline {
    /// Follows a chunk through `codecs`. Faults are added to `diagnostics`, and `pointer` is that of the list. An
    /// unknown codec that need not be understood is skipped with a warning (Zarr v3 core, "extension definition").
    pub fn build(
        input: ArrayRepresentation,
        codecs: &[CodecMetadata],
        completeness: Completeness,
        pointer: &str,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Pipeline {
        let (passed_over, codecs): (Vec<_>, Vec<_>) =
            codecs.iter().map(KnownCodec::new).partition(|known| !known.codec.must_understand && known.kind.is_none());
        for known in passed_over {
            report_passed_over(known.codec, diagnostics);
        }
        check_order(&codecs, completeness, pointer, diagnostics);
        let mut before = Some(Representation::Array(input.clone()));
        let mut stages = Vec::with_capacity(codecs.len());
        for known in codecs {
            let (configuration, output) = bind(&known, before.as_ref(), diagnostics);
            before.clone_from(&output);
            stages.push(Stage { metadata: known.codec.clone(), kind: known.kind, configuration, output });
        }
        Pipeline { input, stages }
    }

    /// Returns the metadata of the codecs.
    pub fn codecs(&self) -> Vec<CodecMetadata> {
        self.stages.iter().map(|stage| stage.metadata.clone()).collect()
    }

    /// Returns the array that codec `index` encodes. `None` if it is none, or after a fault.
    pub fn array_at(&self, index: usize) -> Option<&ArrayRepresentation> {
        self.stages[..index].last().map_or(Some(&self.input), |stage| stage.output.as_ref()?.array())
    }

    /// Follows a chunk of another shape through the same codecs. Faults are added to `diagnostics`.
    #[must_use]
    pub fn for_shape(&self, shape: &[u64], diagnostics: &mut Vec<Diagnostic>) -> Pipeline {
        let input = ArrayRepresentation { shape: shape.to_vec(), ..self.input.clone() };
        Pipeline::build(input, &self.codecs(), Completeness::Partial, "/codecs", diagnostics)
    }

    /// Returns the chunk after the last codec. `None` after a fault.
    pub fn output(&self) -> Option<Representation> {
        let input = || Some(Representation::Array(self.input.clone()));
        self.stages.last().map_or_else(input, |stage| stage.output.clone())
    }

    /// Returns true if a codec stores a checksum of each chunk, or of the inner chunks. A checksum of only a shard's
    /// index does not count. Nor does an unknown codec, which may store one.
    pub fn has_checksum(&self) -> bool {
        self.stages.iter().any(|stage| match &stage.configuration {
            BoundConfiguration::Sharding(sharding) => sharding.inner.has_checksum(),
            _ => registry::find(&stage.metadata.name)
                .and_then(|entry| entry.codec)
                .is_some_and(|kind| (kind.stores_checksum)(stage.metadata.configuration.as_ref())),
        })
    }

    /// Returns the `sharding_indexed` stage and its index in the chain, if there is one.
    pub fn sharding(&self) -> Option<(usize, &ShardingStage)> {
        self.stages.iter().enumerate().find_map(|(index, stage)| match &stage.configuration {
            BoundConfiguration::Sharding(sharding) => Some((index, sharding)),
            _ => None,
        })
    }

    /// Returns the bytes of a shard's index. `None` if its size is not fixed, or if a later codec compresses whole
    /// shards.
    pub fn shard_index_bytes(&self) -> Option<u64> {
        let (index, sharding) = self.sharding()?;
        let Some(Representation::Bytes(BytesSize::Fixed(bytes))) = sharding.index.output() else { return None };
        (index + 1 == self.stages.len()).then_some(bytes)
    }

    /// Returns the shape of the innermost chunk, in the dimensions of the input array.
    ///
    /// The shape is permuted back through the transposes before each `sharding_indexed`. After a codec that changes the
    /// shape otherwise, inner chunks are no boxes of the array. Then it is the shape of the input.
    pub fn innermost_chunk_shape(&self) -> Vec<u64> {
        let Some((index, sharding)) = self.sharding() else { return self.input.shape.clone() };
        let before = &self.stages[..index];
        if before.iter().any(|stage| matches!(stage.configuration.effect(), Effect::Reshape | Effect::Packs)) {
            return self.input.shape.clone();
        }
        before.iter().rev().fold(sharding.inner.innermost_chunk_shape(), |shape, stage| {
            stage.configuration.effect().order_before(shape)
        })
    }
}

/// Checks the order: zero or more array->array codecs, exactly one array->bytes, zero or more bytes->bytes (Zarr v3
/// core, "codecs").
fn check_order(
    codecs: &[KnownCodec<'_>],
    completeness: Completeness,
    pointer: &str,
    diagnostics: &mut Vec<Diagnostic>,
) {
    // The input and output of an unknown codec are unknown. It is reported separately.
    let Some(kinds) = codecs.iter().map(|known| known.kind).collect::<Option<Vec<_>>>() else { return };
    let mut is_bytes = false;
    for (KnownCodec { codec, .. }, kind) in codecs.iter().zip(kinds) {
        if (kind == CodecKind::BytesToBytes) != is_bytes {
            let (found, wanted) = if is_bytes { ("bytes", "an array") } else { ("an array", "bytes") };
            let message = format!("codec `{}` takes {wanted}, but its input is {found}", codec.name);
            let help = "order the codecs: array->array, then one array->bytes (`bytes`), then bytes->bytes";
            diagnostics.advise(code::CODEC_ORDER, codec.pointer.as_str(), message, help);
            return;
        }
        is_bytes = kind != CodecKind::ArrayToArray;
    }
    // An empty list was reported when it was read.
    if !is_bytes && completeness == Completeness::ToBytes && !codecs.is_empty() {
        let help = "add an array->bytes codec: {\"name\": \"bytes\", \"configuration\": {\"endian\": \"little\"}}";
        diagnostics.advise(code::CODEC_ORDER, pointer, "no codec turns the array into bytes", help);
    }
}

/// A codec and the program that runs it: this one by its row of the registry, or zarrs.
#[derive(Debug)]
struct KnownCodec<'a> {
    codec: &'a CodecMetadata,
    entry: Option<Entry>,
    /// The codec of another program, if this one does not have it.
    other: Option<Other>,
    /// The kinds of its input and output. `None` for an unknown codec.
    kind: Option<CodecKind>,
}

impl<'a> KnownCodec<'a> {
    fn new(codec: &'a CodecMetadata) -> Self {
        let entry = registry::of(codec);
        // A codec with a reason is refused on purpose, so zarrs does not run it either.
        let is_lacking = entry.is_none_or(|entry| !entry.is_decoded && entry.reason.is_none());
        let other = if is_lacking { registry::other(codec) } else { None };
        let by_other = || Some(other.as_ref()?.as_ref().ok()?.kind());
        let kind = entry.map(|entry| entry.kind).or_else(by_other);
        KnownCodec { codec, entry, other, kind }
    }
}

/// Returns a codec's configuration and the chunk after it, which is `None` after a fault.
fn bind(known: &KnownCodec<'_>, before: Option<&Representation>, found: &mut Vec<Diagnostic>) -> Bound {
    let KnownCodec { codec, entry, .. } = *known;
    report_name(known, found);
    if let Some(Ok(other)) = &known.other {
        return bind_other(codec, &**other, before, found);
    }
    let Some(Entry { kind, codec: own, .. }) = entry else { return (BoundConfiguration::Other, None) };
    if kind == CodecKind::BytesToBytes {
        return bind_bytes(codec, own, before, found);
    }
    let array = before.and_then(Representation::array);
    let (configuration, output) = match own {
        // It contains chains of codecs, which only a pipeline can follow.
        _ if codec.name == "sharding_indexed" => {
            let stage = bind_sharding(codec, array, found);
            let size = stage.as_ref().map(shard_size).map(Representation::Bytes);
            (stage.map_or(BoundConfiguration::Other, BoundConfiguration::Sharding), size)
        }
        Some(own) => of_array(own.bind(codec, array, found)),
        None => (BoundConfiguration::Other, None),
    };
    match before {
        Some(Representation::Bytes(_)) => (BoundConfiguration::Other, None),
        None | Some(Representation::Array(_)) => (configuration, output.or_else(|| bytes_of(kind))),
    }
}

fn of_array(Made { codec, output }: Made) -> Bound {
    (codec.map_or(BoundConfiguration::Other, BoundConfiguration::Array), output)
}

fn bind_bytes(
    codec: &CodecMetadata,
    kind: Option<&'static Kind>,
    before: Option<&Representation>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Bound {
    let reported = diagnostics.len();
    let parsed = kind.and_then(|kind| BytesCodec::parse(kind, codec, diagnostics));
    let is_faulty = diagnostics[reported..].iter().any(|found| Profile::Read.forbids(found));
    let size = match before {
        Some(Representation::Bytes(size)) => Some(*size),
        // After a fault the rest of the chain is still followed, as bytes of unknown size.
        None => Some(BytesSize::Unbounded),
        Some(Representation::Array(_)) => None,
    };
    let by_kind = |size| kind.map_or(BytesSize::Unbounded, |kind| kind.size.of(size));
    let size = size.map(|size| parsed.as_ref().map_or_else(|| by_kind(size), |parsed| parsed.encoded_size(size)));
    let configuration =
        parsed.filter(|_| !is_faulty).map_or(BoundConfiguration::Other, BoundConfiguration::BytesToBytes);
    (configuration, size.map(Representation::Bytes))
}

/// Binds a codec that zarrs runs.
fn bind_other(
    codec: &CodecMetadata,
    other: &dyn OtherCodec,
    before: Option<&Representation>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Bound {
    static KIND: Kind = Kind::new(|_| &[], |_| None);
    let kind = other.kind();
    let is_of_bytes = kind == CodecKind::BytesToBytes;
    let Some(before) = before.filter(|before| before.array().is_none() == is_of_bytes) else {
        return (BoundConfiguration::Other, bytes_of(kind));
    };
    match other.bind(before) {
        Ok(Made { codec: Some(coder), output }) if is_of_bytes => {
            (BoundConfiguration::BytesToBytes(BytesCodec::with_kind(codec, &KIND, coder)), output)
        }
        Ok(bound) => of_array(bound),
        Err(reason) => {
            let name = Json::from(codec.name.as_str()).excerpt();
            let message = format!("zarrs refuses the codec {name} here: {reason}");
            diagnostics.add(code::CODEC_UNSUPPORTED, codec.pointer.as_str(), message);
            (BoundConfiguration::Other, bytes_of(kind))
        }
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
    // The codecs inside report only their configurations.
    if codec.name == "conditional" {
        let pointer = format!("{}/configuration/codecs", codec.pointer);
        let inner = codec.member("codecs").and_then(|inner| read_codecs(inner, &pointer, &mut Vec::new()));
        inner.iter().flatten().for_each(|codec| report_name(&KnownCodec::new(codec), diagnostics));
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
fn report_passed_over(codec: &CodecMetadata, diagnostics: &mut Vec<Diagnostic>) {
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

#[cfg(test)]
mod tests;

// `sharding_indexed`: inner chunks in one shard, and their index.
//
// Specification: <https://zarr-specs.readthedocs.io/en/latest/v3/codecs/sharding-indexed/>

/// The location of the index in a shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum IndexLocation {
    /// Before the inner chunks.
    Start,
    /// After the inner chunks.
    #[default]
    End,
}

const SHARDING_MEMBERS: &[Member] = &[
    Member::required("chunk_shape", MemberType::Any),
    Member::required("codecs", MemberType::Any),
    Member::required("index_codecs", MemberType::Any),
    Member::new("index_location", MemberType::Choice(&["start", "end"]), MemberDefault::Text("end")),
];

/// Reads the configuration, and the chains inside if the input is an array. `None` after a fault.
fn bind_sharding(
    codec: &CodecMetadata,
    array: Option<&ArrayRepresentation>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<ShardingStage> {
    let mut members = ConfigurationReader::of_codec(codec, SHARDING_MEMBERS);
    let chunk_shape = members.get("chunk_shape").and_then(|json| chunk_shape(&mut members, json));
    let [codecs, index_codecs] = ["codecs", "index_codecs"].map(|name| {
        let pointer = members.pointer_to(name);
        read_codecs(members.get(name)?, &pointer, &mut members.diagnostics)
    });
    let is_first = members.text_value("index_location") == "start";
    let index_location = if is_first { IndexLocation::Start } else { IndexLocation::End };
    let pointer_to = |name: &str| members.pointer_to(name);
    let [shape_pointer, inner_pointer, index_pointer] = ["chunk_shape", "codecs", "index_codecs"].map(pointer_to);
    diagnostics.append(&mut members.diagnostics);
    let (chunk_shape, codecs, index_codecs) = (chunk_shape?, codecs?, index_codecs?);
    let array = array.filter(|_| members.is_valid)?;
    let grid_shape = grid_shape(&array.shape, &chunk_shape).map_err(|message| {
        diagnostics.add(code::SHARDING_SHAPE, shape_pointer, message);
    });
    let mut index_shape = grid_shape.ok()?;
    // The last dimension contains the offset and the length of an inner chunk.
    index_shape.push(2);
    let inner = ArrayRepresentation { shape: chunk_shape, ..array.clone() };
    let inner = Pipeline::build(inner, &codecs, Completeness::ToBytes, &inner_pointer, diagnostics);
    let data_type = DataType::Number(NumberType::of(ElementType::UInt64));
    let index = ArrayRepresentation { data_type, shape: index_shape, fill_value: None };
    let index = Pipeline::build(index, &index_codecs, Completeness::ToBytes, &index_pointer, diagnostics);
    if !matches!(index.output(), None | Some(Representation::Bytes(BytesSize::Fixed(_)))) {
        let message = format!("the index codecs of `{}` do not give a fixed size", codec.name);
        let help = "use [{\"name\": \"bytes\", \"configuration\": {\"endian\": \"little\"}}, {\"name\": \"crc32c\"}]";
        diagnostics.advise(code::SHARDING_INDEX_CODECS, index_pointer, message, help);
    }
    Some(ShardingStage { inner, index, index_location })
}

/// Returns the number of inner chunks in each dimension of a shard. The error is the reason why there is none.
fn grid_shape(shard: &[u64], inner: &[u64]) -> Result<Vec<u64>, String> {
    let (rank, expected) = (inner.len(), shard.len());
    if rank != expected {
        return Err(format!("the inner chunk shape {inner:?} has {rank} dimensions, but the shard has {expected}"));
    }
    if shard.iter().zip(inner).any(|(extent, inner)| extent % inner != 0) {
        return Err(format!("the inner chunk shape {inner:?} does not divide the shape {shard:?} of the shard"));
    }
    Ok(shard.iter().zip(inner).map(|(extent, inner)| extent / inner).collect())
}

fn chunk_shape(members: &mut ConfigurationReader<'_>, json: &Json) -> Option<Vec<u64>> {
    let Some(entries) = json.as_array() else {
        return members.unexpected(code::CONFIGURATION_TYPE, "chunk_shape", "an array of positive integers", json);
    };
    if entries.len() > MAX_RANK {
        let message =
            format!("the inner chunk shape has {} dimensions; at most {MAX_RANK} are supported", entries.len());
        return members.refuse(code::SHARDING_SHAPE, "chunk_shape", message);
    }
    let mut shape = Vec::with_capacity(entries.len());
    for (dimension, entry) in entries.iter().enumerate() {
        if let Some(extent) = entry.as_u64().filter(|&extent| extent > 0) {
            shape.push(extent);
            continue;
        }
        let message = format!(
            "`chunk_shape` of `sharding_indexed` in dimension {dimension}: expected a positive integer, found {}",
            shown(entry)
        );
        members.report_entry(wrong(entry.as_number().is_some()), "chunk_shape", dimension, message);
    }
    (shape.len() == entries.len()).then_some(shape)
}

/// Returns the most bytes of a shard: all inner chunks and the index.
fn shard_size(ShardingStage { inner, index, .. }: &ShardingStage) -> BytesSize {
    let bound = |pipeline: &Pipeline| match pipeline.output() {
        Some(Representation::Bytes(size)) => size.bound(),
        _ => None,
    };
    // The index array has two entries for each inner chunk.
    let count = index.input.num_elements().map(|entries| entries / 2);
    let total = count.zip(bound(inner)).and_then(|(count, bytes)| count.checked_mul(bytes));
    let total = total.zip(bound(index)).and_then(|(chunks, index)| chunks.checked_add(index));
    BytesSize::at_most(total)
}
