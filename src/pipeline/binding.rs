//! One codec of a chain bound to the chunk that reaches it.

use super::configuration::{
    BitRoundConfiguration, BoundPackBits, BytesConfiguration, CodecConfiguration, Endian,
    N5DefaultConfiguration, PaddingEncoding, ShardingIndexedConfiguration,
};
use super::fill::{through_bitround, through_cast_value, through_scale_offset};
use super::size::shard_size;
use super::{
    ArrayRepresentation, BoundConfiguration, BytesSize, CodecKind, Completeness, Pipeline, Representation,
    ShardingStage,
};
use crate::codec::kinds::{BytesCodec, Parsed};
use crate::codec::registry::{self, Entry};
use crate::data_type::{DataType, FillValue};
use crate::diagnostic::{Diagnostic, Profile, code, spelling};
use crate::element::{ElementType, NumberType};
use crate::kernel::scale_offset::ScaleOffset;
use crate::metadata::extension::{CodecMetadata, View};

/// A codec's configuration and the chunk after it; `None` for the latter after a fault.
pub(super) fn bind(
    codec: &CodecMetadata,
    entry: Option<Entry>,
    before: Option<&Representation>,
    diagnostics: &mut Vec<Diagnostic>,
) -> (BoundConfiguration, Option<Representation>) {
    report_name(codec, entry, diagnostics);
    let kind = entry.map(|entry| entry.kind);
    if kind == Some(CodecKind::BytesToBytes) {
        return bind_bytes(codec, entry, before, diagnostics);
    }
    let configuration = CodecConfiguration::parse(codec).map(|parsed| keep(parsed, diagnostics));
    let pointer = codec.pointer.as_str();
    match (kind, before) {
        (Some(kind), Some(Representation::Array(array))) => {
            let reported = diagnostics.len();
            let binding = Binding { codec, array, pointer, diagnostics };
            let bound = configuration.flatten().and_then(|configuration| binding.bind(configuration));
            let is_faulty = || diagnostics[reported..].iter().any(|found| Profile::Read.forbids(found));
            let (configuration, output) = bound.unwrap_or((BoundConfiguration::Other, None));
            let guess = || if is_faulty() { None } else { unsupported_output(codec, array) };
            (configuration, output.or_else(|| bytes_of(kind)).or_else(guess))
        }
        (Some(kind), None) => (BoundConfiguration::Other, bytes_of(kind)),
        (None, _) | (Some(_), Some(Representation::Bytes(_))) => (BoundConfiguration::Other, None),
    }
}

/// The same for a bytes->bytes codec.
fn bind_bytes(
    codec: &CodecMetadata,
    entry: Option<Entry>,
    before: Option<&Representation>,
    diagnostics: &mut Vec<Diagnostic>,
) -> (BoundConfiguration, Option<Representation>) {
    let reported = diagnostics.len();
    let parsed = registry::parse_bytes_codec(codec).and_then(|parsed| keep(parsed, diagnostics));
    let is_faulty = diagnostics[reported..].iter().any(|found| Profile::Read.forbids(found));
    let size = match before {
        Some(Representation::Bytes(size)) => Some(*size),
        None => Some(BytesSize::Unbounded),
        Some(Representation::Array(_)) => None,
    };
    let size = size.map(|size| match parsed.as_ref().and_then(BytesCodec::inner) {
        Some((codecs, header_bytes)) => size_of_inner(codecs, header_bytes, size, diagnostics),
        None => entry.and_then(|entry| entry.bytes).map_or(BytesSize::Unbounded, |kind| kind.size.of(size)),
    });
    let runs = parsed.filter(|parsed| !is_faulty && parsed.refusal().is_none());
    let configuration = runs.map_or(BoundConfiguration::Other, BoundConfiguration::BytesToBytes);
    (configuration, size.map(Representation::Bytes))
}

/// What is to be said of the name, whatever the configuration.
fn report_name(codec: &CodecMetadata, entry: Option<Entry>, diagnostics: &mut Vec<Diagnostic>) {
    let name = crate::metadata::json::Json::from(codec.name.as_str()).excerpt();
    // Of a name that is in no list, not even the kind is known.
    let found = match entry {
        None => Some(report_unknown_name(&codec.name, &name)),
        Some(entry) if !entry.is_registered => {
            let message = format!("no registry has the codec name {name}");
            let found = Diagnostic::new(code::CODEC_UNREGISTERED, message);
            Some(found.with_help("not every reader can decode the array"))
        }
        Some(_) => None,
    };
    diagnostics.extend(found.map(|found| found.at_pointer(codec.pointer.clone())));
    if let Some(entry) = entry.filter(|entry| !entry.is_decoded) {
        let reason = entry.reason.map_or_else(String::new, |reason| format!(": {reason}"));
        let message = format!("the codec {name} is not decoded by this program{reason}");
        let found = Diagnostic::new(code::CODEC_UNSUPPORTED, message)
            .with_help("the array can be copied as it is; its chunks are not looked into");
        diagnostics.push(found.at_pointer(codec.pointer.clone()));
    }
    if !codec.must_understand {
        let message =
            format!("codec {name} says \"must_understand\": false: readers that do not know it pass it over");
        diagnostics.push(
            Diagnostic::new(code::CODEC_PASSED_OVER, message)
                .with_help("where decoding needs the codec, remove \"must_understand\"")
                .at_pointer(codec.pointer.clone()),
        );
    }
}

/// A name that no list has: an error where it cannot be one, or another must have been meant.
fn report_unknown_name(name: &str, shown: &str) -> Diagnostic {
    let meant = registry::meant(name);
    let help = meant.map(|meant| format!("write {meant:?}, if that is what is meant"));
    let message = if !spelling::is_extension_name(name) {
        format!("{shown} cannot be the name of a codec: expected `^[a-z][a-z0-9-_.]+$` or a URI")
    } else if let Some(meant) = meant {
        format!("no registry has the codec name {shown}, which is nearly {meant:?}")
    } else {
        let message = format!("the codec {shown} is not known, nor in any registry");
        return Diagnostic::new(code::CODEC_UNKNOWN, message)
            .with_help("not every reader can decode the array");
    };
    let found = Diagnostic::new(code::CODEC_MISNAMED, message);
    match help {
        Some(help) => found.with_help(help),
        None => found,
    }
}

/// Says that a codec is not looked at, since it need not be.
pub(super) fn report_passed_over(codec: &CodecMetadata, diagnostics: &mut Vec<Diagnostic>) {
    let name = crate::metadata::json::Json::from(codec.name.as_str()).excerpt();
    let message =
        format!("the codec {name} is not known, and passed over, since it says \"must_understand\": false");
    let named = report_unknown_name(&codec.name, &name);
    let found = [Diagnostic::new(code::CODEC_PASSED_OVER, message)].into_iter();
    let found = found.chain(Some(named).filter(|named| named.is(code::CODEC_MISNAMED)));
    diagnostics.extend(found.map(|found| found.at_pointer(codec.pointer.clone())));
}

/// Keeps the diagnostics, and what was parsed.
fn keep<T>((parsed, found): Parsed<T>, diagnostics: &mut Vec<Diagnostic>) -> Option<T> {
    diagnostics.extend(found);
    parsed
}

/// Bytes of any size, which is what an array->bytes codec gives however faulty it is.
fn bytes_of(kind: CodecKind) -> Option<Representation> {
    (kind == CodecKind::ArrayToBytes).then_some(Representation::Bytes(BytesSize::Unbounded))
}

/// The array after a value codec that is right, but not decoded for its types.
fn unsupported_output(codec: &CodecMetadata, array: &ArrayRepresentation) -> Option<Representation> {
    let data_type = match codec.name.as_str() {
        "scale_offset" => array.data_type.clone(),
        "cast_value" => DataType::from_metadata(codec.member("data_type")?).ok()?,
        _ => return None,
    };
    Some(Representation::Array(ArrayRepresentation {
        data_type,
        shape: array.shape.clone(),
        fill_value: None,
    }))
}

/// The size after a codec that holds codecs, of which a chunk may have passed each or not: the header, and what any of
/// them may make of the chunk. What is wrong with a codec inside is a finding of the chain.
fn size_of_inner(
    codecs: &[CodecMetadata],
    header_bytes: u64,
    size: BytesSize,
    diagnostics: &mut Vec<Diagnostic>,
) -> BytesSize {
    let mut bound = size.bound();
    for codec in codecs {
        let before = Representation::Bytes(BytesSize::at_most(bound));
        let after = bind(codec, registry::find(&codec.name), Some(&before), diagnostics).1;
        let after = after.and_then(|after| after.max_bytes());
        bound = bound.zip(after).map(|(before, after)| before.max(after));
    }
    BytesSize::at_most(bound.and_then(|bound| bound.checked_add(header_bytes)))
}

/// A codec that takes an array, and the array.
struct Binding<'a> {
    codec: &'a CodecMetadata,
    array: &'a ArrayRepresentation,
    pointer: &'a str,
    diagnostics: &'a mut Vec<Diagnostic>,
}

type Bound = Option<(BoundConfiguration, Option<Representation>)>;

impl Binding<'_> {
    fn bind(self, configuration: CodecConfiguration) -> Bound {
        let needs_elements = !matches!(
            configuration,
            CodecConfiguration::Transpose(_)
                | CodecConfiguration::Reshape(_)
                | CodecConfiguration::Bytes(_)
                | CodecConfiguration::ShardingIndexed(_)
        );
        if needs_elements && matches!(self.array.data_type, DataType::Other(_)) {
            return None; // The type has its own finding.
        }
        match configuration {
            CodecConfiguration::ScaleOffset(_)
            | CodecConfiguration::CastValue(_)
            | CodecConfiguration::BitRound(_) => self.value_codec(configuration),
            CodecConfiguration::Transpose(_) | CodecConfiguration::Reshape(_) => {
                self.shape_codec(configuration)
            }
            CodecConfiguration::Numcodecs(configuration) => {
                let bound = configuration.bind(&self.array.data_type, &self.array.shape, self.codec);
                let bound = keep(bound, self.diagnostics)?;
                let output =
                    ArrayRepresentation { data_type: bound.data_type, shape: bound.shape, fill_value: None };
                let configuration = bound.options.map_or(BoundConfiguration::Other, |options| {
                    BoundConfiguration::Filter { options, swap: bound.swap }
                });
                Some((configuration, Some(Representation::Array(output))))
            }
            CodecConfiguration::Bytes(configuration) => self.bytes(configuration),
            CodecConfiguration::PackBits(configuration) => {
                let bound = keep(configuration.bind(&self.array.data_type, self.pointer), self.diagnostics)?;
                let size = self.array.num_elements().and_then(|count| packed_size(&bound, count));
                let size = size.map_or(BytesSize::Unbounded, BytesSize::Fixed);
                Some((BoundConfiguration::PackBits(bound), Some(Representation::Bytes(size))))
            }
            CodecConfiguration::Pcodec(configuration) => {
                let bound = keep(configuration.bind(&self.array.data_type, self.pointer), self.diagnostics)?;
                let size = self.array.num_elements().and_then(|count| bound.max_encoded_bytes(count));
                let size = size.map_or(BytesSize::Unbounded, BytesSize::Bounded);
                Some((BoundConfiguration::Pcodec(bound), Some(Representation::Bytes(size))))
            }
            CodecConfiguration::ShardingIndexed(configuration) => self.sharding(&configuration),
            CodecConfiguration::Vlen(configuration) => {
                let bound = keep(configuration.bind(&self.array.data_type, self.pointer), self.diagnostics)?;
                Some((BoundConfiguration::Vlen(bound), None))
            }
            CodecConfiguration::Zfp(configuration) => {
                let ArrayRepresentation { data_type, shape, .. } = self.array;
                let bound = keep(configuration.bind(data_type, shape, self.pointer), self.diagnostics)?;
                let size = BytesSize::at_most(bound.max_encoded_bytes());
                Some((BoundConfiguration::Zfp(bound), Some(Representation::Bytes(size))))
            }
            CodecConfiguration::N5Default(configuration) => {
                let size = self.n5_default(&configuration);
                Some((BoundConfiguration::Other, Some(Representation::Bytes(size))))
            }
        }
    }

    /// A codec that changes values.
    fn value_codec(mut self, configuration: CodecConfiguration) -> Bound {
        let data_type = &self.array.data_type;
        let (bound, data_type, fill_value) = match configuration {
            CodecConfiguration::ScaleOffset(configuration) => {
                let bound = keep(configuration.bind(data_type, self.pointer), self.diagnostics)?;
                let kernel = ScaleOffset::new(bound.number_type, bound.offset, bound.scale);
                let fill_value = self.fill(|fill, pointer, diagnostics| {
                    through_scale_offset(&kernel, fill, pointer, diagnostics)
                });
                let (number_type, offset, scale) = (bound.number_type, bound.offset, bound.scale);
                let bound = BoundConfiguration::ScaleOffset { number_type, offset, scale };
                (bound, data_type.clone(), fill_value)
            }
            CodecConfiguration::CastValue(configuration) => {
                let bound = keep(configuration.bind(data_type, self.pointer), self.diagnostics)?;
                let (encode, decode) = (bound.encode_options(), bound.decode_options());
                let fill_value = self.fill(|fill, pointer, diagnostics| {
                    through_cast_value(&encode, &decode, fill, pointer, diagnostics)
                });
                let data_type = DataType::from(encode.target);
                (BoundConfiguration::CastValue { encode, decode }, data_type, fill_value)
            }
            CodecConfiguration::BitRound(configuration) => return self.bitround(configuration),
            _ => return None,
        };
        let output = ArrayRepresentation { data_type, fill_value, shape: self.array.shape.clone() };
        Some((bound, Some(Representation::Array(output))))
    }

    fn bitround(mut self, configuration: BitRoundConfiguration) -> Bound {
        let bound = keep(configuration.bind(&self.array.data_type, self.pointer), self.diagnostics)?;
        let data_type = self.array.data_type.clone();
        let fill_value = self.fill(|fill, pointer, diagnostics| {
            Some(through_bitround(bound, &data_type, fill, pointer, diagnostics))
        });
        let output = ArrayRepresentation { fill_value, ..self.array.clone() };
        Some((BoundConfiguration::BitRound(bound), Some(Representation::Array(output))))
    }

    /// A codec that changes the shape alone.
    fn shape_codec(self, configuration: CodecConfiguration) -> Bound {
        let (bound, shape) = match configuration {
            CodecConfiguration::Transpose(configuration) => {
                let order = keep(configuration.bind(self.array.shape.len(), self.pointer), self.diagnostics)?;
                let shape = order.iter().map(|dimension| self.array.shape[*dimension]).collect();
                (BoundConfiguration::Transpose { order }, shape)
            }
            CodecConfiguration::Reshape(configuration) => {
                let shape = keep(configuration.bind(&self.array.shape, self.pointer), self.diagnostics)?;
                (BoundConfiguration::Reshape, shape)
            }
            _ => return None,
        };
        let output = ArrayRepresentation { shape, ..self.array.clone() };
        Some((bound, Some(Representation::Array(output))))
    }

    fn fill(
        &mut self,
        through: impl FnOnce(&FillValue, &str, &mut Vec<Diagnostic>) -> Option<FillValue>,
    ) -> Option<FillValue> {
        through(self.array.fill_value.as_ref()?, self.pointer, self.diagnostics)
    }

    fn bytes(self, configuration: BytesConfiguration) -> Bound {
        let size = self.array.num_bytes().map_or(BytesSize::Unbounded, BytesSize::Fixed);
        if let Some(View::BigEndianFields(fields)) = &self.codec.view {
            let bound = BoundConfiguration::MixedBytes { big_endian: fields.clone() };
            return Some((bound, Some(Representation::Bytes(size))));
        }
        let (endian, found) = configuration.bind(&self.array.data_type, self.pointer);
        let is_faulty = found.iter().any(|found| Profile::Read.forbids(found));
        self.diagnostics.extend(found);
        if is_faulty {
            return None;
        }
        let bound = BoundConfiguration::Bytes { big_endian: endian == Some(Endian::Big) };
        Some((bound, Some(Representation::Bytes(size))))
    }

    /// A header of mode, rank and shape, and the chain inside; a block at the edge may be cut off.
    fn n5_default(self, configuration: &N5DefaultConfiguration) -> BytesSize {
        let found = configuration.bind(&self.array.data_type, &self.array.shape, self.pointer);
        self.diagnostics.extend(found);
        let pointer = format!("{}/configuration/codecs", self.pointer);
        let (codecs, complete) = (&configuration.codecs, Completeness::ToBytes);
        let inner = Pipeline::build(self.array.clone(), codecs, complete, &pointer, self.diagnostics);
        let header = 4 + 4 * self.array.shape.len() as u64;
        let bound = inner.output().and_then(|output| output.max_bytes()?.checked_add(header));
        bound.map_or(BytesSize::Unbounded, BytesSize::Bounded)
    }

    fn sharding(self, configuration: &ShardingIndexedConfiguration) -> Bound {
        let mut grid_shape = keep(configuration.bind(&self.array.shape, self.pointer), self.diagnostics)?;
        let inner_pointer = format!("{}/configuration/codecs", self.pointer);
        let index_pointer = format!("{}/configuration/index_codecs", self.pointer);
        let inner = ArrayRepresentation { shape: configuration.chunk_shape.clone(), ..self.array.clone() };
        let complete = Completeness::ToBytes;
        let inner = Pipeline::build(inner, &configuration.codecs, complete, &inner_pointer, self.diagnostics);
        grid_shape.push(2);
        let index = ArrayRepresentation {
            data_type: DataType::Number(NumberType::of(ElementType::UInt64)),
            shape: grid_shape,
            fill_value: None,
        };
        let index =
            Pipeline::build(index, &configuration.index_codecs, complete, &index_pointer, self.diagnostics);
        let size = shard_size(&inner, &index);
        if !matches!(index.output(), None | Some(Representation::Bytes(BytesSize::Fixed(_)))) {
            self.diagnostics.push(
                Diagnostic::new(
                    code::SHARDING_INDEX_CODECS,
                    format!("the index codecs of `{}` do not give a fixed size", self.codec.name),
                )
                .with_help("use [{\"name\": \"bytes\", \"configuration\": {\"endian\": \"little\"}}, {\"name\": \"crc32c\"}]")
                .at_pointer(index_pointer),
            );
        }
        let index_location = configuration.index_location;
        let bound = BoundConfiguration::Sharding(ShardingStage { inner, index, index_location });
        Some((bound, Some(Representation::Bytes(size))))
    }
}

/// The bytes of `count` elements after `packbits`, the padding byte included.
fn packed_size(bound: &BoundPackBits, count: u64) -> Option<u64> {
    let bits = u64::from(bound.last_bit - bound.first_bit + 1) * bound.num_components as u64;
    let padding_byte = u64::from(bound.padding_encoding != PaddingEncoding::None);
    count.checked_mul(bits)?.div_ceil(8).checked_add(padding_byte)
}
