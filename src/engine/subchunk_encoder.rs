//! Decoded elements of the source, in the shape of a subchunk of the destination, on their way into it.

use crate::array::fault::Fault;
use crate::array::stored::{StoredArray, at};
use crate::codec::conversion::{Conversion, ConversionBuffers, Converted, ValueChange};
use crate::codec::region::{fill_box, repeat};
use crate::codec::{BindError, BoundChain, is_filled_with};
use crate::kernel::quantize::QuantizeFigures;
use crate::metadata::extension::CodecMetadata;
use crate::metadata::json::Object;
use crate::pipeline::{ArrayRepresentation, Completeness, Pipeline};

/// Encodes subchunks from their elements.
#[derive(Debug, Clone)]
pub struct SubchunkEncoder {
    /// From plain elements.
    conversion: Conversion,
    /// What absent elements of the source are.
    absent: Vec<u8>,
    /// What stands beyond the edge of the array.
    padding: Vec<u8>,
    /// The destination's fill value, where subchunks of nothing else are left out and the conversion does not see to it.
    left_out: Option<Vec<u8>>,
}

impl SubchunkEncoder {
    /// An encoder for the subchunks of `destination` with a change of values on the way.
    pub fn new(
        source: &StoredArray,
        destination: &StoredArray,
        change: &ValueChange,
        write_empty: bool,
    ) -> Result<Self, BindError> {
        let (from, to) = (source.chain.decoded(), destination.subchunk_chain());
        let unchanged = matches!(change, ValueChange::None);
        let input = ArrayRepresentation {
            data_type: from.data_type.clone(),
            shape: to.decoded().shape.clone(),
            fill_value: if unchanged { to.decoded().fill_value.clone() } else { from.fill_value.clone() },
        };
        let endian = if cfg!(target_endian = "big") { "big" } else { "little" };
        let codec = CodecMetadata::new("bytes", Some(Object::new().with("endian", endian)));
        let plain = Pipeline::build(input.clone(), &[codec], Completeness::ToBytes, "", &mut Vec::new());
        let conversion = Conversion::new(BoundChain::bind(&plain)?, to.clone(), change, write_empty)?;
        let size = from.data_type.size().unwrap_or(1);
        let bytes = |fill: &Option<crate::data_type::FillValue>| {
            fill.as_ref().map_or_else(|| vec![0; size], |fill| fill.0.clone())
        };
        let fill = to.decoded().fill_value.as_ref().map(|fill| fill.0.clone());
        let left_out = fill.filter(|_| !write_empty && !conversion.decodes_elements());
        Ok(SubchunkEncoder {
            absent: bytes(&from.fill_value),
            padding: bytes(&input.fill_value),
            conversion,
            left_out,
        })
    }

    /// Bytes of an element before it is encoded.
    pub fn element_size(&self) -> usize {
        self.absent.len()
    }

    /// Fills a subchunk as if nothing were stored; `valid` of it lies inside the array.
    pub(super) fn fill(&self, elements: &mut [u8], shape: &[u64], valid: &[u64]) {
        repeat(elements, &self.padding);
        if self.padding == self.absent || valid.contains(&0) {
            return;
        }
        fill_box(elements, shape, (&vec![0; shape.len()], valid), &self.absent);
    }

    /// Whether a subchunk of which `valid` lies inside the array holds there only what absent elements are.
    pub(super) fn is_absent(&self, elements: &[u8], shape: &[u64], valid: &[u64]) -> bool {
        if !elements.starts_with(&self.absent) {
            return false;
        }
        if shape == valid {
            return is_filled_with(elements, &self.absent);
        }
        let mut filled = vec![0; elements.len()];
        self.fill(&mut filled, shape, valid);
        elements == filled
    }

    /// Encodes a subchunk that starts at `start` from its elements; `None` where it holds only the fill value and is left
    /// out.
    pub(super) fn encode<'b>(
        &self,
        elements: &'b [u8],
        start: &[u64],
        valid: Option<&[u64]>,
        (written, work): (&'b mut Vec<u8>, &mut ConversionBuffers),
        figures: &mut QuantizeFigures,
    ) -> Result<Option<&'b [u8]>, Fault> {
        if self.left_out.as_ref().is_some_and(|fill| is_filled_with(elements, fill)) {
            return Ok(None);
        }
        if self.conversion.is_copy() {
            return Ok(Some(elements));
        }
        let converted =
            self.conversion.run(elements, valid, written, work, figures).map_err(|fault| at(fault, start))?;
        Ok((converted == Converted::Written).then_some(&written[..]))
    }

    /// From plain elements to a subchunk of the destination.
    pub fn conversion(&self) -> &Conversion {
        &self.conversion
    }
}
