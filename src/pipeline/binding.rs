//! One codec of a chain bound to the chunk that reaches it.

use super::configuration::{
    BoundPackBits, BytesConfiguration, CodecConfiguration, Endian, PaddingEncoding, Parsed,
    ShardingIndexedConfiguration,
};
use super::fill::{through_cast_value, through_scale_offset};
use super::registry::is_registered;
use super::{
    ArrayRepresentation, BoundConfiguration, BytesSize, CodecKind, Completeness, Pipeline, Representation,
    ShardingStage,
};
use crate::data_type::{DataType, FillValue};
use crate::diagnostic::{Diagnostic, code};
use crate::element::{ElementType, NumberType};
use crate::kernel::scale_offset::ScaleOffset;
use crate::metadata::extension::CodecMetadata;

/// A codec's configuration and the chunk after it; `None` for the latter after a fault.
pub(super) fn bind(
    codec: &CodecMetadata,
    kind: Option<CodecKind>,
    before: Option<&Representation>,
    diagnostics: &mut Vec<Diagnostic>,
) -> (BoundConfiguration, Option<Representation>) {
    if kind.is_none() || !is_registered(&codec.name) {
        diagnostics.push(
            Diagnostic::new(
                code::CODEC_UNREGISTERED,
                format!("no registry has the codec name `{}`", codec.name),
            )
            .with_help("not every reader can decode the array")
            .at_pointer(codec.pointer.clone()),
        );
    }
    if !codec.must_understand {
        let message =
            format!("codec `{}` says \"must_understand\": false, but decoding needs it", codec.name);
        diagnostics
            .push(Diagnostic::new(code::CONFIGURATION_VALUE, message).at_pointer(codec.pointer.clone()));
    }
    let Some(parsed) = CodecConfiguration::parse(codec) else {
        return (BoundConfiguration::Other, other_output(codec, kind, before));
    };
    let Some(configuration) = keep(parsed, diagnostics) else { return (BoundConfiguration::Other, None) };
    let pointer = codec.pointer.as_str();
    if kind == Some(CodecKind::BytesToBytes) {
        return (BoundConfiguration::Other, other_output(codec, kind, before));
    }
    let Some(array) = before.and_then(Representation::array) else {
        return (BoundConfiguration::Other, None);
    };
    if let DataType::Other(_) = array.data_type {
        return (BoundConfiguration::Other, None);
    }
    let bound = Binding { codec, array, pointer, diagnostics }.bind(configuration);
    bound.map_or((BoundConfiguration::Other, None), |(configuration, output)| (configuration, output))
}

/// Keeps the diagnostics, and what was parsed.
fn keep<T>((parsed, found): Parsed<T>, diagnostics: &mut Vec<Diagnostic>) -> Option<T> {
    diagnostics.extend(found);
    parsed
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
    fn bind(mut self, configuration: CodecConfiguration) -> Bound {
        let data_type = &self.array.data_type;
        match configuration {
            CodecConfiguration::ScaleOffset(configuration) => {
                let bound = keep(configuration.bind(data_type, self.pointer), self.diagnostics)?;
                let kernel = ScaleOffset::new(bound.number_type, bound.offset, bound.scale);
                let fill_value = self.fill(|fill, pointer, diagnostics| {
                    through_scale_offset(&kernel, fill, pointer, diagnostics)
                });
                let output = ArrayRepresentation { fill_value, ..self.array.clone() };
                let (number_type, offset, scale) = (bound.number_type, bound.offset, bound.scale);
                let bound = BoundConfiguration::ScaleOffset { number_type, offset, scale };
                Some((bound, Some(Representation::Array(output))))
            }
            CodecConfiguration::CastValue(configuration) => {
                let bound = keep(configuration.bind(data_type, self.pointer), self.diagnostics)?;
                let (encode, decode) = (bound.encode_options(), bound.decode_options());
                let fill_value = self.fill(|fill, pointer, diagnostics| {
                    through_cast_value(&encode, &decode, fill, pointer, diagnostics)
                });
                let data_type = DataType::Number(encode.target);
                let output = ArrayRepresentation { data_type, fill_value, shape: self.array.shape.clone() };
                Some((BoundConfiguration::CastValue { encode, decode }, Some(Representation::Array(output))))
            }
            CodecConfiguration::Transpose(configuration) => {
                let order = keep(configuration.bind(self.array.shape.len(), self.pointer), self.diagnostics)?;
                let shape = order.iter().map(|dimension| self.array.shape[*dimension]).collect();
                let output = ArrayRepresentation { shape, ..self.array.clone() };
                Some((BoundConfiguration::Transpose { order }, Some(Representation::Array(output))))
            }
            CodecConfiguration::Bytes(configuration) => Some(self.bytes(configuration)),
            CodecConfiguration::PackBits(configuration) => {
                let bound = keep(configuration.bind(data_type, self.pointer), self.diagnostics)?;
                let size = self.array.num_elements().and_then(|count| packed_size(&bound, count));
                let size = size.map_or(BytesSize::Unbounded, BytesSize::Fixed);
                Some((BoundConfiguration::PackBits(bound), Some(Representation::Bytes(size))))
            }
            CodecConfiguration::ShardingIndexed(configuration) => self.sharding(&configuration),
            CodecConfiguration::Crc32c(_)
            | CodecConfiguration::Zstd(_)
            | CodecConfiguration::Gzip(_)
            | CodecConfiguration::Blosc(_) => None,
        }
    }

    fn fill(
        &mut self,
        through: impl FnOnce(&FillValue, &str, &mut Vec<Diagnostic>) -> Option<FillValue>,
    ) -> Option<FillValue> {
        through(self.array.fill_value.as_ref()?, self.pointer, self.diagnostics)
    }

    fn bytes(&mut self, configuration: BytesConfiguration) -> (BoundConfiguration, Option<Representation>) {
        let endian = keep(configuration.bind(&self.array.data_type, self.pointer), self.diagnostics);
        let size = self.array.num_bytes().map_or(BytesSize::Unbounded, BytesSize::Fixed);
        let bound = BoundConfiguration::Bytes { big_endian: endian == Some(Endian::Big) };
        (bound, Some(Representation::Bytes(size)))
    }

    fn sharding(&mut self, configuration: &ShardingIndexedConfiguration) -> Bound {
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

/// The most bytes of a shard: all inner chunks and the index.
fn shard_size(inner: &Pipeline, index: &Pipeline) -> BytesSize {
    let bound = |pipeline: &Pipeline| match pipeline.output() {
        Some(Representation::Bytes(size)) => size.bound(),
        _ => None,
    };
    // The index array has two entries for each inner chunk.
    let count = index.input.num_elements().map(|entries| entries / 2);
    let total = count.zip(bound(inner)).and_then(|(count, bytes)| count.checked_mul(bytes));
    let total = total.zip(bound(index)).and_then(|(chunks, index)| chunks.checked_add(index));
    total.map_or(BytesSize::Unbounded, BytesSize::Bounded)
}

/// The chunk after a codec whose configuration does not matter here.
fn other_output(
    codec: &CodecMetadata,
    kind: Option<CodecKind>,
    before: Option<&Representation>,
) -> Option<Representation> {
    match (kind?, before) {
        (CodecKind::BytesToBytes, Some(Representation::Bytes(size))) => {
            Some(Representation::Bytes(compressed_size(&codec.name, *size)))
        }
        // An array's bytes by a codec that is not modelled here.
        (CodecKind::ArrayToBytes, _) | (CodecKind::BytesToBytes, None) => {
            Some(Representation::Bytes(BytesSize::Unbounded))
        }
        _ => None,
    }
}

/// The size after a bytes->bytes codec, from its format's documentation.
fn compressed_size(name: &str, size: BytesSize) -> BytesSize {
    if matches!(
        name,
        "crc32c" | "numcodecs.crc32c" | "numcodecs.crc32" | "numcodecs.adler32" | "numcodecs.fletcher32"
    ) {
        let plus = |bytes: u64| bytes.checked_add(4);
        return match size {
            BytesSize::Fixed(bytes) => plus(bytes).map_or(BytesSize::Unbounded, BytesSize::Fixed),
            BytesSize::Bounded(bytes) => plus(bytes).map_or(BytesSize::Unbounded, BytesSize::Bounded),
            BytesSize::Unbounded => BytesSize::Unbounded,
        };
    }
    if name == "numcodecs.shuffle" {
        return size;
    }
    let overhead = |bytes: u64| match name {
        // ZSTD_COMPRESSBOUND, and a checksum.
        "zstd" | "numcodecs.zstd" => Some((bytes >> 8) + 68),
        // Stored blocks of 16383 bytes with 5 bytes each, a header and a trailer.
        "gzip" | "numcodecs.gzip" | "numcodecs.zlib" => Some(bytes / 16383 * 5 + 64),
        // BLOSC_MAX_OVERHEAD.
        "blosc" | "numcodecs.blosc" => Some(16),
        // bzip2's manual: 1 % and 600 bytes.
        "numcodecs.bz2" => Some(bytes / 100 + 600),
        _ => None,
    };
    let bound = size.bound().and_then(|bytes| bytes.checked_add(overhead(bytes)?));
    bound.map_or(BytesSize::Unbounded, BytesSize::Bounded)
}
