//! A first pass over an array: the extent of its values, and whether any are absent.

use crate::codec::chain::Workspace;
use crate::codec::region::{RegionCopy, as_index};
use crate::codec::{BoundChain, ChainFault};
use crate::element::NumberType;
use crate::engine::driver::{ChunkFault, Driver, Fault};
use crate::engine::object::Side;
use crate::engine::progress::Progress;
use crate::engine::shard::ShardLayout;
use crate::engine::{ChunkSet, object};
use crate::kernel::statistics::{Extent, ExtentScan};

/// What a first pass over the data found.
#[derive(Debug, Clone, Default)]
pub struct Survey {
    /// Of all elements inside the array; `None` where no pass was made.
    pub extent: Option<Extent>,
    /// Elements equal to a value that the attributes declare missing, without `--missing`.
    pub declared_missing: u64,
    /// Whether elements are absent: chunks, or inner chunks.
    pub absent_elements: bool,
}

/// How a pass is made.
#[derive(Debug)]
pub struct Surveyor<'a> {
    /// The array.
    pub source: &'a Side,
    /// Its objects.
    pub present: &'a ChunkSet,
    /// Whether the values are read, or only shard indexes.
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
}

/// What a thread keeps from object to object.
#[derive(Debug, Default)]
struct Buffers {
    read: Vec<u8>,
    decoded: Vec<u8>,
    cropped: Vec<u8>,
    workspace: Workspace,
}

impl Surveyor<'_> {
    /// Makes the pass; `progress` is told of the bytes read.
    pub fn run(&self, driver: &Driver, progress: &dyn Progress) -> Result<Survey, ChunkFault> {
        let total: u64 = self.source.metadata.chunk_grid_shape().iter().product();
        let mut all = self.nothing();
        all.absent = self.present.len() < total;
        if self.reads_values || self.source.layout.is_some() {
            let work = |buffers: &mut Buffers, index| {
                let found = self.object(buffers, index)?;
                progress.advance(buffers.read.len() as u64);
                Ok(found)
            };
            driver.run::<Buffers, Found>(self.present, work, |_, found| {
                self.scan.merge(&mut all.extent, &found.extent);
                self.scan.merge(&mut all.declared, &found.declared);
                all.absent |= found.absent;
            })?;
        }
        Ok(Survey {
            extent: self.reads_values.then_some(all.extent),
            declared_missing: all.declared.nan.saturating_sub(all.extent.nan)
                * u64::from(self.declared.is_some()),
            absent_elements: all.absent,
        })
    }

    fn nothing(&self) -> Found {
        Found { extent: self.scan.empty(), declared: self.scan.empty(), absent: false }
    }

    fn object(&self, buffers: &mut Buffers, index: u64) -> Result<Found, Fault> {
        let mut found = self.nothing();
        let start = self.source.start_of(index);
        let key = self.source.key(index);
        if let Some(layout) = &self.source.layout {
            self.shard(layout, &key, &start, buffers, &mut found)?;
            return Ok(found);
        }
        let chain = &self.source.chain;
        self.source.node.read_into(&key, chain.max_encoded_bytes(), &mut buffers.read)?;
        self.values(chain, &start, buffers, &mut found)?;
        Ok(found)
    }

    fn shard(
        &self,
        layout: &ShardLayout,
        key: &str,
        start: &[u64],
        buffers: &mut Buffers,
        found: &mut Found,
    ) -> Result<(), Fault> {
        let Some(reader) = self.source.node.open(key)? else { return Ok(()) };
        let index = layout.read_index(&reader, &mut buffers.read, &mut buffers.workspace)?;
        for cell in layout.cells() {
            let cell_start = object::cell_start(start, &cell, &layout.cell.decoded().shape);
            let outside =
                self.source.metadata.shape.iter().zip(&cell_start).any(|(length, first)| first >= length);
            if outside {
                continue;
            }
            match index.get(layout.entry_of(&cell)).copied().flatten() {
                None => found.absent = true,
                Some((offset, length)) if self.reads_values => {
                    reader.read_at(offset, length, &mut buffers.read)?;
                    self.values(&layout.cell, &cell_start, buffers, found)?;
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// Decodes what was read and scans the part of it inside the array.
    fn values(
        &self,
        chain: &BoundChain,
        start: &[u64],
        buffers: &mut Buffers,
        found: &mut Found,
    ) -> Result<(), ChainFault> {
        let Buffers { read, decoded, cropped, workspace } = buffers;
        let shape = &chain.decoded().shape;
        let elements: &[u8] = if chain.stores_elements(read.len()) {
            read
        } else {
            chain.decode(read, decoded, workspace)?;
            decoded
        };
        let elements = match self.source.cropped(start, shape) {
            None => elements,
            Some(valid) => {
                let size = chain.decoded().data_type.size().unwrap_or(1);
                let origin = vec![0; shape.len()];
                cropped.resize(as_index(valid.iter().product::<u64>()) * size, 0);
                RegionCopy {
                    source_shape: shape,
                    source_start: &origin,
                    target_shape: &valid,
                    target_start: &origin,
                    extent: &valid,
                    element_size: size,
                }
                .run(elements, cropped);
                cropped
            }
        };
        self.scan.scan(elements, &mut found.extent);
        if let Some(declared) = &self.declared {
            declared.scan(elements, &mut found.declared);
        }
        Ok(())
    }
}

/// The scans for an array: missing values count as NaN; declared ones are counted by themselves where they are not
/// among them.
pub fn scans(number_type: NumberType, missing: &[u64], declared: &[u64]) -> (ExtentScan, Option<ExtentScan>) {
    let unnamed: Vec<u64> = declared.iter().copied().filter(|bits| !missing.contains(bits)).collect();
    let all = missing.iter().copied().chain(unnamed.iter().copied()).collect();
    let declared = (!unnamed.is_empty()).then(|| ExtentScan::new(number_type, all));
    (ExtentScan::new(number_type, missing.to_vec()), declared)
}
