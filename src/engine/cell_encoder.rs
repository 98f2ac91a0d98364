//! Decoded elements of the source, in the shape of a cell of the destination, on their way into it.

use super::driver::Fault;
use super::object::{ObjectBuffers, Side, at};
use crate::codec::conversion::{Conversion, ConversionBuffers, Converted, ValueChange};
use crate::codec::region::{RegionCopy, as_index};
use crate::codec::{BindError, BoundChain, is_filled_with};
use crate::kernel::quantize::QuantizeFigures;
use crate::metadata::extension::CodecMetadata;
use crate::metadata::json::Object;
use crate::pipeline::{ArrayRepresentation, Completeness, Pipeline};

/// Encodes cells from their elements.
#[derive(Debug, Clone)]
pub struct CellEncoder {
    /// From plain elements.
    conversion: Conversion,
    /// What absent elements of the source are.
    absent: Vec<u8>,
    /// What stands beyond the edge of the array.
    padding: Vec<u8>,
    /// The destination's fill value, where cells of nothing else are left out and the conversion does not see to it.
    left_out: Option<Vec<u8>>,
}

impl CellEncoder {
    /// An encoder for the cells of `destination` with a change of values on the way.
    pub fn new(
        source: &Side,
        destination: &Side,
        change: &ValueChange,
        write_empty: bool,
    ) -> Result<Self, BindError> {
        let (from, to) = (source.chain.decoded(), destination.cell_chain());
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
        Ok(CellEncoder {
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

    /// Fills a cell of which `valid` lies inside the array as if nothing were stored.
    pub(super) fn fill(&self, elements: &mut [u8], shape: &[u64], valid: &[u64]) {
        repeat(elements, &self.padding);
        if self.padding == self.absent || valid.contains(&0) {
            return;
        }
        let mut inside = vec![0; as_index(valid.iter().product::<u64>()) * self.absent.len()];
        repeat(&mut inside, &self.absent);
        let origin = vec![0; shape.len()];
        RegionCopy {
            source_shape: valid,
            source_start: &origin,
            target_shape: shape,
            target_start: &origin,
            extent: valid,
            element_size: self.absent.len(),
        }
        .run(&inside, elements);
    }

    /// Whether a cell of which `valid` lies inside the array holds there only what absent elements are.
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

    /// Encodes a cell that starts at `start`; `None` where it holds only the fill value and is left out.
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
        Ok((converted == Converted::Written).then_some(written))
    }

    /// From plain elements to a cell of the destination.
    pub fn conversion(&self) -> &Conversion {
        &self.conversion
    }
}

/// Fills a buffer with copies of an element.
fn repeat(elements: &mut [u8], element: &[u8]) {
    if element.iter().all(|byte| *byte == 0) {
        elements.fill(0);
        return;
    }
    let first = element.len().min(elements.len());
    elements[..first].copy_from_slice(&element[..first]);
    // Each step doubles what is filled, so that long runs are copied at once.
    let mut filled = first;
    while filled > 0 && filled < elements.len() {
        let length = filled.min(elements.len() - filled);
        elements.copy_within(..length, filled);
        filled += length;
    }
}

impl ObjectBuffers {
    /// What encoding needs.
    pub(super) fn for_encoding(&mut self) -> (&mut Vec<u8>, &mut ConversionBuffers) {
        (&mut self.written, &mut self.conversion)
    }
}
