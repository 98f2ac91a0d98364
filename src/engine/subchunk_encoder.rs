//! Decoded elements of the source, in the shape of a subchunk of the destination, on their way into it.

use crate::array::fault::Result;
use crate::array::stored::{StoredArray, at};
use crate::codec::conversion::{Conversion, ConversionBuffers, Converted, Undone, ValueChange};
use crate::codec::region::{as_index, fill_box, repeat};
use crate::codec::{BindError, BoundChain, is_filled_with};
use crate::kernel::quantize::QuantizeFigures;
use crate::metadata::extension::CodecMetadata;
use crate::metadata::json::Object;
use crate::pipeline::{ArrayRepresentation, Completeness, Pipeline};

/// Bytes of padding that are written at once.
const PADDING: usize = 1 << 16;

/// An encoded subchunk. Padding at its end is not held, only told.
#[derive(Debug, Clone, Copy)]
pub(super) struct Encoded<'a> {
    bytes: &'a [u8],
    /// Bytes that follow, again and again.
    padding: &'a [u8],
    /// The number of bytes that follow.
    missing: usize,
}

impl<'a> Encoded<'a> {
    /// Bytes without padding.
    pub(super) fn whole(bytes: &'a [u8]) -> Self {
        Encoded { bytes, padding: &[], missing: 0 }
    }

    /// Its bytes, one piece after the other.
    pub(super) fn pieces(self) -> impl Iterator<Item = &'a [u8]> {
        let Encoded { bytes, padding, missing } = self;
        let rest = (0..missing).step_by(padding.len().max(1));
        std::iter::once(bytes).chain(rest.map(move |begin| &padding[..padding.len().min(missing - begin)]))
    }

    /// The number of its bytes.
    pub(super) fn length(self) -> u64 {
        (self.bytes.len() + self.missing) as u64
    }

    /// Its bytes in memory, all of them.
    pub(super) fn to_vec(self) -> Vec<u8> {
        let mut all = Vec::with_capacity(self.bytes.len() + self.missing);
        self.pieces().for_each(|piece| all.extend_from_slice(piece));
        all
    }

    /// Its bytes, if there is no more of it than they.
    pub(super) fn as_slice(self) -> Option<&'a [u8]> {
        (self.missing == 0).then_some(self.bytes)
    }
}

/// The elements of a decoded subchunk where nothing is stored.
#[derive(Debug, Clone)]
pub(super) struct Filling {
    /// An absent element.
    absent: Vec<u8>,
    /// The elements beyond the edge of the array: as many as are worth writing at once.
    padding: Vec<u8>,
}

impl Filling {
    /// Absent elements of an array, and the same beyond its edge.
    pub(super) fn of(array: &StoredArray) -> Self {
        let absent = array.fill_value();
        Filling { padding: absent.repeat(PADDING.div_ceil(absent.len().max(1))), absent }
    }

    /// Bytes of an element.
    pub(super) fn element_size(&self) -> usize {
        self.absent.len()
    }

    /// Fills a subchunk, up to its last element inside the array, as if nothing were stored; `valid` of it lies there.
    pub(super) fn fill(&self, elements: &mut [u8], shape: &[u64], valid: &[u64]) {
        repeat(elements, &self.padding);
        if self.padding.starts_with(&self.absent) || valid.contains(&0) {
            return;
        }
        fill_box(elements, shape, (&vec![0; shape.len()], valid), &self.absent);
    }

    /// True if a subchunk of which `valid` lies inside the array holds there only what absent elements are.
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
}

/// Encodes subchunks from their elements.
#[derive(Debug, Clone)]
pub struct SubchunkEncoder {
    /// From plain elements.
    conversion: Conversion,
    pub(super) filling: Filling,
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
        let beyond = input.fill_value.as_ref().map_or_else(|| vec![0; size], |fill| fill.0.clone());
        let fill = to.decoded().fill_value.as_ref().map(|fill| fill.0.clone());
        let left_out = fill.filter(|_| !write_empty && !conversion.decodes_elements());
        let filling = Filling { absent: source.fill_value(), padding: beyond.repeat(PADDING.div_ceil(size)) };
        Ok(SubchunkEncoder { conversion, filling, left_out })
    }

    /// Bytes of an element before it is encoded.
    pub fn element_size(&self) -> usize {
        self.filling.element_size()
    }

    /// Encodes a subchunk that starts at `start` from its elements up to the last inside the array; `None` where it holds
    /// only the fill value and is left out.
    pub(super) fn encode<'b>(
        &'b self,
        elements: &'b mut Vec<u8>,
        start: &[u64],
        valid: Option<&[u64]>,
        (written, work): (&'b mut Vec<u8>, &mut ConversionBuffers),
        figures: &mut QuantizeFigures,
    ) -> Result<Option<Encoded<'b>>> {
        if self.left_out.as_ref().is_some_and(|fill| is_filled_with(elements, fill)) {
            return Ok(None);
        }
        let whole = as_index(self.conversion.source().decoded_bytes());
        if self.conversion.is_copy() {
            let missing = whole.saturating_sub(elements.len());
            return Ok(Some(Encoded { bytes: elements, padding: &self.filling.padding, missing }));
        }
        let inside = elements.len();
        elements.resize(whole, 0);
        repeat(&mut elements[inside..], &self.filling.padding);
        let elements = Undone { bytes: elements, place: self.conversion.source().codecs().len() };
        let converted = self.conversion.run(elements, valid, written, work, figures);
        let converted = converted.map_err(|fault| at(fault, start))?;
        Ok((converted == Converted::Written).then_some(Encoded::whole(written)))
    }

    /// From plain elements to a subchunk of the destination.
    pub fn conversion(&self) -> &Conversion {
        &self.conversion
    }
}
