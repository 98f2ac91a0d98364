//! From a stage of a pipeline to a codec that runs.

use super::{BindError, Codec};
use crate::codec::kinds::BytesCodec;
use crate::codec::sharding::BoundSharding;
use crate::pipeline::{ArrayRepresentation, BoundConfiguration, CodecKind, Representation, Stage};

/// The size of the elements that a chain is bound for.
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

pub(super) fn bind_codec(stage: &Stage, before: &Representation, elements: ElementSize) -> Result<Codec, BindError> {
    let unsupported = |because: String| BindError::unsupported(&stage.name, because);
    let array = || before.array().ok_or_else(|| unsupported(": it stands after the array->bytes codec".to_owned()));
    Ok(match &stage.configuration {
        BoundConfiguration::Array(codec) => {
            array()?;
            match codec.refusal() {
                Some(reason) => return Err(unsupported(format!(": {reason}"))),
                None => Codec::Array(codec.clone()),
            }
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
        BoundConfiguration::Other => return Err(unsupported(String::new())),
    })
}
