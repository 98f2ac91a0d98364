//! Error figures of a quantisation over all data, with nothing written: for `--max-error`.

use super::quantization::Quantization;
use crate::array::fault::Fault;
use crate::array::reader::element_fault;
use crate::engine::fold::{Accumulator, Chunk};
use crate::grid::Region;
use crate::kernel::quantize::{Quantize, QuantizeFigures};
use crate::kernel::unpack::Unpack;

/// Quantises all elements that are stored, once they are unpacked, and keeps the figures.
pub(in crate::operation) struct Measure<'a> {
    unpack: Option<&'a Unpack>,
    quantization: &'a Quantization,
    kernel: Quantize,
}

impl<'a> Measure<'a> {
    pub(in crate::operation) fn new(unpack: Option<&'a Unpack>, quantization: &'a Quantization) -> Self {
        Measure { unpack, quantization, kernel: quantization.bind() }
    }
}

impl Accumulator for Measure<'_> {
    type Part = QuantizeFigures;
    /// Unpacked elements, and codes.
    type Buffers = [Vec<u8>; 2];

    fn start(&self, _: &Region) -> QuantizeFigures {
        QuantizeFigures::default()
    }

    fn add(
        &self,
        part: &mut QuantizeFigures,
        chunk: Chunk<'_>,
        buffers: &mut [Vec<u8>; 2],
    ) -> Result<(), Fault> {
        let [floats, codes] = buffers;
        let mut elements = chunk.elements.unwrap_or_default();
        let Quantization { source, target, .. } = *self.quantization;
        if let Some(unpack) = self.unpack {
            floats.resize(elements.len() / unpack.source().size() * source.size(), 0);
            unpack.convert(elements, floats);
            elements = floats;
        }
        codes.resize(elements.len() / source.size() * target.size(), 0);
        let converted = self.kernel.convert(elements, codes, part);
        converted.map_err(|fault| element_fault(chunk.region, fault, elements, source, target))
    }

    fn merge(&self, all: &mut QuantizeFigures, part: &QuantizeFigures) {
        all.merge(part);
    }

    /// The place of a fault is told from the elements before it.
    fn takes_whole(&self) -> bool {
        true
    }
}
