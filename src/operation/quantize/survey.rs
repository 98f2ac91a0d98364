//! The first pass over the values of an array: their extent, whether any are absent, and the error of a quantisation.

use serde::{Deserialize, Serialize};

use super::quantization::Quantization;
use super::request::Request;
use crate::array::fault::Fault;
use crate::array::reader::element_fault;
use crate::array::stored::StoredArray;
use crate::engine::fold::{Accumulator, Chunk};
use crate::grid::Region;
use crate::kernel::quantize::{Quantize, QuantizeFigures};
use crate::kernel::statistics::{Extent, ExtentScan};
use crate::kernel::unpack::Unpack;
use crate::operation::missing;
use crate::operation::numbers::Numbers;

/// What a first pass over the data found.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(in crate::operation) struct Survey {
    /// Of all elements inside the array; `None` where no pass was made.
    pub extent: Option<Extent>,
    /// Elements equal to a value that the attributes declare missing, without `--missing`.
    pub declared_missing: u64,
    /// Whether elements are absent: chunks, or inner chunks.
    pub absent_elements: bool,
}

/// Finds the extent of the values of an array.
#[derive(Debug)]
pub(in crate::operation) struct Surveyor {
    /// Its elements as the floats that are quantised.
    numbers: Numbers,
    /// Whether the values are read, or only what is there.
    reads_values: bool,
    /// Missing values count as NaN.
    scan: ExtentScan,
    /// Counts the values that the attributes declare missing as NaN too; `None` where none are, or all count.
    declared: Option<ExtentScan>,
}

impl Accumulator for Surveyor {
    /// The extent, and that with the values that are declared missing.
    type Part = [Extent; 2];
    type Buffers = ();

    fn start(&self, _: &Region) -> Self::Part {
        [self.scan.empty(); 2]
    }

    fn add(&self, part: &mut Self::Part, chunk: Chunk<'_>, (): &mut ()) -> Result<(), Fault> {
        let [extent, declared] = part;
        if self.reads_values {
            self.numbers.each_piece(chunk.elements.unwrap_or_default(), |values| {
                self.scan.scan(values, extent);
                if let Some(scan) = &self.declared {
                    scan.scan(values, declared);
                }
            });
        }
        Ok(())
    }

    fn merge(&self, all: &mut Self::Part, part: &Self::Part) {
        all.iter_mut().zip(part).for_each(|(all, part)| self.scan.merge(all, part));
    }
}

impl Surveyor {
    /// What looks for all that a quantisation wants to know of the data; `None` where that is nothing.
    pub(in crate::operation) fn of(request: &Request<'_>) -> Option<Self> {
        let reads_values = request.needs_first_pass();
        if !reads_values && request.fill_is_nan() {
            return None;
        }
        let declared = match request.unpack {
            Some(_) => Vec::new(),
            None => missing::declared(request.source, request.number_type),
        };
        let missing = &request.missing;
        let unnamed: Vec<u64> = declared.into_iter().filter(|bits| !missing.contains(bits)).collect();
        let scan = |missing: &[u64]| ExtentScan::new(request.number_type, missing);
        let declared = (!unnamed.is_empty()).then(|| scan(&[missing.as_slice(), &unnamed].concat()));
        Some(Surveyor { numbers: request.numbers(), reads_values, scan: scan(missing), declared })
    }

    /// Whether a pass is needed for an array of which chunks are known to be absent, or not.
    pub(in crate::operation) fn wants_pass(&self, array: &StoredArray, lacks_chunks: bool) -> bool {
        self.reads_values || (array.layout.is_some() && !lacks_chunks)
    }

    /// What a pass found; nothing where none was made.
    pub(in crate::operation) fn survey(&self, found: Option<[Extent; 2]>, absent_elements: bool) -> Survey {
        let [extent, declared] = found.unwrap_or([self.scan.empty(); 2]);
        let declared_missing = self.declared.as_ref().map_or(0, |_| declared.nan.saturating_sub(extent.nan));
        Survey { extent: self.reads_values.then_some(extent), declared_missing, absent_elements }
    }
}

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
