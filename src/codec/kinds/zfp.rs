//! `zfp` and `numcodecs.zfpy`: blocks of up to four dimensions, each of which keeps its most significant bits, or all
//! of them.
//!
//! It uses `zfp-rs`, which is written in Rust and does not read beyond the end of a stream. A chunk is a stream in
//! words of 64 bits, little-endian. It has no header for `zfp`, and zfp's own full header for `numcodecs.zfpy`: the
//! decoder uses its mode and lengths, after a check of the type and the number of elements. Integers of 8 and 16 bits
//! are in the upper bits of 32, as zfp's own functions store them.
//!
//! Specification: <https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/zfp>,
//! <https://numcodecs.readthedocs.io/en/stable/compression/zfpy.html>

use bytemuck::Pod;
use half::f16;
use zfp_rs::{
    ZfpBitStream, ZfpConfig, ZfpConfigError, ZfpDimensionality, ZfpField, ZfpFieldMut, ZfpHeaderMask, ZfpMode,
    ZfpScalar, ZfpScalarType, ZfpStreamAlignment,
};

use super::error::{CodecError, reserve};
use super::members::{ConfigurationReader, Member, MemberType};
use super::pcodec::numbers;
use super::{Binding, BytesSize, Coder, Effect, Kind, Made, Output, copy, unsupported};
use crate::data_type::DataType;
use crate::diagnostic::{Diagnostic, code};
use crate::element::{ElementType, NumberType};
use crate::metadata::extension::CodecMetadata;
use crate::metadata::json::{Json, Number};

/// `zfp`, which v2 does not have.
pub(crate) static ZFP: Kind = Kind::new(members, bind);

#[derive(Debug, Clone)]
struct Zfp {
    element: ElementType,
    /// The length of each dimension, the fastest first. 0 for dimensions that the chunk does not have.
    lengths: [usize; MAX_DIMENSIONS],
    config: ZfpConfig,
    /// True if a stream begins with the library's full header, which repeats all of these fields.
    has_header: bool,
    /// The greatest change of a number, as in [`Coder::max_loss`].
    max_loss: Option<f64>,
}

/// Bytes of a word of a stream.
const WORD: usize = 8;

/// The most elements of a block. A block has at least one bit.
const GREATEST_BLOCK: usize = 256;

/// The most dimensions that zfp supports.
const MAX_DIMENSIONS: usize = 4;

const MODE: Member = Member::required(
    "mode",
    MemberType::Choice(&["reversible", "expert", "fixed_accuracy", "fixed_rate", "fixed_precision"]),
);

const fn whole(name: &'static str) -> Member {
    Member::required(name, MemberType::Integer(0, u32::MAX as i64))
}

const fn number(name: &'static str) -> Member {
    Member::required(name, MemberType::Number)
}

const fn any(name: &'static str) -> Member {
    Member::optional(name, MemberType::Any)
}

const MINEXP: Member = Member::required("minexp", MemberType::Integer(i32::MIN as i64, i32::MAX as i64));

/// Each mode and its members.
const MODES: [(&str, &[Member]); 5] = [
    ("reversible", &[MODE]),
    ("expert", &[MODE, whole("minbits"), whole("maxbits"), whole("maxprec"), MINEXP]),
    ("fixed_accuracy", &[MODE, number("tolerance")]),
    ("fixed_rate", &[MODE, number("rate")]),
    ("fixed_precision", &[MODE, whole("precision")]),
];

/// The members of all modes, used for an unknown mode.
const OF_ANY_MODE: &[Member] = &[
    MODE,
    any("minbits"),
    any("maxbits"),
    any("maxprec"),
    any("minexp"),
    any("tolerance"),
    any("rate"),
    any("precision"),
];

/// Returns a parameter that is a number.
fn parameter(members: &ConfigurationReader<'_>, name: &str) -> Option<f64> {
    members.get(name).and_then(Json::as_number).map(Number::as_f64)
}

/// Returns the library's parameters in a mode, for numbers of a type in a chunk of `rank` dimensions.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
fn config(
    mode: &str,
    members: &ConfigurationReader<'_>,
    scalar: ZfpScalarType,
    rank: usize,
) -> Result<ZfpConfig, ZfpConfigError> {
    use ZfpDimensionality::{D1, D2, D3, D4};
    let number = |name| parameter(members, name).unwrap_or_default();
    Ok(match mode {
        "expert" => {
            let [minbits, maxbits, maxprec] = ["minbits", "maxbits", "maxprec"].map(|name| members.integer_value(name));
            ZfpConfig::expert(minbits, maxbits, maxprec, members.integer_value("minexp"))?
        }
        "fixed_accuracy" => ZfpConfig::fixed_accuracy(number("tolerance")),
        "fixed_rate" => {
            let dimensions = [D1, D1, D2, D3, D4][rank.min(MAX_DIMENSIONS)];
            ZfpConfig::fixed_rate(number("rate"), scalar, dimensions, ZfpStreamAlignment::Unaligned)?
        }
        // A number that is 0 or more. More than all bits means all bits.
        "fixed_precision" => ZfpConfig::fixed_precision(number("precision") as u32),
        _ => ZfpConfig::reversible(),
    })
}

/// Binds the parameters of a mode to the primitive and the shape of a chunk. `None` if the library does not support
/// them, or after a fault.
fn bound(mode: &str, element: ElementType, to: &mut Binding<'_>) -> Option<Made> {
    let shape = &to.array?.shape;
    let (scalar, lengths) = scalar_type(element).zip(lengths(shape))?;
    let config = config(mode, &to.members, scalar, shape.len()).map_err(|error| {
        let name = &to.codec.name;
        let message = format!("the parameters of `{name}` are not taken together: {error}");
        to.report(code::CONFIGURATION_VALUE, message);
    });
    let config = config.ok()?;
    // Only floats that are not narrowed afterwards stay within the tolerance.
    let keeps = matches!(element, ElementType::Float32 | ElementType::Float64) && mode == "fixed_accuracy";
    let tolerance = parameter(&to.members, "tolerance").filter(|tolerance| keeps && *tolerance > 0.0);
    let max_loss = (config.mode() != ZfpMode::Reversible).then_some(tolerance.unwrap_or(f64::INFINITY));
    let has_header = to.codec.name.starts_with("numcodecs.");
    let bound = Zfp { element, lengths, config, has_header, max_loss };
    let size = BytesSize::at_most(bound.max_encoded_bytes());
    Some(Made::to_bytes(bound, size))
}

/// The reason why unsigned integers of 32 and 64 bits are not decoded. zarrs, for one, clamps them to the greatest
/// signed integer.
const UNSIGNED: &str = "the zfp library has only signed integers, and the codec's page does not say how unsigned \
    ones of 32 and 64 bits map to them: the content of the chunks is unknown";

/// Returns the lengths of a chunk in the library's order, the fastest dimension first. A zero-dimensional chunk has one
/// dimension of length 1. `None` for an empty chunk, or if the number of elements overflows.
fn lengths(shape: &[u64]) -> Option<[usize; MAX_DIMENSIONS]> {
    let mut lengths = [0; MAX_DIMENSIONS];
    lengths[0] = 1;
    for (length, own) in shape.iter().rev().zip(&mut lengths) {
        *own = usize::try_from(*length).ok().filter(|length| *length > 0)?;
    }
    lengths.iter().filter(|length| **length > 0).try_fold(1_usize, |count, length| count.checked_mul(*length))?;
    Some(lengths)
}

/// Returns the library's type of elements. Integers of 8 and 16 bits are in the upper bits of 32. A half float becomes
/// a float of 32 bits.
const fn scalar_type(element: ElementType) -> Option<ZfpScalarType> {
    match element {
        ElementType::Int8 | ElementType::Int16 | ElementType::Int32 | ElementType::UInt8 | ElementType::UInt16 => {
            Some(ZfpScalarType::I32)
        }
        ElementType::Int64 => Some(ZfpScalarType::I64),
        ElementType::Float16 | ElementType::Float32 => Some(ZfpScalarType::F32),
        ElementType::Float64 => Some(ZfpScalarType::F64),
        ElementType::UInt32 | ElementType::UInt64 => None,
    }
}

fn members(codec: &CodecMetadata) -> &'static [Member] {
    let mode = codec.member("mode").and_then(Json::as_str);
    MODES.into_iter().find(|(name, _)| Some(*name) == mode).map_or(OF_ANY_MODE, |(_, members)| members)
}

fn bind(to: &mut Binding<'_>) -> Option<Made> {
    let mode = to.members.text_value("mode");
    let array = to.array?;
    let reported = to.members.diagnostics.len();
    let (data_type, rank) = (&array.data_type, array.shape.len());
    if !matches!(data_type, DataType::Number(_) | DataType::Time(_)) {
        let message = format!("`zfp` takes integers and real floats, but its input is `{data_type}`");
        to.report(code::CODEC_DATA_TYPE, message);
    }
    if rank > MAX_DIMENSIONS {
        let message = format!("`zfp` takes at most {MAX_DIMENSIONS} dimensions, but its input has {rank}");
        let found = Diagnostic::new(code::CODEC_DIMENSIONS, message);
        to.push(found.with_help("put `reshape` before it, or use another codec"));
    }
    if to.members.diagnostics.len() > reported {
        return None;
    }
    let (number, _) = data_type.stored_components()?;
    let element = (number.is_whole() && number.small_float().is_none()).then_some(number.element());
    let bound = element.and_then(|element| bound(mode, element, to));
    if bound.is_none() && to.members.diagnostics.len() == reported {
        let unsupported = unsupported("zfp", data_type);
        let is_wide = data_type.number().is_some_and(|number| number.bits() >= 32 && !number.is_float());
        to.push(if is_wide { unsupported.with_help(UNSIGNED) } else { unsupported });
    }
    bound
}

impl Coder for Zfp {
    fn encode(&self, decoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        match self.element {
            // These shifts are those of zfp's own functions, such as `zfp_promote_int8_to_int32`. Numbers stay within
            // ±2^30.
            ElementType::Int8 => self.encode_narrow(decoded, out, |n: i8| i32::from(n) << 23),
            ElementType::UInt8 => self.encode_narrow(decoded, out, |n: u8| (i32::from(n) - 0x80) << 23),
            ElementType::Int16 => self.encode_narrow(decoded, out, |n: i16| i32::from(n) << 15),
            ElementType::UInt16 => self.encode_narrow(decoded, out, |n: u16| (i32::from(n) - 0x8000) << 15),
            ElementType::Float16 => self.encode_narrow(decoded, out, f16::to_f32),
            ElementType::Int32 => self.encode_as::<i32>(&numbers(decoded), out.bytes),
            ElementType::Int64 => self.encode_as::<i64>(&numbers(decoded), out.bytes),
            ElementType::Float32 => self.encode_as::<f32>(&numbers(decoded), out.bytes),
            ElementType::Float64 => self.encode_as::<f64>(&numbers(decoded), out.bytes),
            element => Err(CodecError::Bytes(format!("{element:?} is no type of its"))),
        }
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the numbers are clamped before")]
    fn decode(&self, encoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        match self.element {
            // A lossy mode may decode a number beyond the range of the narrow type. zfp's own functions clamp it, too.
            ElementType::Int8 => self.decode_narrow(encoded, out, |n: i32| (n >> 23).clamp(-0x80, 0x7f) as i8),
            ElementType::UInt8 => self.decode_narrow(encoded, out, |n: i32| ((n >> 23) + 0x80).clamp(0, 0xff) as u8),
            ElementType::Int16 => self.decode_narrow(encoded, out, |n: i32| (n >> 15).clamp(-0x8000, 0x7fff) as i16),
            ElementType::UInt16 => {
                self.decode_narrow(encoded, out, |n: i32| ((n >> 15) + 0x8000).clamp(0, 0xffff) as u16)
            }
            ElementType::Float16 => self.decode_narrow(encoded, out, f16::from_f32),
            ElementType::Int32 => copy(bytemuck::cast_slice(&self.decode_as::<i32>(encoded)?), out.bytes),
            ElementType::Int64 => copy(bytemuck::cast_slice(&self.decode_as::<i64>(encoded)?), out.bytes),
            ElementType::Float32 => copy(bytemuck::cast_slice(&self.decode_as::<f32>(encoded)?), out.bytes),
            ElementType::Float64 => copy(bytemuck::cast_slice(&self.decode_as::<f64>(encoded)?), out.bytes),
            element => Err(CodecError::Bytes(format!("{element:?} is no type of its"))),
        }
    }

    /// Counts the elements in 32 bits if they are smaller, and the stream.
    fn context_bytes(&self, decoded: u64) -> u64 {
        let stream = self.max_encoded_bytes().unwrap_or(u64::MAX);
        decoded.saturating_mul(4).saturating_add(stream)
    }

    fn effect(&self) -> Effect<'_> {
        Effect::Compress
    }

    fn max_loss(&self) -> Option<f64> {
        self.max_loss
    }
}

impl Zfp {
    /// Returns the most bytes of an encoded chunk. `None` if the size overflows.
    fn max_encoded_bytes(&self) -> Option<u64> {
        let bytes = self.config.maximum_size(scalar_type(self.element)?, self.lengths)?;
        u64::try_from(bytes).ok()
    }

    /// Encodes numbers that the library has only in a wider type.
    fn encode_narrow<T: Pod, W: ZfpScalar>(
        &self,
        decoded: &[u8],
        out: &mut Output<'_>,
        widen: impl Fn(T) -> W,
    ) -> Result<(), CodecError> {
        let narrow = numbers::<T>(decoded);
        let mut wide = Vec::new();
        reserve(&mut wide, narrow.len())?;
        wide.extend(narrow.iter().copied().map(widen));
        self.encode_as(&wide, out.bytes)
    }

    fn decode_narrow<W: ZfpScalar + Pod, T: Pod>(
        &self,
        encoded: &[u8],
        out: &mut Output<'_>,
        narrow: impl Fn(W) -> T,
    ) -> Result<(), CodecError> {
        let wide = self.decode_as::<W>(encoded)?;
        out.bytes.clear();
        reserve(out.bytes, wide.len().saturating_mul(size_of::<T>()))?;
        for number in wide {
            out.bytes.extend_from_slice(bytemuck::bytes_of(&narrow(number)));
        }
        Ok(())
    }

    fn encode_as<T: ZfpScalar>(&self, numbers: &[T], encoded: &mut Vec<u8>) -> Result<(), CodecError> {
        let size = self.max_encoded_bytes().and_then(|size| usize::try_from(size).ok());
        let size = size.ok_or(CodecError::memory(usize::MAX))?;
        let mut stream = ZfpBitStream::new(size).map_err(|error| CodecError::memory(error.bytes))?;
        let field = ZfpField::new(numbers, self.lengths).map_err(CodecError::bytes)?;
        if self.has_header {
            stream.write_header(&self.config, &field.metadata(), ZfpHeaderMask::FULL).map_err(CodecError::bytes)?;
        }
        let written = stream.compress(&self.config, &field).map_err(CodecError::bytes)?;
        copy(stream.as_bytes().get(..written).unwrap_or_default(), encoded)
    }

    fn decode_as<T: ZfpScalar + Pod>(&self, encoded: &[u8]) -> Result<Vec<T>, CodecError> {
        let elements = self.lengths.iter().filter(|length| **length > 0).product::<usize>();
        let found = encoded.len();
        if !found.is_multiple_of(WORD) {
            return Err(CodecError::Bytes(format!("{found} bytes are not a whole number of words of {WORD}")));
        }
        // The memory is limited to what the stream can contain.
        if elements / GREATEST_BLOCK > found.saturating_mul(8) {
            return Err(CodecError::Bytes(format!("{found} bytes cannot hold {elements} elements")));
        }
        let mut stream = ZfpBitStream::from_bytes(encoded).map_err(|error| CodecError::memory(error.bytes))?;
        let (config, lengths) = if self.has_header {
            read_header(&mut stream, T::SCALAR_TYPE, elements)?
        } else {
            (self.config, self.lengths)
        };
        let mut numbers = Vec::new();
        reserve(&mut numbers, elements)?;
        numbers.resize(elements, T::zeroed());
        let mut field = ZfpFieldMut::new(&mut numbers, lengths).map_err(CodecError::bytes)?;
        let read = stream.decompress(&config, &mut field).map_err(CodecError::bytes)?;
        match found.checked_sub(read) {
            Some(count) if count > 0 => Err(CodecError::Bytes(format!("{count} bytes follow the compressed numbers"))),
            _ => Ok(numbers),
        }
    }
}

/// Reads the parameters and lengths from a stream's header. Any lengths with the chunk's number of elements are
/// accepted, because the chunk may have been flattened.
fn read_header(
    stream: &mut ZfpBitStream,
    scalar: ZfpScalarType,
    elements: usize,
) -> Result<(ZfpConfig, [usize; 4]), CodecError> {
    let header = stream.read_header(ZfpHeaderMask::FULL).map_err(CodecError::bytes)?;
    let (Some(config), Some(metadata)) = (header.config, header.metadata) else {
        return Err(CodecError::bytes("the header is not whole"));
    };
    let dims = metadata.dims.iter().filter(|length| **length > 0);
    let found = dims.fold(1_usize, |count, length| count.saturating_mul(*length));
    if metadata.scalar_type != scalar || found != elements {
        let own = metadata.scalar_type;
        let message = format!("the header is of {found} elements of {own:?}, expected {elements} of {scalar:?}");
        return Err(CodecError::Bytes(message));
    }
    Ok((config, metadata.dims))
}

/// `numcodecs.zfpy`.
pub(crate) static ZFPY: Kind = Kind { is_little_endian_in_v2: true, ..Kind::new(|_| OF_ZFPY, bind_zfpy) };

/// The members that numcodecs writes. Only the parameter of the mode counts.
const OF_ZFPY: &[Member] = &[
    Member::optional("mode", MemberType::Integer(0, 5)),
    Member::optional("tolerance", MemberType::Number),
    Member::optional("rate", MemberType::Number),
    Member::optional("precision", MemberType::Number),
    Member::optional("compression_kwargs", MemberType::Any),
];

/// Binds the codec. zfp's number of the mode selects the parameter. The default mode is that of numcodecs. A parameter
/// below 0 counts as absent. Without one the mode is reversible.
fn bind_zfpy(to: &mut Binding<'_>) -> Option<Made> {
    const FIXED_RATE: i128 = 2;
    const FIXED_PRECISION: i128 = 3;
    const FIXED_ACCURACY: i128 = 4;
    let (mode, name) = match to.members.get("mode").and_then(Json::as_i128).unwrap_or(FIXED_ACCURACY) {
        FIXED_RATE => ("fixed_rate", "rate"),
        FIXED_PRECISION => ("fixed_precision", "precision"),
        FIXED_ACCURACY => ("fixed_accuracy", "tolerance"),
        _ => ("reversible", ""),
    };
    let is_given = parameter(&to.members, name).is_some_and(|value| value >= 0.0);
    let array = to.array?;
    let rank = array.shape.len();
    let takes = "`numcodecs.zfpy` takes int32, int64, float32 and float64";
    let number = array.data_type.number().filter(|number| number.is_whole() && number.size() >= 4);
    let element = number.map(NumberType::element).filter(|element| scalar_type(*element).is_some());
    let element = element.or_else(|| to.refuse(code::CODEC_DATA_TYPE, takes));
    let takes = (1..=MAX_DIMENSIONS).contains(&rank);
    if !takes {
        let message = format!("`numcodecs.zfpy` takes 1 to {MAX_DIMENSIONS} dimensions, but its input has {rank}");
        to.report(code::CODEC_DIMENSIONS, message);
    }
    bound(if is_given { mode } else { "reversible" }, element.filter(|_| takes)?, to)
}

#[cfg(test)]
mod tests;
