//! A first pass over an array: the extent of its values, and whether any are absent.

use serde::{Deserialize, Serialize};

use crate::array::fault::{ChunkFault, Fault};
use crate::array::reader::{InPieces, ReadBuffers};
use crate::array::stored::StoredArray;
use crate::element::NumberType;
use crate::engine::driver::Driver;
use crate::engine::progress::Progress;
use crate::kernel::statistics::{Extent, ExtentScan};
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

/// How a pass is made.
#[derive(Debug)]
pub(in crate::operation) struct Surveyor<'a> {
    /// The array.
    pub source: &'a StoredArray,
    /// Its elements as the floats that are quantised.
    pub numbers: Numbers,
    /// Whether chunks are known to be absent.
    pub lacks_chunks: bool,
    /// Whether the values are read, or only what is there.
    pub reads_values: bool,
    /// The scan; missing values count as NaN.
    pub scan: ExtentScan,
    /// Counts the values that the attributes declare missing as NaN too; `None` where none are, or all count.
    pub declared: Option<ExtentScan>,
}

/// What a pass found in an object.
#[derive(Debug, Clone, Copy)]
struct Found {
    extent: Extent,
    declared: Extent,
    absent: bool,
    bytes_read: u64,
}

impl Surveyor<'_> {
    /// Makes the pass, and counts the encoded bytes that it reads; `progress` is told of the bytes of decoded objects.
    pub(in crate::operation) fn run(
        &self,
        driver: &Driver,
        progress: &dyn Progress,
    ) -> Result<(Survey, u64), ChunkFault> {
        let objects = self.source.objects();
        let mut all = self.nothing();
        all.absent = self.lacks_chunks;
        let is_sharded = self.source.layout.is_some();
        if self.reads_values || (is_sharded && !all.absent) {
            let work = |buffers: &mut ReadBuffers, index| {
                let found = self.object(buffers, index)?;
                progress.advance(self.source.chunk_bytes());
                Ok(found)
            };
            driver.run_ahead::<ReadBuffers, Found>(&objects, &[self.source], work, |_, found| {
                self.scan.merge(&mut all.extent, &found.extent);
                self.scan.merge(&mut all.declared, &found.declared);
                all.absent |= found.absent;
                all.bytes_read = all.bytes_read.saturating_add(found.bytes_read);
            })?;
        }
        let declared_missing = match self.declared {
            Some(_) => all.declared.nan.saturating_sub(all.extent.nan),
            None => 0,
        };
        let extent = self.reads_values.then_some(all.extent);
        Ok((Survey { extent, declared_missing, absent_elements: all.absent }, all.bytes_read))
    }

    fn nothing(&self) -> Found {
        Found { extent: self.scan.empty(), declared: self.scan.empty(), absent: false, bytes_read: 0 }
    }

    fn object(&self, buffers: &mut ReadBuffers, index: u64) -> Result<Found, Fault> {
        buffers.bytes_read = 0;
        let found = self.scanned(buffers, index)?;
        Ok(Found { bytes_read: buffers.bytes_read, ..found })
    }

    fn scanned(&self, buffers: &mut ReadBuffers, index: u64) -> Result<Found, Fault> {
        let mut found = self.nothing();
        let scan = |elements: &[u8], found: &mut Found| {
            self.numbers.each_piece(elements, |values| {
                self.scan.scan(values, &mut found.extent);
                if let Some(declared) = &self.declared {
                    declared.scan(values, &mut found.declared);
                }
            });
        };
        if self.reads_values {
            let pieces = self.source.each_piece(index, buffers, |piece| scan(piece, &mut found))?;
            found.absent |= pieces == InPieces::Absent;
            if pieces != InPieces::NotGiven {
                return Ok(found);
            }
        }
        self.source.each(index, buffers, |_, elements| {
            let Some(elements) = elements else {
                found.absent = true;
                return Ok(());
            };
            if self.reads_values {
                scan(elements, &mut found);
            }
            Ok(())
        })?;
        Ok(found)
    }
}

/// The scans for an array: missing values count as NaN; declared ones are counted by themselves where they are not
/// among them.
pub(in crate::operation) fn scans(
    number_type: NumberType,
    missing: &[u64],
    declared: &[u64],
) -> (ExtentScan, Option<ExtentScan>) {
    let unnamed: Vec<u64> = declared.iter().copied().filter(|bits| !missing.contains(bits)).collect();
    let all: Vec<u64> = missing.iter().copied().chain(unnamed.iter().copied()).collect();
    let declared = (!unnamed.is_empty()).then(|| ExtentScan::new(number_type, &all));
    (ExtentScan::new(number_type, missing), declared)
}
