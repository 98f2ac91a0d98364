//! A quantisation resolved with the data. A first pass determines the range. With `--max-error`, a second pass measures
//! the error of types with too many codes for a proof.

use super::range::ScaleSearch;
pub(crate) use super::request::FirstPassStats;
use super::{Quantization, Request};
use crate::array::{ChunkSet, Fault, Interrupt, StoredArray, element_fault};
use crate::element::NumberType;
use crate::engine::{Accumulator, Chunk, Driver, Fold, Progress};
use crate::grid::Region;
use crate::kernel::quantize::{Quantize, QuantizeFigures};
use crate::kernel::statistics::{Extent, ExtentScan};
use crate::kernel::unpack::Unpack;
use crate::operation::{Budget, Numbers, OperationError, Result, cf, explain, new_driver, stored_array};

pub(crate) struct FirstPass<'a> {
    request: &'a Request<'a>,
    /// The objects of the passes, and the cache for their chunks.
    pub array: StoredArray,
    /// Whether objects of the whole array are known to be absent.
    lacks_chunks: bool,
    driver: Driver,
    progress: &'a dyn Progress,
}

impl<'a> FirstPass<'a> {
    /// Creates the passes over the objects that are `present`, if they are known.
    pub(crate) fn new(
        request: &'a Request<'a>,
        present: Option<&ChunkSet>,
        lacks_chunks: bool,
        (budget, interrupt): (Budget, &Interrupt),
        progress: &'a dyn Progress,
    ) -> Result<Self> {
        let array = stored_array(request.source)?.with_present(present);
        Ok(FirstPass { request, array, lacks_chunks, driver: new_driver(budget.threads(), interrupt)?, progress })
    }

    /// Determines what the quantisation must know of the data. Also returns the number of encoded bytes that were read.
    pub(crate) fn survey(&self) -> Result<(FirstPassStats, u64)> {
        let Some(surveyor) = FirstPassScan::new(self.request) else { return Ok((FirstPassStats::default(), 0)) };
        // Chunks that are there may lack inner chunks.
        if !surveyor.reads_values && (self.lacks_chunks || self.array.layout.is_none()) {
            return Ok((surveyor.survey(None, self.lacks_chunks), 0));
        }
        let fold = Fold { array: &self.array, driver: &self.driver, progress: self.progress };
        let found = fold.run("first pass", &surveyor);
        let found = found.map_err(|fault| explain(fault, &self.array.metadata, &self.request.source.store, None))?;
        let absent_elements = self.lacks_chunks || found.lacks_chunks;
        Ok((surveyor.survey(Some(found.part), absent_elements), found.bytes_read))
    }

    /// Returns the quantisation with the first type that has enough codes.
    pub(crate) fn resolve(&self, survey: &FirstPassStats) -> Result<Quantization> {
        self.request.first_fit(|target, fit| match self.request.quantize.max_error {
            Some(max_error) => self.keep(max_error, survey, target, fit),
            None => self.request.resolve(target, survey, fit),
        })
    }

    /// Resolves one type of codes so that its error is at most `max_error`.
    ///
    /// A step with too great an error is narrowed by twice the excess, and tried again. The excess is a few roundings,
    /// because fitting has checked many codes. If no fill value survives the codes, absent chunks would have to be
    /// written. Then slightly narrower steps are tried first.
    fn keep(
        &self,
        max_error: f64,
        survey: &FirstPassStats,
        target: NumberType,
        mut fit: ScaleSearch,
    ) -> Result<Quantization> {
        let (mut least, mut writing_absent) = (f64::INFINITY, None);
        for round in 0..MOST_ROUNDS {
            let resolved = match self.request.resolve(target, survey, fit) {
                // The narrower step may need more codes than the type has. Then absent chunks are written.
                Err(_) if writing_absent.is_some() => break,
                resolved => resolved?,
            };
            let mut found = resolved.absent_error().filter(|_| survey.absent_elements).unwrap_or(0.0);
            if !resolved.is_proved {
                found = found.max(self.measure(&resolved)? + resolved.cf_rounding());
            }
            least = least.min(found);
            let is_kept = found <= max_error;
            // Narrower steps are tried for the fill value only if no attempt needs a pass over the data.
            let is_narrowed = matches!(fit, ScaleSearch::Within(_)) && resolved.writes_absent && resolved.is_proved;
            if is_kept && !is_narrowed {
                return Ok(resolved);
            }
            // A scale that was given is not narrowed.
            let ScaleSearch::Within(allowed) = fit else { break };
            // The least change grows 16-fold in each round, to an eighth of the limit in the last one. So few rounds
            // are enough.
            let sliver = allowed * 2_f64.powi(4 * round - 32);
            let excess = if is_kept { sliver } else { (found - max_error).max(sliver) };
            if is_kept {
                writing_absent.get_or_insert(resolved);
            }
            fit = ScaleSearch::Within(allowed - 2.0 * excess);
            if allowed <= 2.0 * excess {
                break;
            }
        }
        writing_absent.ok_or_else(|| {
            let message = format!("--max-error {max_error} cannot be kept: the smallest error reached is {least}");
            OperationError::data(message).with_help("allow a larger error, or give a wider --quantize TYPE")
        })
    }

    /// Measures the greatest error of a quantisation over all stored data. Writes nothing.
    fn measure(&self, quantization: &Quantization) -> Result<f64> {
        let measure = Measure::new(self.request.unpack.as_ref(), quantization);
        let fold = Fold { array: &self.array, driver: &self.driver, progress: self.progress };
        let (found, store) = (fold.run("measuring", &measure), self.array.node.name());
        let found = found.map_err(|fault| explain(fault, &self.array.metadata, &store, Some(quantization)))?;
        Ok(found.part.max_abs_error)
    }
}

/// Maximum number of attempts to narrow a step because the measured error is too great.
const MOST_ROUNDS: i32 = 8;

/// Determines the extent of the values of an array.
#[derive(Debug)]
pub(crate) struct FirstPassScan {
    /// The conversion of its elements to the floats that are quantised.
    numbers: Numbers,
    /// Whether values are read, or only the presence of chunks.
    reads_values: bool,
    /// Treats missing values as NaN.
    scan: ExtentScan,
    /// Also treats values that the attributes declare missing as NaN. `None` if there are none, or all are treated so
    /// anyway.
    declared: Option<ExtentScan>,
}

impl Accumulator for FirstPassScan {
    /// The extent, and the extent in which values that are declared missing count as NaN, too.
    type Part = [Extent; 2];
    type Buffers = ();

    fn start(&self, _: &Region) -> Self::Part {
        Self::Part::default()
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

impl FirstPassScan {
    /// Returns the search for everything that a quantisation must know of the data. `None` if it needs nothing.
    pub(crate) fn new(request: &Request<'_>) -> Option<Self> {
        let reads_values = request.quantize.finds_range();
        if !reads_values && request.fill_is_nan() {
            return None;
        }
        let is_packed = request.unpack.is_some();
        // Unpacking makes NaN of declared values before they are scanned.
        let declared = if is_packed { Vec::new() } else { cf::declared_missing(request.source, request.float.0) };
        let missing = &request.missing;
        let unnamed: Vec<u64> = declared.into_iter().filter(|bits| !missing.contains(bits)).collect();
        let scan = |missing: &[u64]| ExtentScan::new(request.float.0, missing);
        let declared = (!unnamed.is_empty()).then(|| scan(&[missing.as_slice(), &unnamed].concat()));
        Some(FirstPassScan { numbers: request.numbers(), reads_values, scan: scan(missing), declared })
    }

    /// Returns the results of the pass. `found` is `None` without a pass.
    pub(crate) fn survey(&self, found: Option<[Extent; 2]>, absent_elements: bool) -> FirstPassStats {
        let [extent, declared] = found.unwrap_or_default();
        // Both extents count NaN and the values of `--missing`, so the difference is the other declared values.
        let declared_missing = self.declared.as_ref().map_or(0, |_| declared.nan.saturating_sub(extent.nan));
        FirstPassStats { extent: self.reads_values.then_some(extent), declared_missing, absent_elements }
    }
}

/// Quantises all stored elements, after unpacking, and sums the error figures.
pub(crate) struct Measure<'a> {
    unpack: Option<&'a Unpack>,
    quantization: &'a Quantization,
    kernel: Quantize,
}

impl<'a> Measure<'a> {
    pub(crate) fn new(unpack: Option<&'a Unpack>, quantization: &'a Quantization) -> Self {
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

    fn add(&self, part: &mut QuantizeFigures, chunk: Chunk<'_>, buffers: &mut [Vec<u8>; 2]) -> Result<(), Fault> {
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
        converted.map_err(|fault| element_fault(chunk.region, fault, elements, (source, target)))
    }

    fn merge(&self, all: &mut QuantizeFigures, part: &QuantizeFigures) {
        all.merge(part);
    }

    /// The position of a fault is counted from the elements before it.
    fn takes_whole(&self) -> bool {
        true
    }
}
