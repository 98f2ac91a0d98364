//! From a stage of a pipeline to a codec that runs.

use super::{BindError, Codec};
use crate::codec::element_bytes::ElementBytes;
use crate::codec::kinds::BytesCodec;
use crate::codec::packbits::PackBits;
use crate::codec::pcodec::Pcodec;
use crate::codec::sharding::BoundSharding;
use crate::codec::transpose::Transpose;
use crate::codec::vlen::Vlen;
use crate::codec::zfp::Zfp;
use crate::data_type::DataType;
use crate::kernel::cast::Cast;
use crate::kernel::numcodecs::{Delta, ElementFilter, FilterOptions};
use crate::kernel::scale_offset::ScaleOffset;
use crate::pipeline::{ArrayRepresentation, BoundConfiguration, CodecKind, Representation, Stage};

/// What elements a chain is bound for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::codec) enum ElementSize {
    /// Of one size.
    Fixed,
    /// Of any.
    Any,
    /// Not looked at: what cannot be run is bound all the same, to be left as it is.
    Unread,
}

pub(super) fn check_size(array: &ArrayRepresentation, elements: ElementSize) -> Result<(), BindError> {
    let Some(bytes) = array.data_type.size() else {
        return match array.num_elements() {
            _ if elements == ElementSize::Unread => Ok(()),
            Some(_) if elements == ElementSize::Any && array.data_type.is_variable_length() => Ok(()),
            _ => Err(BindError::DataType(array.data_type.to_string())),
        };
    };
    let total = array.num_elements().and_then(|count| count.checked_mul(bytes as u64));
    // Half of the address space is more than any machine gives one chunk.
    match total.map(usize::try_from) {
        Some(Ok(total)) if total <= usize::MAX / 4 => Ok(()),
        _ => Err(BindError::TooLarge { shape: array.shape.clone() }),
    }
}

pub(super) fn bind_codec(
    stage: &Stage,
    before: &Representation,
    elements: ElementSize,
) -> Result<Codec, BindError> {
    let unsupported = |because: String| BindError::Unsupported { place: 0, name: String::new(), because };
    let array =
        || before.array().ok_or_else(|| unsupported(": it stands after the array->bytes codec".to_owned()));
    Ok(match &stage.configuration {
        BoundConfiguration::ScaleOffset { number_type, offset, scale } => {
            Codec::ScaleOffset(ScaleOffset::new(*number_type, *offset, *scale))
        }
        BoundConfiguration::CastValue { encode, decode } => Codec::Cast {
            encode: Box::new(Cast::new(encode.clone())),
            decode: Box::new(Cast::new(decode.clone())),
        },
        BoundConfiguration::Transpose { order } => {
            let array = array()?;
            let of_any_size = || unsupported(" for elements of any length".to_owned());
            // Of elements that are not looked at, or lie in no fixed places, only the order counts.
            let unread = (elements != ElementSize::Fixed).then_some(1);
            let size = array.data_type.size().or(unread).ok_or_else(of_any_size)?;
            let bound = Transpose::new(&array.shape, order, size);
            Codec::Transpose(bound.map_err(|error| unsupported(format!(": {error}")))?)
        }
        BoundConfiguration::Bytes { big_endian } => {
            let data_type = &array()?.data_type;
            match ElementBytes::of(data_type, *big_endian) {
                Some(codec) => Codec::ElementBytes(codec),
                None => Codec::Bytes {
                    swap: data_type.component_size().filter(|_| *big_endian != cfg!(target_endian = "big")),
                    check: data_type.number().and_then(Cast::range_check).map(Box::new),
                },
            }
        }
        BoundConfiguration::MixedBytes { big_endian } => {
            Codec::ElementBytes(ElementBytes::of_fields(&array()?.data_type, big_endian))
        }
        BoundConfiguration::BitRound(codec) => Codec::BitRound(*codec),
        BoundConfiguration::Filter { options, swap } => {
            array()?;
            match (ElementFilter::new(*options), *options) {
                (Some(filter), _) => Codec::Filter { filter: Box::new(filter), swap: *swap },
                (None, FilterOptions::Delta { decoded, encoded }) => {
                    Codec::Delta { delta: Box::new(Delta::new(decoded, encoded)), swap: *swap }
                }
                (None, _) => Codec::PackBooleans,
            }
        }
        BoundConfiguration::Reshape => Codec::Reshape,
        BoundConfiguration::PackBits(configuration) => {
            array()?;
            Codec::PackBits(PackBits::new(*configuration))
        }
        BoundConfiguration::Pcodec(configuration) => {
            array()?;
            Codec::Pcodec(Pcodec::new(*configuration))
        }
        BoundConfiguration::Zfp(configuration) => {
            array()?;
            Codec::Zfp(Zfp::new(*configuration))
        }
        BoundConfiguration::Sharding(configuration) => {
            Codec::Sharding(Box::new(BoundSharding::bind(configuration, array()?, elements)?))
        }
        BoundConfiguration::BytesToBytes(codec) => Codec::BytesToBytes(codec.clone()),
        // It is made again for the reason why it cannot run.
        BoundConfiguration::Other if stage.kind == Some(CodecKind::BytesToBytes) => {
            let bound = BytesCodec::new(&stage.name, stage.metadata.configuration.as_ref());
            Codec::BytesToBytes(bound.map_err(|error| unsupported(format!(": {error}")))?)
        }
        BoundConfiguration::Vlen(_) if elements != ElementSize::Fixed => {
            let array = array()?;
            let num_elements = array.num_elements().unwrap_or(u64::MAX);
            Codec::Vlen(Vlen { num_elements, is_text: array.data_type == DataType::String })
        }
        BoundConfiguration::Vlen(_) | BoundConfiguration::Other => return Err(unsupported(String::new())),
    })
}
