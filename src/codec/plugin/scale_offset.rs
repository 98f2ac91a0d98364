//! `scale_offset` for zarrs.

use super::checked;
use super::elementwise::{BoundElementwise, ElementwiseCodec, ElementwiseConfiguration};
use crate::codec::kinds::scale_offset::{self, BoundScaleOffset, ScaleOffsetConfiguration};
use crate::data_type::DataType;
use crate::element::NumberType;
use crate::kernel::ElementFault;
use crate::kernel::scale_offset::ScaleOffset;
use crate::metadata::json::Object;

/// `scale_offset` as zarrs has it.
pub(super) type ScaleOffsetCodec = ElementwiseCodec<ScaleOffsetConfiguration>;

impl ElementwiseConfiguration for ScaleOffsetConfiguration {
    const NAME: &'static str = "scale_offset";
    type Bound = ScaleOffset;

    fn parse(configuration: Option<&Object>) -> Result<Self, String> {
        checked(scale_offset::parse(configuration, ""))
    }

    fn bind(&self, data_type: &DataType) -> Result<ScaleOffset, String> {
        let BoundScaleOffset { number_type, offset, scale } = checked(self.bind_type(data_type, ""))?;
        Ok(ScaleOffset::new(number_type, offset, scale))
    }
}

impl BoundElementwise for ScaleOffset {
    fn types(&self) -> (NumberType, NumberType) {
        (self.number_type(), self.number_type())
    }

    fn is_identity(&self) -> bool {
        self.offset().is_none() && self.scale().is_none()
    }

    fn encode(&self, decoded: &[u8], encoded: &mut [u8]) -> Result<(), ElementFault> {
        self.encode(decoded, encoded)
    }

    fn decode(&self, encoded: &[u8], decoded: &mut [u8]) -> Result<(), ElementFault> {
        self.decode(encoded, decoded)
    }

    /// A fill value that does not come back is allowed here: other writers make such arrays.
    fn encode_fill_value(&self, bits: u64) -> Result<u64, String> {
        self.encode_one(bits).map_err(|kind| {
            let (number_type, fault) = (self.number_type(), ElementFault { kind, index: 0 });
            super::elementwise::describe(fault, bits, (number_type, number_type))
        })
    }
}
