//! The objects (chunks or shards) of an array from SOURCE to DEST: each copied or converted whole, or in subchunks.

use super::block_reader::JobSubchunks;
use super::chunk_set::{ChunkSet, ChunkSetBuilder, position};
use super::driver::{ChunkFault, Driver, Fault};
use super::journal::Part;
use super::measured::{Measured, MeasuredRun, SubchunkWay};
use super::plan::Block;
use super::progress::Progress;
use super::rechunk::{Rechunk, RechunkRun};
use super::shard::ShardLayout;
use super::staged::{Origin, Staged, StagedRun};
use super::subchunk_move::SubchunkMove;
use crate::codec::chain::Workspace;
use crate::codec::conversion::{Conversion, ConversionBuffers, Converted};
use crate::codec::region::{advance, as_index, ravel};
use crate::codec::{BoundChain, ChainFault, ChainFaultKind};
use crate::kernel::quantize::QuantizeFigures;
use crate::metadata::array::ArrayMetadata;
use crate::store::Node;

/// An array on one side of a job.
#[derive(Debug, Clone)]
pub struct StoredArray {
    /// Where it lies.
    pub node: Node,
    /// Its metadata.
    pub metadata: ArrayMetadata,
    /// The chain of a stored object.
    pub chain: BoundChain,
    /// Where shards can be streamed: how.
    pub layout: Option<ShardLayout>,
}

/// What is done with each stored object.
#[derive(Debug, Clone)]
pub enum Route {
    /// Decoded and encoded whole.
    Convert(Box<Conversion>),
    /// Subchunk by subchunk, where both sides have the same subchunks, in the same objects or in others.
    Subchunks(Box<Conversion>),
    /// Block by block, where the subchunks differ.
    Rechunk(Box<Rechunk>),
    /// The same in two passes.
    Staged(Box<Staged>),
    /// Subchunk by subchunk, where only reading tells how large a subchunk is.
    Measured(Box<Measured>),
}

/// The work on the objects of an array.
#[derive(Debug)]
pub struct ObjectJob {
    /// What is read.
    pub source: StoredArray,
    /// What is written.
    pub destination: StoredArray,
    /// How.
    pub way: Route,
    /// The objects of the source that are there.
    pub present: ChunkSet,
    /// An element of the destination's type that absent ones become, where they may not stay absent.
    pub absent_element: Option<Vec<u8>>,
    /// What the source is intermediate data of.
    pub origin: Option<Origin>,
}

/// What was done with an object.
#[derive(Debug, Clone, Copy, Default)]
pub struct ObjectReport {
    /// Objects that were written.
    pub written: u64,
    /// Bytes read from the source.
    pub bytes_read: u64,
    /// Bytes written to the destination.
    pub bytes_written: u64,
    /// Bytes of intermediate data.
    pub bytes_temporary: u64,
    /// Error figures, where the job quantises.
    pub figures: QuantizeFigures,
}

/// Bytes that are read at a time where a chunk is converted while it is read: a multiple of every element size that
/// leaves room in a level 2 cache.
pub const PIECE: usize = 1 << 18;

/// What a thread keeps from object to object.
#[derive(Debug, Default)]
pub struct ObjectBuffers {
    /// An encoded object or subchunk of the source.
    pub(super) read: Vec<u8>,
    /// A decoded subchunk of the source.
    pub(super) decoded: Vec<u8>,
    /// An encoded object or subchunk of the destination.
    pub(super) written: Vec<u8>,
    pub(super) conversion: ConversionBuffers,
    pub(super) workspace: Workspace,
}

/// The keys of an object that both sides have.
struct Keys {
    source: String,
    destination: String,
}

impl ObjectReport {
    /// Adds what was done with another object.
    pub(super) fn add(&mut self, other: &ObjectReport) {
        self.written = self.written.saturating_add(other.written);
        self.bytes_read = self.bytes_read.saturating_add(other.bytes_read);
        self.bytes_written = self.bytes_written.saturating_add(other.bytes_written);
        self.bytes_temporary = self.bytes_temporary.saturating_add(other.bytes_temporary);
        self.figures.merge(&other.figures);
    }
}

impl StoredArray {
    /// Bytes of a decoded object.
    pub fn chunk_bytes(&self) -> u64 {
        self.chain.decoded().num_bytes().unwrap_or(0)
    }

    /// The key of an object of the grid.
    pub fn key(&self, index: u64) -> String {
        self.metadata.chunk_key_encoding.key(&position(index, &self.metadata))
    }

    /// The part of a box of `shape` elements at `start` that lies inside the array; `None` where it all does.
    pub fn cropped(&self, start: &[u64], shape: &[u64]) -> Option<Vec<u64>> {
        let valid: Vec<u64> = start
            .iter()
            .zip(shape)
            .zip(&self.metadata.shape)
            .map(|((start, length), end)| (*length).min(end.saturating_sub(*start)))
            .collect();
        (valid != shape).then_some(valid)
    }

    /// The first element of an object of the grid.
    pub fn start_of(&self, index: u64) -> Vec<u64> {
        position(index, &self.metadata)
            .iter()
            .zip(self.metadata.largest_chunk())
            .map(|(i, length)| i * length)
            .collect()
    }
}

impl ObjectJob {
    /// Converts every object, those that are absent too where they may not stay so; reports are given to `fold` in
    /// their order. Objects of the destination are the units of `part`: those that are done are left out.
    pub fn run(
        &self,
        driver: &Driver,
        progress: &dyn Progress,
        part: &Part<'_>,
        mut fold: impl FnMut(ObjectReport),
    ) -> Result<(), ChunkFault> {
        let subchunks = JobSubchunks::new(self);
        let run = match &self.way {
            Route::Subchunks(conversion) => {
                SubchunkMove { job: self, conversion, source: &subchunks.source, part, progress }
                    .run(driver, &mut fold)
            }
            Route::Rechunk(rechunk) => RechunkRun { job: self, rechunk, subchunks: &subchunks, part }
                .run(driver, progress, &mut fold),
            Route::Staged(staged) => StagedRun { job: self, staged, part }.run(driver, progress, &mut fold),
            Route::Measured(measured) => {
                MeasuredRun { job: self, measured, source: &subchunks.source, part, progress }
                    .run(driver, &mut fold)
            }
            Route::Convert(conversion) => self.run_whole(conversion, driver, progress, part, &mut fold),
        };
        let indexes = ObjectReport { bytes_read: subchunks.index_bytes(), ..ObjectReport::default() };
        let noted = part.finished(0..0, &indexes);
        fold(indexes);
        run.and(noted.map_err(|fault| ChunkFault { index: 0, fault }))
    }

    /// Objects that are converted whole.
    fn run_whole(
        &self,
        conversion: &Conversion,
        driver: &Driver,
        progress: &dyn Progress,
        part: &Part<'_>,
        mut fold: impl FnMut(ObjectReport),
    ) -> Result<(), ChunkFault> {
        let every = ChunkSet::full(self.source.metadata.num_chunks());
        let objects = if self.absent_element.is_some() { &every } else { &self.present };
        let object_bytes = self.source.chunk_bytes();
        driver.run::<ObjectBuffers, ObjectReport>(
            objects,
            |buffers, index| {
                part.do_once(index, || {
                    let report = self.convert(conversion, buffers, index)?;
                    progress.advance(object_bytes);
                    Ok(report)
                })
            },
            |_, report| fold(report),
        )
    }

    /// Which boxes of a grid of `shape` elements each overlap an object that is there; all where none may stay absent.
    ///
    /// A grid may be far larger than what is stored: it is not walked then.
    pub fn overlapped(&self, shape: &[u64]) -> ChunkSet {
        let side = &self.source.metadata;
        let grid: Vec<u64> = side.shape.iter().zip(shape).map(|(length, of)| length.div_ceil(*of)).collect();
        let total = grid.iter().fold(1_u64, |all, length| all.saturating_mul(*length));
        let objects: u64 = side.num_chunks();
        if shape == side.largest_chunk() && self.absent_element.is_none() {
            return self.present.clone();
        }
        if self.absent_element.is_some() || self.present.len() == objects {
            return ChunkSet::full(total);
        }
        let mut overlapped = ChunkSetBuilder::default();
        for object in self.present.iter() {
            let start = self.source.start_of(object);
            let ends = start.iter().zip(side.largest_chunk()).zip(&side.shape);
            let end = ends.map(|((start, of), length)| start.saturating_add(*of).min(*length)).collect();
            let (first, counts) = Block { start, end }.subchunks(shape);
            let mut place = vec![0; counts.len()];
            loop {
                let position: Vec<u64> =
                    place.iter().zip(&first).map(|(index, first)| index + first).collect();
                overlapped.insert(ravel(&position, &grid));
                if !advance(&mut place, &counts) {
                    break;
                }
            }
        }
        overlapped.finish()
    }

    /// Whether elements of any length are put together anew.
    pub fn makes_elements(&self) -> bool {
        matches!(&self.way, Route::Measured(measured) if matches!(measured.way, SubchunkWay::Elements))
    }

    /// The intermediate data of a job in two passes.
    pub fn staging(&self) -> Option<StoredArray> {
        match &self.way {
            Route::Staged(staged) => Some(staged.side(self)),
            _ => None,
        }
    }

    /// Objects that are written although the source does not have them, at least.
    pub fn num_filled(&self) -> u64 {
        let total: u64 = self.destination.metadata.num_chunks();
        if self.absent_element.is_some() { total.saturating_sub(self.present.len()) } else { 0 }
    }

    /// Converts an object piece by piece while it is read, so that no piece leaves the level 2 cache.
    fn stream(
        &self,
        conversion: &Conversion,
        (source_size, target_size): (usize, usize),
        buffers: &mut ObjectBuffers,
        keys: &Keys,
        start: &[u64],
    ) -> Result<ObjectReport, Fault> {
        let mut report = ObjectReport::default();
        let key = &keys.source;
        let reader = self.source.node.open(key)?;
        let mut reader =
            reader.ok_or_else(|| Fault::Other(format!("the object {key} went away while it was read")))?;
        let (expected, found) = (conversion.streamed_bytes(), reader.length());
        if expected != found {
            return Err(Fault::Chain(ChainFault::of_stored_size(&reader, expected)));
        }
        let ObjectBuffers { read, written, conversion: work, .. } = buffers;
        read.resize(PIECE.min(as_index(expected)), 0);
        written.resize(as_index(expected) / source_size * target_size, 0);
        let mut offset = 0;
        while offset < expected {
            let length = as_index((expected - offset).min(PIECE as u64));
            let filled = reader.read_next(&mut read[..length])?;
            if filled < length {
                let kind = ChainFaultKind::Size { expected, found: offset + filled as u64 };
                return Err(Fault::Chain(ChainFault { place: "0".into(), codec: "bytes".to_owned(), kind }));
            }
            let target = as_index(offset) / source_size * target_size;
            let target = &mut written[target..target + length / source_size * target_size];
            conversion
                .run_piece(&read[..length], offset, target, work, &mut report.figures)
                .map_err(|fault| at(fault, start))?;
            offset += length as u64;
        }
        report.bytes_read = expected;
        if !conversion.is_streamed_empty(written) {
            self.destination.node.write(&keys.destination, written)?;
            report.written = 1;
            report.bytes_written = written.len() as u64;
        }
        Ok(report)
    }

    /// Writes an object whose every element is what absent ones become.
    fn fill_object(
        &self,
        conversion: &Conversion,
        buffers: &mut ObjectBuffers,
        key: &str,
    ) -> Result<ObjectReport, Fault> {
        let Some(element) = &self.absent_element else { return Ok(ObjectReport::default()) };
        let elements = filled(element, &self.destination.chain);
        conversion.encode_elements(&elements, &mut buffers.written, &mut buffers.conversion)?;
        self.destination.node.write(key, &buffers.written)?;
        Ok(ObjectReport {
            written: 1,
            bytes_written: buffers.written.len() as u64,
            ..ObjectReport::default()
        })
    }

    fn convert(
        &self,
        conversion: &Conversion,
        buffers: &mut ObjectBuffers,
        index: u64,
    ) -> Result<ObjectReport, Fault> {
        let keys = Keys { source: self.source.key(index), destination: self.destination.key(index) };
        let mut report = ObjectReport::default();
        if !self.present.contains(index) {
            return self.fill_object(conversion, buffers, &keys.destination);
        }
        let start = self.source.start_of(index);
        let valid = self.source.cropped(&start, self.source.metadata.largest_chunk());
        if let (None, Some(sizes)) = (&valid, conversion.streams()) {
            return self.stream(conversion, sizes, buffers, &keys, &start);
        }
        let key = &keys.source;
        if !self.source.node.read_into(key, self.source.chain.max_encoded_bytes(), &mut buffers.read)? {
            return Err(Fault::Other(format!("the object {key} went away while it was read")));
        }
        report.bytes_read = buffers.read.len() as u64;
        let converted = conversion
            .run(
                &buffers.read,
                valid.as_deref(),
                &mut buffers.written,
                &mut buffers.conversion,
                &mut report.figures,
            )
            .map_err(|fault| at(fault, &start))?;
        if converted == Converted::Written {
            self.destination.node.write(&keys.destination, &buffers.written)?;
            report.written = 1;
            report.bytes_written = buffers.written.len() as u64;
        }
        Ok(report)
    }
}

/// A chunk of one value.
pub(super) fn filled(element: &[u8], chain: &BoundChain) -> Vec<u8> {
    let count = as_index(chain.decoded().num_elements().unwrap_or(0));
    element.repeat(count)
}

/// The first element of an inner chunk.
pub fn subchunk_start(start: &[u64], subchunk: &[u64], subchunk_shape: &[u64]) -> Vec<u64> {
    start
        .iter()
        .zip(subchunk)
        .zip(subchunk_shape)
        .map(|((start, index), length)| start + index * length)
        .collect()
}

/// Moves the position of a faulty element from the chunk's frame to the array's.
pub(super) fn at(fault: ChainFault, start: &[u64]) -> Fault {
    Fault::Chain(fault.moved_by(start))
}
