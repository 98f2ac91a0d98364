//! `cast_value` for zarrs.

use super::checked;
use super::elementwise::{BoundElementwise, ElementwiseCodec, ElementwiseConfiguration, describe};
use crate::codec::fault::number_text;
use crate::codec::kinds::cast_value::{self, CastValueConfiguration};
use crate::data_type::DataType;
use crate::element::NumberType;
use crate::kernel::ElementFault;
use crate::kernel::cast::Cast;
use crate::metadata::json::Object;

/// `cast_value` as zarrs has it.
pub(super) type CastValueCodec = ElementwiseCodec<CastValueConfiguration>;

/// Both directions.
#[derive(Debug)]
pub(super) struct BothCasts {
    encode: Cast,
    decode: Cast,
}

impl ElementwiseConfiguration for CastValueConfiguration {
    const NAME: &'static str = "cast_value";
    type Bound = BothCasts;

    fn parse(configuration: Option<&Object>) -> Result<Self, String> {
        checked(cast_value::parse(configuration, ""))
    }

    fn bind(&self, data_type: &DataType) -> Result<BothCasts, String> {
        let bound = checked(self.bind_type(data_type, ""))?;
        Ok(BothCasts { encode: Cast::new(bound.encode_options()), decode: Cast::new(bound.decode_options()) })
    }
}

impl BoundElementwise for BothCasts {
    fn types(&self) -> (NumberType, NumberType) {
        (self.encode.options().source, self.encode.options().target)
    }

    fn is_identity(&self) -> bool {
        false
    }

    fn encode(&self, decoded: &[u8], encoded: &mut [u8]) -> Result<(), ElementFault> {
        self.encode.convert(decoded, encoded)
    }

    fn decode(&self, encoded: &[u8], decoded: &mut [u8]) -> Result<(), ElementFault> {
        self.decode.convert(encoded, decoded)
    }

    /// The fill value must come back, bit for bit: a missing chunk would else not read as a stored one does.
    fn encode_fill_value(&self, bits: u64) -> Result<u64, String> {
        let (decoded, encoded) = self.types();
        let fault = |kind| ElementFault { kind, index: 0 };
        let cast =
            self.encode.convert_one(bits).map_err(|kind| describe(fault(kind), bits, (decoded, encoded)))?;
        let back =
            self.decode.convert_one(cast).map_err(|kind| describe(fault(kind), cast, (encoded, decoded)))?;
        if back == bits {
            return Ok(cast);
        }
        Err(format!(
            "{} becomes {} in {encoded} and {} on the way back",
            number_text(decoded, bits),
            number_text(encoded, cast),
            number_text(decoded, back)
        ))
    }
}
